"""How vLLM is told to host adapters: its flags, its environment, and where it is installed."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from harness_adapters.errors import BadInput, InfraError, MissingPrerequisite
from harness_adapters.serve.model_folder import Family, chat_template, family_of

PYTHON_VARIABLE = "HA_VLLM_PYTHON"
FOLDER = ".venv-vllm"
RANKS = (1, 8, 16, 32, 64, 128, 256, 320, 512)
"""The values that vLLM takes for ``--max-lora-rank``."""

ADAPTED_ON_CPU = (
    *("q_proj", "k_proj", "v_proj", "o_proj", "out_proj", "in_proj"),
    *("gate_proj", "up_proj", "down_proj", "w1", "w2", "w3", "experts"),
)
"""What adapters may change on the CPU build: all but the output layer. With that among it, a
request for prompt logprobs beside any other request kills 0.32."""

_CPU_LORA = Path(__file__).parent / "cpu_lora"
_ROOT = Path(__file__).parents[4]


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """:param model: a folder, or a name on the Hugging Face Hub.
    :param name: what the base model is called.
    :param port: 0 for any free one.
    :param adapters: adapters loaded, and used in one batch.
    :param rank: the greatest LoRA rank.
    :param requests: that run at once; more wait.
    :param context: most tokens of a sequence; by default what the model was made for.
    :param cores: that the CPU build computes on; by default all.
    :param more: further flags of vLLM's own.
    """

    model: str
    name: str
    port: int = 0
    adapters: int = 8
    rank: int = 64
    requests: int = 48
    context: int | None = None
    cores: int | None = None
    more: Sequence[str] = ()


def flags(options: Options, *, port: int, cpu: bool = False) -> list[str]:
    """The arguments of vLLM's API server.

    :param cpu: it is the CPU build.
    :raises BadInput: vLLM serves no such rank.
    """
    found = [
        *("--model", options.model),
        *("--served-model-name", options.name),
        *("--host", "127.0.0.1"),
        *("--port", str(port)),
        "--enable-lora",
        *("--max-loras", str(options.adapters)),
        *("--max-cpu-loras", str(options.adapters)),
        *("--max-lora-rank", str(max_lora_rank(options.rank))),
        *("--max-num-seqs", str(options.requests)),
        # The trainer compares with what was sampled from: after temperature, top-k and top-p.
        *("--logprobs-mode", "processed_logprobs"),
        # Sampling is what the request says, whatever defaults the model's folder has.
        *("--generation-config", "vllm"),
        "--no-enable-log-requests",
    ]
    if cpu:
        found += ["--lora-target-modules", *ADAPTED_ON_CPU]
    if options.context is not None:
        found += ["--max-model-len", str(options.context)]
    family = family_of(chat_template(Path(options.model)))
    if family or not Path(options.model).is_dir():
        found += ["--enable-auto-tool-choice", "--tool-call-parser", family or Family.HERMES]
    return [*found, *options.more]


def environment(cores: int | None = None, *, cpu: bool = False) -> dict[str, str]:
    """The environment of vLLM: ours, and what run-time adapters need.

    :param cores: that the CPU build computes on; by default all.
    :param cpu: it is the CPU build; it gets a plugin of ours.
    """
    return {
        # One of two cores is left idle otherwise, by the CPU build; others do not read it.
        "VLLM_CPU_OMP_THREADS_BIND": _cores(cores),
        "VLLM_CPU_KVCACHE_SPACE": "1",  # GiB
        **os.environ,
        **(_with_plugin() if cpu else {}),
        "VLLM_ALLOW_RUNTIME_LORA_UPDATING": "1",
        "VLLM_NO_USAGE_STATS": "1",
    }


def _with_plugin() -> dict[str, str]:
    """What lets vLLM find our plugin, and take it beside those that the user chose."""
    path = os.environ.get("PYTHONPATH")
    chosen = os.environ.get("VLLM_PLUGINS")
    return {
        "PYTHONPATH": os.pathsep.join([str(_CPU_LORA), *([path] if path else [])]),
        **({"VLLM_PLUGINS": f"{chosen},ha_vllm_cpu_lora"} if chosen else {}),
    }


def max_lora_rank(rank: int) -> int:
    """The least value vLLM takes that has room for a rank.

    :raises BadInput: there is none.
    """
    for served in RANKS:
        if rank <= served:
            return served
    raise BadInput(f"vLLM serves LoRA ranks up to {RANKS[-1]}, not {rank}")


def vllm_python() -> str:
    """The interpreter of the environment that has vLLM: the variable's, this checkout's, or ours.

    :raises MissingPrerequisite: there is none.
    """
    if named := os.environ.get(PYTHON_VARIABLE):
        if not os.access(named, os.X_OK):
            raise MissingPrerequisite(f"{PYTHON_VARIABLE}={named}: no program")
        return named
    for folder in (Path.cwd(), _ROOT):
        if (python := folder / FOLDER / "bin/python").exists():
            return str(python)
    if find_spec("vllm") is not None:
        return sys.executable
    raise MissingPrerequisite(
        "vLLM is not installed: pip install vllm, or in a checkout scripts/setup_vllm for the CPU "
        f"build; an environment of its own is named by {PYTHON_VARIABLE}"
    )


def is_cpu_build(python: str) -> bool:
    """Whether the vLLM of an interpreter is the distribution for CPUs.

    :raises InfraError: the interpreter does not answer.
    """
    look = "import importlib.metadata as m; m.version('vllm-cpu')"
    try:
        asked = subprocess.run([python, "-c", look], capture_output=True, timeout=60, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise InfraError(f"{python} does not answer: {error}") from None
    return asked.returncode == 0


def _cores(most: int | None) -> str:
    return ",".join(str(core) for core in sorted(os.sched_getaffinity(0))[:most])
