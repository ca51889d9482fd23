"""What our own loop costs per turn: CPU of the process with gateway, capture, guard and record.

Driver, sandbox and verifier are stubs, so that nothing but the loop and the gateway is left; the
engine is the scripted one, in a process of its own. Sessions run 48 at a time with 12 turns each.
"""

from __future__ import annotations

import asyncio
import resource
import sys
import tempfile
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import aiohttp
from evidence import write_evidence

from harness_adapters import (
    AuxiliaryRequest,
    Ended,
    HarnessExit,
    Isolation,
    Plugins,
    Sandbox,
    SandboxProvider,
    SandboxSpec,
    Session,
    Task,
    TaskMetadata,
    TaskPolicy,
    Toolchain,
    Verdict,
    load_tasks,
)
from harness_adapters.gateway.server import Gateway
from harness_adapters.gateway.upstream import Upstream
from harness_adapters.loop import Setup, rollout
from harness_adapters.parts import make_parts
from harness_adapters.record.codec import to_record
from harness_adapters.record.log import encode
from harness_adapters.serve.engine import open_engine, parse_engine

SESSIONS, AT_ONCE, TURNS = 480, 48, 12
TOOLS = [
    {
        "type": "function",
        "function": {
            "name": "bash",
            "parameters": {"type": "object", "properties": {"command": {"type": "string"}}},
        },
    }
]
RESULT = "README.md\npricing.py\ntests\n" * 20


class StubDriver:
    """Speaks the wire as a harness does, without being one."""

    auxiliary: tuple[AuxiliaryRequest, ...] = ()

    def __init__(self, socket: Path) -> None:
        self._socket = socket

    async def install(self) -> Toolchain:
        return Toolchain(version="stub")

    async def prepare(self, session: Session) -> None: ...

    async def run(self, session: Session) -> HarnessExit:
        messages: list[dict[str, Any]] = [
            {"role": "system", "content": "You are a coding agent. " * 100},
            {"role": "user", "content": session.task.instruction},
        ]
        headers = {"Authorization": f"Bearer {session.endpoint.api_key}"}
        connector = aiohttp.UnixConnector(str(self._socket))
        async with aiohttp.ClientSession(connector=connector, headers=headers) as http:
            for _ in range(TURNS):
                body = {"model": "m", "messages": messages, "tools": TOOLS, "stream": False}
                async with http.post("http://127.0.0.1/v1/chat/completions", json=body) as response:
                    reply = (await response.json())["choices"][0]["message"]
                messages.append(reply)
                messages += [
                    {"role": "tool", "tool_call_id": call["id"], "content": RESULT}
                    for call in reply.get("tool_calls") or ()
                ]
        return HarnessExit(ended=Ended.COMPLETED)


class StubKind:
    def check(self, task: Task) -> None: ...

    def policy(self, task: Task) -> TaskPolicy:
        return TaskPolicy(workdir=task.workdir, kind="repair", protected=("tests/**",))

    async def prepare(self, task: Task, sandbox: Sandbox) -> None: ...

    async def verify(self, task: Task, left: Sandbox, sandboxes: SandboxProvider) -> Verdict:
        return Verdict(passed=True, score=1.0)


class StubSandbox:
    outlet_url = "http://127.0.0.1:1"

    async def freeze(self) -> None: ...


class StubSandboxes:
    name, boundary = "stub", False

    async def probe(self) -> Isolation:
        return Isolation(ok=True)

    @asynccontextmanager
    async def open(self, spec: SandboxSpec) -> AsyncIterator[Any]:
        yield StubSandbox()


def cpu() -> float:
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


async def measure(folder: Path) -> dict[str, Any]:
    metadata = TaskMetadata(kind="stub", cluster="c")
    examples = Path(__file__).parents[2] / "examples" / "tasks"
    real = next(task for task in load_tasks(examples)[0] if task.kind == "repair")
    task = Task(id="t", instruction=real.instruction, path=folder, metadata=metadata)
    guard = make_parts(Plugins.load(), harness="pi", kinds={}).guard
    socket = folder / "gateway.sock"
    turns, log_bytes = 0, 0
    async with (
        open_engine(parse_engine("scripted:loop"), tasks=[real]) as engine,
        Gateway(upstream=Upstream(engine.url), guard=guard, socket=socket) as gateway,
    ):
        setup = Setup(
            driver=StubDriver(socket),
            toolchain=Toolchain(version="stub"),
            kinds={"stub": StubKind()},
            rewards={},
            gateway=gateway,
            sandboxes=StubSandboxes(),  # type: ignore[arg-type]
            model=engine.model,
        )
        slots = asyncio.Semaphore(AT_ONCE)

        async def one() -> None:
            nonlocal turns, log_bytes
            async with slots:
                done = await rollout(task, setup, log_dir=folder)
            assert len(done.transcript.turns) == TURNS, done.error
            turns += len(done.transcript.turns)
            log_bytes += len(encode(to_record(done)))

        await one()  # warm
        turns = log_bytes = 0
        before, started = cpu(), time.perf_counter()
        await asyncio.gather(*(one() for _ in range(SESSIONS)))
        used, wall = cpu() - before, time.perf_counter() - started
    return {
        "sessions": SESSIONS,
        "at_once": AT_ONCE,
        "turns": turns,
        "cpu_ms_per_turn_with_the_stub_client": round(1000 * used / turns, 3),
        "turns_per_second": round(turns / wall, 1),
        "log_bytes_per_turn": round(log_bytes / turns),
        "peak_rss_mb": round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024),
    }


def main(out: Path) -> int:
    with tempfile.TemporaryDirectory() as folder:
        runs = [asyncio.run(measure(Path(folder))) for _ in range(3)]
    best = sorted(run["cpu_ms_per_turn_with_the_stub_client"] for run in runs)
    figures = {"median_cpu_ms_per_turn": best[1], "runs": runs}
    return write_evidence(
        out,
        __file__,
        __doc__,
        holds=None,
        versions=("aiohttp", "uvloop"),
        tell=figures,
        **figures,
    )


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
