"""How vLLM is started, and where it is looked for."""

from __future__ import annotations

import json
import os
import sys
from importlib.metadata import distributions
from pathlib import Path

import pytest

from harness_adapters.errors import BadInput, MissingPrerequisite
from harness_adapters.serve.engine import Hosting, open_engine, parse_engine
from harness_adapters.serve.vllm import flags as vllm_flags
from harness_adapters.serve.vllm.flags import Options, environment, flags, max_lora_rank


@pytest.mark.parametrize(("rank", "served"), [(1, 1), (2, 8), (8, 8), (33, 64), (512, 512)])
def test_ranks_are_those_that_vllm_takes(rank: int, served: int) -> None:
    assert max_lora_rank(rank) == served


def test_a_rank_too_large() -> None:
    with pytest.raises(BadInput, match="512"):
        max_lora_rank(513)


def given(found: list[str], flag: str) -> str:
    return found[found.index(flag) + 1]


def test_flags(tmp_path: Path) -> None:
    template = {"chat_template": "<|tool_call_start|>"}
    (tmp_path / "tokenizer_config.json").write_text(json.dumps(template))
    options = Options(
        model=str(tmp_path), name="base", adapters=12, rank=20, context=99, more=("--x", "y")
    )
    found = flags(options, port=1234)
    assert given(found, "--model") == str(tmp_path)
    assert given(found, "--served-model-name") == "base"
    assert given(found, "--host") == "127.0.0.1"
    assert given(found, "--max-loras") == given(found, "--max-cpu-loras") == "12"
    assert given(found, "--max-lora-rank") == "32"
    assert given(found, "--logprobs-mode") == "processed_logprobs"
    assert given(found, "--tool-call-parser") == "lfm2"
    assert given(found, "--max-model-len") == "99"
    assert found[-2:] == ["--x", "y"]
    assert "--lora-target-modules" not in found


def test_the_cpu_build_leaves_the_output_layer_alone() -> None:
    found = flags(Options(model="owner/name", name="b"), port=1, cpu=True)
    at = found.index("--lora-target-modules")
    assert "lm_head" not in found[at:]
    assert "q_proj" in found[at:]


def test_a_template_without_calls_gets_no_parser(tmp_path: Path) -> None:
    (tmp_path / "chat_template.jinja").write_text("{{ messages }}")
    assert "--tool-call-parser" not in flags(Options(model=str(tmp_path), name="b"), port=1)


def test_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VLLM_CPU_OMP_THREADS_BIND", "0")
    monkeypatch.setenv("VLLM_ALLOW_RUNTIME_LORA_UPDATING", "0")
    found = environment()
    assert found["VLLM_CPU_OMP_THREADS_BIND"] == "0", "one's own choice stays"
    assert found["VLLM_ALLOW_RUNTIME_LORA_UPDATING"] == "1", "without it nothing works"


def test_the_cpu_build_gets_a_plugin(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", "mine")
    folder, mine = environment(cpu=True)["PYTHONPATH"].split(os.pathsep)
    assert mine == "mine"
    (found,) = distributions(path=[folder])
    (plugin,) = found.entry_points
    assert plugin.group == "vllm.general_plugins"
    assert (Path(folder) / f"{plugin.module}.py").is_file()
    assert environment()["PYTHONPATH"] == "mine"


def test_the_plugin_is_taken_beside_those_that_the_user_chose(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("VLLM_PLUGINS", "lora_filesystem_resolver")
    assert environment(cpu=True)["VLLM_PLUGINS"] == "lora_filesystem_resolver,ha_vllm_cpu_lora"
    assert environment()["VLLM_PLUGINS"] == "lora_filesystem_resolver"
    monkeypatch.delenv("VLLM_PLUGINS")
    assert "VLLM_PLUGINS" not in environment(cpu=True), "all of them are taken by default"


def test_cores_may_be_left_to_a_trainer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("VLLM_CPU_OMP_THREADS_BIND", raising=False)
    monkeypatch.setattr("os.sched_getaffinity", lambda process: {5, 2, 3, 8})
    assert environment()["VLLM_CPU_OMP_THREADS_BIND"] == "2,3,5,8"
    assert environment(2)["VLLM_CPU_OMP_THREADS_BIND"] == "2,3"


async def test_without_vllm_it_says_how_to_get_it(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "config.json").write_text("{}")
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("HA_VLLM_PYTHON", raising=False)
    monkeypatch.setattr(vllm_flags, "_ROOT", tmp_path)
    monkeypatch.setattr(vllm_flags, "find_spec", lambda name: None)
    with pytest.raises(MissingPrerequisite, match="scripts/setup_vllm"):
        async with open_engine(parse_engine(f"vllm:{tmp_path}"), tasks=[]):
            pass
    monkeypatch.setenv("HA_VLLM_PYTHON", str(tmp_path / "none"))
    with pytest.raises(MissingPrerequisite, match="HA_VLLM_PYTHON"):
        async with open_engine(parse_engine(f"vllm:{tmp_path}"), tasks=[]):
            pass


FAKE = """\
#!{python}
import sys
from importlib.metadata import distributions
print("INFO 11-29 12:00:00 [loader.py:1] Starting to load model x", flush=True)
print({line!r}, file=sys.stderr)
sys.exit(1)
"""


@pytest.mark.parametrize(
    ("line", "hint"),
    [
        ("ERROR 11-29 12:00:00 [core.py:1] torch.OutOfMemoryError: CUDA out of memory.", "memory"),
        ("OSError: [Errno 98] Address already in use", "the port is taken"),
        ("api_server.py: error: unrecognized arguments: --no-such", "--no-such"),
        ("ModuleNotFoundError: No module named 'numpy'", "environment is incomplete"),
    ],
)
async def test_why_it_did_not_start(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, line: str, hint: str
) -> None:
    (tmp_path / "config.json").write_text("{}")
    fake = tmp_path / "python"
    fake.write_text(FAKE.format(python=sys.executable, line=line))
    fake.chmod(0o755)
    monkeypatch.setenv("HA_VLLM_PYTHON", str(fake))
    said: list[str] = []
    with pytest.raises(BadInput, match=hint) as refused:
        async with open_engine(
            parse_engine(f"vllm:{tmp_path}"),
            tasks=[],
            hosting=Hosting(rank=8),
            progress=said.append,
        ):
            pass
    assert "\n" not in str(refused.value)
    assert "vLLM: loading the weights" in said
