"""Whole rollouts of one harness against an engine, each with what it cost."""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from harness_adapters import Plugins, Rollout, Task
from harness_adapters.gateway.server import Gateway
from harness_adapters.gateway.upstream import Upstream
from harness_adapters.loop import Setup, rollout
from harness_adapters.parts import make_kinds, make_parts
from harness_adapters.sandbox.providers import provider
from harnesses.cost import Cost, Metered


@asynccontextmanager
async def prepared(
    harness: str, tasks: Sequence[Task], url: str, model: str, *, guards: Sequence[str] | None
) -> AsyncIterator[Setup]:
    """Everything that rollouts of ``harness`` share, as ``ha run`` would make it."""
    plugins = Plugins.load()
    kinds = make_kinds(plugins, {task.kind for task in tasks})
    parts = make_parts(plugins, harness=harness, kinds=kinds, guards=guards)
    async with AsyncExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="ha-claim-")))
        gateway = await stack.enter_async_context(
            Gateway(upstream=Upstream(url), guard=parts.guard, socket=folder / "gateway.sock")
        )
        yield Setup(
            driver=parts.driver,
            toolchain=await parts.driver.install(),
            kinds=kinds,
            rewards=parts.rewards,
            gateway=gateway,
            sandboxes=await provider("bubblewrap"),
            model=model,
            components=parts.provenance,
        )


async def metered(task: Task, setup: Setup, log_dir: Path) -> tuple[Rollout, Cost]:
    """One rollout, and what its sandbox used."""
    cost = Cost()
    log_dir.mkdir(parents=True)
    sandboxes = Metered(setup.sandboxes, cost)
    return await rollout(task, replace(setup, sandboxes=sandboxes), log_dir=log_dir), cost


async def in_turn(jobs: Sequence[Any], at_once: int) -> list[Any]:
    """Await all of ``jobs`` (coroutines), at most ``at_once`` at a time; results in order."""
    slots = asyncio.Semaphore(at_once)

    async def one(job: Any) -> Any:
        async with slots:
            return await job

    return await asyncio.gather(*map(one, jobs))


def figures(one: Rollout, cost: Cost) -> dict[str, Any]:
    """A rollout in numbers. Tokens are those of the scripted engine's tokenizer."""
    turns = [turn for turn in one.transcript.turns if not turn.auxiliary]
    return {
        "task": one.task_id,
        "outcome": str(one.outcome),
        "reward": one.reward,
        "flags": sorted(map(str, one.flags)),
        "ended": str(one.exit.ended) if one.exit else None,
        "detail": one.error or (one.exit.detail if one.exit else ""),
        "calls": one.calls,
        "requests": len(turns),
        "side_requests": len(one.transcript.turns) - len(turns),
        "refused": one.transcript.refused,
        "rows": len(one.transcript.rows()),
        "blocked_by": sorted({f.rule for call in one.transcript.blocked for f in call.findings}),
        "prompt_tokens": sum(turn.usage.get("prompt_tokens", 0) for turn in turns),
        "sampled_tokens": sum(turn.usage.get("completion_tokens", 0) for turn in turns),
        "cpu_seconds": round(cost.cpu_seconds, 2),
        "peak_mb": round(cost.peak_mb),
        "harness_seconds": round(one.exit.seconds, 1) if one.exit else None,
        "harness_version": one.harness_version,
    }
