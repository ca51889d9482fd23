"""All processes of a vLLM end with us, however we end. Here with a server that only looks like it;
the real one is in ``test_contract.py``."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from harness_adapters.serve.engine import open_engine, parse_engine

FAKE = """\
#!{python}
import http.server, os, subprocess, sys
if sys.argv[1] == "-c":
    sys.exit(1)  # asked for its distribution: not the one for CPUs
worker = subprocess.Popen(["sleep", "600"])
open({pids!r}, "w").write(f"{{os.getpid()}} {{worker.pid}}")

class Health(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *args):
        pass

port = int(sys.argv[sys.argv.index("--port") + 1])
http.server.HTTPServer(("127.0.0.1", port), Health).serve_forever()
"""
PARENT = """\
import asyncio, sys
from harness_adapters.serve.engine import open_engine, parse_engine
async def main():
    async with open_engine(parse_engine("vllm:" + sys.argv[1]), tasks=[]) as engine:
        print(engine.url, flush=True)
        await asyncio.Event().wait()
asyncio.run(main())
"""
Pids = Callable[[], list[int]]


@pytest.fixture
def pids(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Pids:
    """The processes of the fake that ``vllm:`` starts now."""
    (tmp_path / "config.json").write_text("{}")
    listed = tmp_path / "pids"
    fake = tmp_path / "python"
    fake.write_text(FAKE.format(python=sys.executable, pids=str(listed)))
    fake.chmod(0o755)
    monkeypatch.setenv("HA_VLLM_PYTHON", str(fake))
    return lambda: [int(pid) for pid in listed.read_text().split()]


async def all_ended(pids: list[int]) -> None:
    deadline = time.monotonic() + 60
    while any(runs(pid) for pid in pids):
        assert time.monotonic() < deadline, f"still there: {pids}"
        await asyncio.sleep(0.05)


def runs(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


async def test_it_ends_with_its_context(pids: Pids, tmp_path: Path) -> None:
    async with open_engine(parse_engine(f"vllm:{tmp_path}"), tasks=[]) as engine:
        assert engine.alive()
        assert engine.model == tmp_path.name
        assert "--enable-lora" in engine.flags["flags"]
        found = pids()
        assert all(map(runs, found))
    await all_ended(found)


async def test_it_ends_with_a_killed_parent(pids: Pids, tmp_path: Path) -> None:
    parent = await asyncio.create_subprocess_exec(
        *(sys.executable, "-c", PARENT, str(tmp_path)), stdout=asyncio.subprocess.PIPE
    )
    assert parent.stdout is not None
    await parent.stdout.readline()
    found = pids()
    parent.kill()
    await parent.wait()
    await all_ended(found)


async def test_its_death_is_noticed_and_takes_the_rest_along(pids: Pids, tmp_path: Path) -> None:
    async with open_engine(parse_engine(f"vllm:{tmp_path}"), tasks=[]) as engine:
        found = pids()
        os.kill(found[0], signal.SIGKILL)
        assert "vLLM ended" in await asyncio.wait_for(engine.wait_dead(), 60)
        assert not engine.alive()
        await all_ended(found)
