"""No harness connects to anything but the gateway, not even where nothing would stop it.

One session of each harness in the sandbox ``process``, which is no boundary, with every connection
and datagram of all its processes traced by strace. Claude Code, Codex and mini-swe-agent are
driven from their wheels.

Usage: scripts/claims/harness_outbound.py OUT.json [--harness NAME]... [--parts FOLDER]
"""

from __future__ import annotations

import asyncio
import re
import shutil
import sys
import tempfile
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

sys.path.insert(0, str(Path(__file__).parent))
from harnesses.each import claim
from harnesses.environment import ROOT

from harness_adapters import Sandbox, SandboxSpec
from harness_adapters.sandbox.process import Process

CALLS = "trace=connect,sendto,sendmsg,sendmmsg"
_ADDRESS = re.compile(
    r"sa_family=AF_INET6?, sin6?_port=htons\((\d+)\)"
    r'.*?(?:inet_addr\(|inet_pton\(AF_INET6, )"([^"]+)"'
)


class Traced(Process):
    """Traces the agent's sandbox from outside, from before the harness starts."""

    def __init__(self) -> None:
        super().__init__()
        self.reached: Counter[str] = Counter()
        self.gateway = ""

    def open(self, spec: SandboxSpec) -> AbstractAsyncContextManager[Sandbox]:
        return self._traced(spec) if spec.outlet else super().open(spec)

    @asynccontextmanager
    async def _traced(self, spec: SandboxSpec) -> AsyncIterator[Sandbox]:
        with tempfile.TemporaryDirectory(prefix="ha-claim-") as folder:
            log = Path(folder) / "strace.txt"
            async with super().open(spec) as sandbox:
                self.gateway = urlsplit(sandbox.outlet_url).netloc
                pid = sandbox._link._process.pid  # type: ignore[attr-defined]
                strace = await asyncio.create_subprocess_exec(
                    *("strace", "-f", "-s", "0", "-e", CALLS, "-o", str(log), "-p", str(pid)),
                    stderr=asyncio.subprocess.PIPE,
                )
                assert strace.stderr is not None
                said = await strace.stderr.readline()
                assert b"attached" in said, said
                try:
                    yield sandbox
                finally:
                    strace.terminate()
                    await strace.wait()
            for port, address in _ADDRESS.findall(log.read_text(errors="replace")):
                self.reached[f"{address.removeprefix('::ffff:')}:{port}"] += 1


async def measure(harness: str) -> dict[str, Any]:
    from harnesses.rollouts import prepared

    from harness_adapters import load_tasks
    from harness_adapters.loop import rollout
    from harness_adapters.serve.engine import open_engine, parse_engine

    if shutil.which("strace") is None:
        sys.exit("strace is needed, e.g. apt-get install strace")
    tasks = load_tasks(ROOT / "examples" / "tasks")[0][:1]
    sandboxes = Traced()
    with tempfile.TemporaryDirectory(prefix="ha-claim-") as logs:
        async with (
            open_engine(parse_engine("scripted:oracle"), tasks=tasks) as engine,
            prepared(harness, tasks, engine.url, engine.model, guards=None) as setup,
        ):
            one = await rollout(tasks[0], replace(setup, sandboxes=sandboxes), log_dir=Path(logs))
    return {
        "right": set(sandboxes.reached) == {sandboxes.gateway} and one.outcome == "solved",
        "outcome": one.outcome,
        "error": one.error,
        "to_the_gateway": sandboxes.reached.pop(sandboxes.gateway, 0),
        "elsewhere": dict(sandboxes.reached),
    }


if __name__ == "__main__":
    sys.exit(claim(__file__, __doc__, measure))
