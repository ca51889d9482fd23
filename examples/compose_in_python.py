"""Compose a rollout from objects, without a command line, a plugin name or a run folder.

Everything that ``ha run`` does by name can be put together by hand; this is the whole of it.

    python examples/compose_in_python.py
"""

from __future__ import annotations

import asyncio
import tempfile
from pathlib import Path

from ha_guard_tamper.rule import Tamper
from ha_harness_pi.driver import PiDriver
from ha_reward_tool_efficiency.shaper import ToolEfficiency
from ha_task_qa.kind import Qa
from harness_adapters import Rollout, load_task
from harness_adapters.gateway.guard.judge import Guard, LoadedRule
from harness_adapters.gateway.server import Gateway
from harness_adapters.gateway.upstream import Upstream
from harness_adapters.loop import Setup, rollout
from harness_adapters.sandbox.providers import provider
from harness_adapters.serve.engine import open_engine, parse_engine

TASKS = Path(__file__).parent / "tasks"


async def main() -> Rollout:
    task = load_task(next(path for path in sorted(TASKS.glob("qa-*"))))
    driver = PiDriver({})
    guard = Guard(
        [LoadedRule(name="tamper", rule=Tamper({}), distribution="", version="", options={})]
    )
    with tempfile.TemporaryDirectory() as folder:
        async with (
            open_engine(parse_engine("scripted:oracle"), tasks=[task], model=None) as engine,
            Gateway(
                upstream=Upstream(engine.url), guard=guard, socket=Path(folder) / "gateway.sock"
            ) as gateway,
        ):
            setup = Setup(
                driver=driver,
                toolchain=await driver.install(),
                kinds={"qa": Qa({})},
                rewards={"tool_efficiency": ToolEfficiency({"weight": 0.2})},
                gateway=gateway,
                sandboxes=await provider("bubblewrap"),
                model=engine.model,
            )
            return await rollout(task, setup, log_dir=Path(folder))


if __name__ == "__main__":
    done = asyncio.run(main())
    print(f"{done.task_id}: {done.outcome}, reward {done.reward:.3f}, {done.calls} calls")
    for row in done.transcript.rows():
        print(f"one training row of {len(row.ids)} tokens, {sum(row.loss)} of them sampled")
