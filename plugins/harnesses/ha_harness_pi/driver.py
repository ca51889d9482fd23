"""The driver: pi from npm, headless with ``-p --mode json``, one process per session."""

from __future__ import annotations

import re
from dataclasses import dataclass

from ha_harness_pi.config import (
    AGENT_DIR,
    PROVIDER,
    SAMPLING_FILE,
    SESSIONS_DIR,
    config_files,
    environment,
    split_instruction,
)
from ha_harness_pi.ending import Progress, how_it_ended
from ha_harness_pi.options import pi_options
from harness_adapters import (
    AuxiliaryRequest,
    HarnessExit,
    InfraError,
    Mount,
    Options,
    Session,
    Toolchain,
)
from harness_adapters.harness.events import record_events
from harness_adapters.harness.headless import keep_tree, run_headless
from harness_adapters.harness.node import find_node, minimum_version
from harness_adapters.harness.npm import install_npm, read_npm_package

MODULES = "/opt/ha/pi/node_modules"

_OLDEST_NODE = (20, 6, 0)
_PROGRESS_ONLY = frozenset({"message_update", "tool_execution_update"})
_SESSION_LOG = re.compile(r"[\w.:-]+\.jsonl")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Programs:
    """Paths inside the sandbox."""

    node: str
    cli: str


class PiDriver:
    """Drives the pi coding agent.

    :param options: ``package`` and ``version`` to install from npm, or ``path`` of an installed
        one; see :class:`~ha_harness_pi.options.PiOptions`.
    :raises BadInput: unknown or senseless options.
    """

    def __init__(self, options: Options) -> None:
        self._options = pi_options(options)
        self._programs: _Programs | None = None

    @property
    def auxiliary(self) -> tuple[AuxiliaryRequest, ...]:
        """None: its only side request is compaction, which is switched off."""
        return ()

    async def install(self) -> Toolchain:
        """pi from the cache or npm, and a Node.js that it accepts.

        :raises MissingPrerequisite: no Node.js, no npm, no network, no such version, no pi at
            ``path``.
        """
        wanted = self._options
        if wanted.path is not None:
            package = read_npm_package(wanted.path)
        else:
            package = await install_npm(wanted.package, wanted.version, lock=wanted.lock)
        node = await find_node(minimum_version(package.engine, default=_OLDEST_NODE))
        # A copy outside any node_modules is mounted as one, so that pi looks the same in all.
        target = MODULES if package.root != package.folder else f"{MODULES}/{package.name}"
        self._programs = _Programs(node=node.inside, cli=f"{target}/{package.program('pi')}")
        return Toolchain(
            version=package.version,
            mounts=(Mount(source=package.root, target=target), *node.mounts),
        )

    async def prepare(self, session: Session) -> None:
        files = config_files(session.endpoint, session.sampling, session.limits)
        await session.sandbox.put(files, at=AGENT_DIR)

    async def run(self, session: Session) -> HarnessExit:
        head, argument = split_instruction(session.task.instruction)
        progress = Progress()
        ran = await run_headless(
            session,
            self._command(session, argument),
            env=environment(session.sandbox.path(AGENT_DIR)),
            stdin=head,
            read=lambda stdout: record_events(
                # The partial messages repeat, in growing portions, what the whole ones say.
                stdout, progress.see, session.log_dir / "events.jsonl", skip=_PROGRESS_ONLY
            ),
            said_done=progress.over,
        )  # fmt: skip
        await keep_tree(session, SESSIONS_DIR, wanted=_SESSION_LOG)
        ended, detail = how_it_ended(progress, ran)
        return HarnessExit(ended=ended, detail=detail, seconds=ran.seconds)

    def _command(self, session: Session, argument: str) -> list[str]:
        if self._programs is None:
            raise InfraError("pi was not installed before it was run")
        inside = session.sandbox.path
        command = [
            inside(self._programs.node), inside(self._programs.cli),
            "-p", "--mode", "json", "--provider", PROVIDER, "--model", session.endpoint.model,
            "--session-dir", inside(SESSIONS_DIR),
            "--no-extensions", "--extension", inside(f"{AGENT_DIR}/{SAMPLING_FILE}"),
            "--no-skills", "--no-prompt-templates", "--no-themes",
        ]  # fmt: skip
        if inside(session.task.workdir) != session.task.workdir:
            # Without a root of its own pi would walk up into the user's folders for AGENTS.md.
            command.append("--no-context-files")
        return [*command, argument] if argument else command
