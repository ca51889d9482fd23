"""Other proxies to compare with, each in a folder of its own in the cache."""

from __future__ import annotations

import asyncio
import platform
import socket
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from harness_adapters.bench.child import Child
from harness_adapters.bench.targets import OpenEnv, Plain, Target
from harness_adapters.errors import BadInput, MissingPrerequisite, did_you_mean
from harness_adapters.harness.cache import install_once
from harness_adapters.harness.program import run_program

INSTALL_SECONDS = 900.0

# Says that it is ready once its port answers, and ends with standard input.
_PRELUDE = """
import json, os, socket, sys, threading, time
engine, port = sys.argv[1], int(sys.argv[2])
out = os.dup(1)
os.dup2(2, 1)

def watch():
    while os.read(0, 4096):
        pass
    os._exit(0)

def tell():
    while True:
        try:
            socket.create_connection(("127.0.0.1", port), 1).close()
            break
        except OSError:
            time.sleep(0.02)
    os.write(out, json.dumps({"url": f"http://127.0.0.1:{port}"}).encode() + b"\\n")

for job in (watch, tell):
    threading.Thread(target=job, daemon=True).start()
"""
_OPENENV = """
import logging
import uvicorn
from openenv.core.harness.capture.server import create_app
logging.disable(logging.WARNING)
app = create_app(llm_url=engine, model="m", max_output_tokens=None)
uvicorn.run(app, host="127.0.0.1", port=port, log_level="error", access_log=False)
"""
_MITMPROXY = """
from mitmproxy.tools.main import mitmdump
where = ["--mode", f"reverse:{engine}@127.0.0.1:{port}", "--set", "confdir=" + sys.argv[3]]
mitmdump(["--quiet", *where])
"""


@dataclass(frozen=True, slots=True)
class Peer:
    """:param program: Python text, run after ``_PRELUDE``."""

    package: str
    version: str
    program: str
    target: Callable[[str], Target]


PEERS = {
    "openenv": Peer("openenv", "0.10.0", _OPENENV, OpenEnv),
    "mitmproxy": Peer("mitmproxy", "11.0.2", _MITMPROXY, Plain),
}


@dataclass(frozen=True, slots=True)
class RunningPeer:
    """:param start_seconds: from the start of its process until its port answers."""

    child: Child
    target: Target
    version: str
    start_seconds: float


def start_peer(name: str, engine: str, scratch: str) -> RunningPeer:
    """Install a peer if need be, and run it before the engine.

    :param scratch: a folder for what it writes.
    :raises BadInput: there is no such peer.
    :raises MissingPrerequisite: it cannot be installed here.
    :raises InfraError: it does not start.
    """
    peer = PEERS.get(name)
    if peer is None:
        raise BadInput(f"no peer {name!r}{did_you_mean(name, PEERS)} (peers: {', '.join(PEERS)})")
    python = asyncio.run(_installed(peer)) / "bin/python"
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    begun = time.perf_counter()
    child = Child([str(python), "-I", "-c", _PRELUDE + peer.program, engine, str(port), scratch])
    took = time.perf_counter() - begun
    return RunningPeer(child, peer.target(child.url), peer.version, took)


async def _installed(peer: Peer) -> Path:
    """A virtual environment that holds it."""

    async def fill(folder: Path) -> None:
        python = folder / "bin/python"
        commands: list[list[str | Path]] = [
            [sys.executable, "-m", "venv", folder],
            [python, "-m", "pip", "install", "--quiet", f"{peer.package}=={peer.version}"],
        ]
        for command in commands:
            done = await run_program(command, timeout=INSTALL_SECONDS)
            if done.returncode:
                last = done.output.strip().splitlines()[-1:] or ["no output"]
                raise MissingPrerequisite(f"installing {peer.package} failed: {last[0][:300]}")

    name = f"bench+{peer.package}@{peer.version}-{platform.python_version()}-{platform.machine()}"
    return await install_once(name, fill)
