"""The driver: Codex's native program from npm, headless with ``codex exec``."""

from __future__ import annotations

import re

from ha_harness_codex.config import CODEX_HOME, KEY_VARIABLE, config_files
from ha_harness_codex.ending import Progress, how_it_ended
from ha_harness_codex.program import find_program, read_options
from harness_adapters import (
    AuxiliaryRequest,
    HarnessExit,
    Mount,
    Options,
    Session,
    Toolchain,
)
from harness_adapters.harness.events import record_events
from harness_adapters.harness.headless import keep_tree, run_headless

FOLDER = "/opt/ha/codex"

_OFF = (
    *("plugins", "remote_plugin", "apps"),  # each would go to the network
    *("multi_agent", "goals"),  # a second agent is no part of this conversation
)
_SESSION_LOG = re.compile(r"\d+/\d+/\d+/rollout-[\w-]+\.jsonl")


class CodexDriver:
    """Drives Codex over the OpenAI Responses dialect.

    It has no setting for the temperature; the gateway pins that for every harness.

    :param options: ``version`` to install from npm, or ``path`` of an installed package.
    :raises BadInput: unknown or senseless options.
    """

    def __init__(self, options: Options) -> None:
        self._wanted = read_options(options)

    @property
    def auxiliary(self) -> tuple[AuxiliaryRequest, ...]:
        """None: its only side request is compaction, which is switched off."""
        return ()

    async def install(self) -> Toolchain:
        """Codex from the cache or npm.

        :raises MissingPrerequisite: no Node.js to install with, no network, no such version, no
            program for this machine, no package at ``path``.
        """
        program = await find_program(self._wanted)
        return Toolchain(
            version=program.version, mounts=(Mount(source=program.folder, target=FOLDER),)
        )

    async def prepare(self, session: Session) -> None:
        await session.sandbox.put(config_files(session.endpoint), at=CODEX_HOME)

    async def run(self, session: Session) -> HarnessExit:
        progress = Progress()
        inside = session.sandbox.path
        ran = await run_headless(
            session,
            [
                inside(f"{FOLDER}/bin/codex"), "exec", "--json", "--skip-git-repo-check",
                "--dangerously-bypass-approvals-and-sandbox",
                *(word for feature in _OFF for word in ("--disable", feature)),
                "-",  # the instruction comes on standard input
            ],
            env={"CODEX_HOME": inside(CODEX_HOME), KEY_VARIABLE: session.endpoint.api_key},
            stdin=session.task.instruction.encode(errors="replace"),
            read=lambda stdout: record_events(
                stdout, progress.see, session.log_dir / "events.jsonl"
            ),
            said_done=progress.over,
        )  # fmt: skip
        await keep_tree(session, f"{CODEX_HOME}/sessions", wanted=_SESSION_LOG)
        ended, detail = how_it_ended(progress, ran)
        return HarnessExit(ended=ended, detail=detail, seconds=ran.seconds)
