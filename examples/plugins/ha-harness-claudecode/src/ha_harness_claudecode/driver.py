"""The driver: Claude Code's native program from npm, headless with ``claude -p``."""

from __future__ import annotations

import re

from ha_harness_claudecode.ending import Progress, how_it_ended
from ha_harness_claudecode.program import find_program, read_options
from harness_adapters import (
    AuxiliaryRequest,
    FileEntry,
    HarnessExit,
    Mount,
    Options,
    Session,
    Toolchain,
)
from harness_adapters.harness.events import MIB, record_events
from harness_adapters.harness.headless import HOME, keep_tree, run_headless

BINARY = "/opt/ha/claudecode/claude"
CONFIG_DIR = f"{HOME}/.claude"
TOOLS = ("Bash", "Edit", "Glob", "Grep", "Read", "Write")
"""What a session works with. Left out are tools that start a second agent, ask a person, or go to
the network."""

_SESSION_LOG = re.compile(r"[\w.-]+/[\w-]+\.jsonl")


class ClaudeCodeDriver:
    """Drives Claude Code over the Anthropic Messages dialect.

    :param options: ``version`` to install from npm, or ``path`` of an installed package.
    :raises BadInput: unknown or senseless options.
    """

    def __init__(self, options: Options) -> None:
        self._wanted = read_options(options)

    @property
    def auxiliary(self) -> tuple[AuxiliaryRequest, ...]:
        """None: titles and summaries are switched off with its non-essential traffic."""
        return ()

    async def install(self) -> Toolchain:
        """Claude Code from the cache or npm.

        :raises MissingPrerequisite: no Node.js to install with, no network, no such version, no
            program for this machine, no package at ``path``.
        """
        program = await find_program(self._wanted)
        return Toolchain(
            version=program.version, mounts=(Mount(source=program.binary, target=BINARY),)
        )

    async def prepare(self, session: Session) -> None:
        await session.sandbox.put({"settings.json": FileEntry(content=b"{}")}, at=CONFIG_DIR)

    async def run(self, session: Session) -> HarnessExit:
        progress = Progress()
        ran = await run_headless(
            session,
            [
                session.sandbox.path(BINARY), "--print",
                "--output-format", "stream-json", "--verbose",
                "--dangerously-skip-permissions", "--disable-slash-commands",
                "--tools", ",".join(TOOLS), "--model", session.endpoint.model,
            ],
            env=environment(session),
            stdin=standard_input(session.task.instruction),
            read=lambda stdout: record_events(
                stdout, progress.see, session.log_dir / "events.jsonl"
            ),
            said_done=progress.over,
        )  # fmt: skip
        await keep_tree(session, f"{CONFIG_DIR}/projects", wanted=_SESSION_LOG)
        ended, detail = how_it_ended(progress, ran)
        return HarnessExit(ended=ended, detail=detail, seconds=ran.seconds)


def standard_input(instruction: str) -> bytes:
    """The instruction as Claude Code takes it for no more than text: as an argument one with a
    leading dash would be an option, and on the first line of its input a leading slash is a
    command, whatever it is told."""
    return f"\n{instruction}".encode(errors="replace")


def environment(session: Session) -> dict[str, str]:
    """Every model that it may want is the one of the session, and nothing leaves the sandbox."""
    endpoint = session.endpoint
    roles = ("SMALL_FAST", "DEFAULT_HAIKU", "DEFAULT_SONNET", "DEFAULT_OPUS")
    return {
        "CLAUDE_CONFIG_DIR": session.sandbox.path(CONFIG_DIR),
        "ANTHROPIC_BASE_URL": endpoint.base_url,
        "ANTHROPIC_AUTH_TOKEN": endpoint.api_key,
        "ANTHROPIC_MODEL": endpoint.model,
        **{f"ANTHROPIC_{role}_MODEL": endpoint.model for role in roles},
        "CLAUDE_CODE_MAX_OUTPUT_TOKENS": str(session.limits.max_output_tokens),
        "CLAUDE_CODE_MAX_RETRIES": "2",
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
        "DISABLE_AUTOUPDATER": "1",
        "DISABLE_AUTO_COMPACT": "1",  # the conversation may only grow
        "MAX_THINKING_TOKENS": "0",
        "IS_SANDBOX": "1",  # or it refuses to skip permissions
        # Its runtime reserves gigabytes that it never uses, which a sandbox counts as memory.
        "BUN_JSC_jitMemoryReservationSize": str(128 * MIB),
        "BUN_JSC_structureHeapSizeInKB": str(256 * 1024),
        "MIMALLOC_ARENA_RESERVE": "64MiB",
    }
