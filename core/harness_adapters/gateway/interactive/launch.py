"""Starting one gateway: its guard, its files, and its life until it is told to end."""

from __future__ import annotations

import asyncio
import os
import signal
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from harness_adapters.errors import BadInput
from harness_adapters.gateway.guard.judge import Guard, LoadedRule
from harness_adapters.gateway.interactive.allowances import GuardFile, project_file
from harness_adapters.gateway.interactive.own_controls import OwnControls
from harness_adapters.gateway.interactive.running import (
    Running,
    announced,
    gateways_folder,
    new_id,
)
from harness_adapters.gateway.interactive.server import InteractiveGateway
from harness_adapters.gateway.interactive.verdicts import Verdicts
from harness_adapters.parts import make_guard
from harness_adapters.plugins import BUILTIN, Plugins


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What ``ha gateway start`` was asked for.

    :param guards: names; ``None`` for every built-in one.
    :param log: a file for redacted verdicts; by default nothing is written.
    """

    upstream: str
    project: Path
    host: str = "127.0.0.1"
    port: int = 0
    admin_key: str | None = None
    guards: Sequence[str] | None = None
    log_only: bool = False
    log: Path | None = None


def guard_of(plugins: Plugins, names: Sequence[str] | None, project: Path) -> Guard:
    """The rules by name, and ``own_controls`` besides, without which the others are worth little.

    :raises PluginError: one of them is not there or does not start.
    :raises BadInput: one is named twice.
    """
    folders = (str(project_file(project).parent.parent), str(gateways_folder()))
    own = LoadedRule(name="own_controls", rule=OwnControls(folders), distribution=BUILTIN)
    return Guard([*make_guard(plugins, names).rules, own])


def serve(plan: Plan, ready: Callable[[Running, InteractiveGateway], None]) -> None:
    """Serve until SIGINT, SIGTERM, SIGHUP or ``ha gateway stop``.

    :param ready: called once, when clients can connect.
    :raises KeyboardInterrupt: SIGINT ended it; everything is closed by then.
    :raises BadInput: something in the plan does not fit; nothing was started.
    """
    import uvloop

    project = plan.project.resolve()
    if not project.is_dir():
        raise BadInput(f"no folder {plan.project}")
    guard = guard_of(Plugins.load(), plan.guards, project)
    decisions = GuardFile(project_file(project))
    if uvloop.run(_serve(plan, project, guard, decisions, ready)) is signal.SIGINT:
        raise KeyboardInterrupt


async def _serve(
    plan: Plan,
    project: Path,
    guard: Guard,
    decisions: GuardFile,
    ready: Callable[[Running, InteractiveGateway], None],
) -> signal.Signals | None:
    """The signal that ended it, if one did."""
    gateway = InteractiveGateway(
        plan.upstream,
        guard=guard,
        decisions=decisions,
        verdicts=Verdicts(plan.log),
        project=project,
        log_only=plan.log_only,
        host=plan.host,
        port=plan.port,
        admin_key=plan.admin_key,
    )
    async with gateway:
        state = Running(
            id=new_id(),
            pid=os.getpid(),
            origin=gateway.origin,
            url=gateway.url(),
            admin_key=gateway.admin_key,
            upstream=gateway.upstream,
            project=str(project),
            started=time.time(),
        )
        signals: asyncio.Queue[signal.Signals] = asyncio.Queue()
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            asyncio.get_running_loop().add_signal_handler(number, signals.put_nowait, number)
        with announced(state):
            ready(state, gateway)
            signalled = asyncio.ensure_future(signals.get())
            stopped = asyncio.ensure_future(gateway.stopped())
            await asyncio.wait((signalled, stopped), return_when=asyncio.FIRST_COMPLETED)
            stopped.cancel()
            return signalled.result() if signalled.done() else None
