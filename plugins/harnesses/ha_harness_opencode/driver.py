"""The driver: opencode's native program from npm, headless with ``run --format json``."""

from __future__ import annotations

import re

from ha_harness_opencode.config import (
    CONFIG_DIR,
    CONFIG_FILE,
    ENVIRONMENT,
    PROVIDER,
    config_file,
)
from ha_harness_opencode.ending import Progress, how_it_ended
from ha_harness_opencode.options import opencode_options
from ha_harness_opencode.program import find_program
from harness_adapters import (
    AuxiliaryRequest,
    HarnessExit,
    Mount,
    Options,
    Session,
    Toolchain,
)
from harness_adapters.harness.events import record_events
from harness_adapters.harness.headless import keep_export, run_headless

BINARY = "/opt/ha/opencode/opencode"
TITLE = ("--title", "task")  # without one it asks the model for it

_SESSION_ID = re.compile(r"ses_\w+")
_EXPORT_SECONDS = 60.0


class OpencodeDriver:
    """Drives the opencode coding agent.

    :param options: ``version`` to install from npm, or ``path`` of an installed one; see
        :class:`~ha_harness_opencode.options.OpencodeOptions`.
    :raises BadInput: unknown or senseless options.
    """

    def __init__(self, options: Options) -> None:
        self._options = opencode_options(options)

    @property
    def auxiliary(self) -> tuple[AuxiliaryRequest, ...]:
        """Its title call. The driver gives the title itself, so that none should come."""
        return (AuxiliaryRequest(name="title", system_contains="You are a title generator"),)

    async def install(self) -> Toolchain:
        """opencode from the cache or npm.

        :raises MissingPrerequisite: no Node.js to install with, no network, no such version, no
            program for this machine, no opencode at ``path``.
        """
        program = await find_program(self._options)
        return Toolchain(
            version=program.version, mounts=(Mount(source=program.binary, target=BINARY),)
        )

    async def prepare(self, session: Session) -> None:
        config = config_file(
            session.endpoint,
            session.sampling,
            session.limits,
            workdir=session.sandbox.path(session.task.workdir),
        )
        await session.sandbox.put({CONFIG_FILE: config}, at=CONFIG_DIR)

    async def run(self, session: Session) -> HarnessExit:
        progress = Progress()
        inside = session.sandbox.path
        ran = await run_headless(
            session,
            [
                inside(BINARY), "run", "--pure", "--format", "json", "--auto", *TITLE,
                "--model", f"{PROVIDER}/{session.endpoint.model}",
            ],
            env=ENVIRONMENT,
            # An argument would arrive in quotes.
            stdin=session.task.instruction.encode(errors="replace"),
            read=lambda stdout: record_events(
                stdout, progress.see, session.log_dir / "events.jsonl"
            ),
            said_done=progress.over,
        )  # fmt: skip
        if _SESSION_ID.fullmatch(progress.session):
            await keep_export(
                session,
                [inside(BINARY), "export", progress.session, "--pure"],
                env=ENVIRONMENT,
                to=session.log_dir / "session.json",
                seconds=_EXPORT_SECONDS,
            )
        ended, detail = how_it_ended(progress, ran)
        return HarnessExit(ended=ended, detail=detail, seconds=ran.seconds)
