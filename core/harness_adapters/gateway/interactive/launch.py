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


def make_guard(plugins: Plugins, names: Sequence[str] | None, project: Path) -> Guard:
    """The rules by name, and ``own_controls`` besides, without which the others are worth little.

    :raises PluginError: one of them is not there or does not start.
    """
    rules = []
    for name in plugins.default_guards() if names is None else dict.fromkeys(names):
        component = plugins.guards.get(name)
        rules.append(
            LoadedRule(
                name=component.name,
                rule=plugins.guards.create(name),
                distribution=component.distribution,
                version=component.version,
            )
        )
    folders = (str(project_file(project).parent.parent), str(gateways_folder()))
    own = LoadedRule(name="own_controls", rule=OwnControls(folders), distribution=BUILTIN)
    return Guard([*rules, own])


def serve(plan: Plan, ready: Callable[[Running, InteractiveGateway], None]) -> None:
    """Serve until SIGINT, SIGTERM, SIGHUP or ``ha gateway stop``.

    :param ready: called once, when clients can connect.
    :raises BadInput: something in the plan does not fit; nothing was started.
    """
    import uvloop

    project = plan.project.resolve()
    if not project.is_dir():
        raise BadInput(f"no folder {plan.project}")
    guard = make_guard(Plugins.load(), plan.guards, project)
    decisions = GuardFile(project_file(project))
    uvloop.run(_serve(plan, project, guard, decisions, ready))


async def _serve(
    plan: Plan,
    project: Path,
    guard: Guard,
    decisions: GuardFile,
    ready: Callable[[Running, InteractiveGateway], None],
) -> None:
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
        stop = asyncio.Event()
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            asyncio.get_running_loop().add_signal_handler(number, stop.set)
        with announced(state):
            ready(state, gateway)
            ends = [asyncio.ensure_future(one) for one in (stop.wait(), gateway.stopped())]
            await asyncio.wait(ends, return_when=asyncio.FIRST_COMPLETED)
            for end in ends:
                end.cancel()
