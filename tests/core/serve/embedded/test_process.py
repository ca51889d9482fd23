"""The embedded engine as a process: how it starts, what it says when it cannot, how it ends."""

from __future__ import annotations

import asyncio
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import orjson
import pytest
from click.testing import CliRunner
from tiny_models import tiny_model

from harness_adapters.cli.engine import command
from harness_adapters.errors import BadInput, MissingPrerequisite
from harness_adapters.serve import engine as engine_module
from harness_adapters.serve.engine import open_engine, parse_engine

# Each start imports torch: seconds of CPU, so minutes on a machine that is busy otherwise.
pytestmark = [pytest.mark.xdist_group("embedded-process"), pytest.mark.timeout(600)]

PARENT = """\
import asyncio, sys
from harness_adapters.serve.engine import open_engine, parse_engine
async def main():
    async with open_engine(parse_engine("embedded:" + sys.argv[1]), tasks=[]) as engine:
        print(engine.pid, flush=True)
        await asyncio.Event().wait()
asyncio.run(main())
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny_model(tmp_path_factory.mktemp("models") / "tiny")


async def start(model: object) -> None:
    async with open_engine(parse_engine(f"embedded:{model}"), tasks=[]):
        raise AssertionError("it started")


async def test_no_such_folder(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="no such model folder"):
        await start(tmp_path / "none")
    with pytest.raises(BadInput, match=r"config\.json"):
        await start(tmp_path)


async def test_without_torch_it_says_what_to_install(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(engine_module, "find_spec", lambda name: None)
    with pytest.raises(MissingPrerequisite, match=r"pip install 'harness-adapters\[serve\]'"):
        await start(folder)


async def test_weights_that_cannot_be_read(folder: Path, tmp_path: Path) -> None:
    """What the child refuses is bad input here too, in its own words, on one line."""
    broken = shutil.copytree(folder, tmp_path / "broken")
    (broken / "model.safetensors").write_bytes(b"torn")
    with pytest.raises(BadInput, match="no model can be read") as refused:
        await start(broken)
    assert str(broken) in str(refused.value)
    assert "\n" not in str(refused.value)


async def test_it_dies_with_a_killed_parent(folder: Path) -> None:
    parent = await asyncio.create_subprocess_exec(
        *(sys.executable, "-c", PARENT, str(folder)), stdout=asyncio.subprocess.PIPE
    )
    assert parent.stdout is not None
    pid = int(await parent.stdout.readline())
    watched = os.pidfd_open(pid)
    parent.kill()
    await parent.wait()
    ended = asyncio.Event()
    asyncio.get_running_loop().add_reader(watched, ended.set)
    await asyncio.wait_for(ended.wait(), 300)
    asyncio.get_running_loop().remove_reader(watched)
    os.close(watched)


def test_in_the_foreground(folder: Path) -> None:
    """Progress, then where it is, as JSON lines; Ctrl-C ends it."""
    run = "from harness_adapters.cli import main; import sys; main(sys.argv[1:])"
    arguments = ["engine", "embedded", str(folder), "--name", "mine", "--context", "512"]
    with subprocess.Popen(
        [sys.executable, "-c", run, *arguments], stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        lines = [orjson.loads(process.stdout.readline()) for _ in range(3)]
        assert all("progress" in line for line in lines[:2])
        assert lines[2]["model"] == "mine"
        assert lines[2]["context"] == 512
        assert lines[2]["url"].endswith(str(lines[2]["port"]))
        process.send_signal(signal.SIGINT)
        try:
            assert process.wait(timeout=60) in (0, 130)
        finally:
            process.kill()


@pytest.mark.parametrize("kind", ["embedded", "vllm"])
def test_commands_refuse_what_is_no_model(kind: str, tmp_path: Path) -> None:
    result = CliRunner().invoke(command, [kind, str(tmp_path / "none")])
    assert isinstance(result.exception, BadInput)
    assert "no such model folder" in str(result.exception)
