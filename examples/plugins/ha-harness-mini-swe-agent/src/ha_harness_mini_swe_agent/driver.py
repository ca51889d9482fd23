"""The driver: mini-swe-agent from PyPI, headless, one process per session."""

from __future__ import annotations

import asyncio
from pathlib import Path

from ha_harness_mini_swe_agent.config import (
    CONFIG_FILE,
    FOLDER,
    LOG_FILE,
    START,
    config_file,
    environment,
)
from ha_harness_mini_swe_agent.ending import how_it_ended
from harness_adapters import (
    AuxiliaryRequest,
    HarnessExit,
    Mount,
    Options,
    Session,
    Toolchain,
)
from harness_adapters.harness.choice import chosen_path
from harness_adapters.harness.headless import keep_file, run_headless
from harness_adapters.harness.pypi import check_pypi_pin, install_pypi, read_python_package

PACKAGE = "mini-swe-agent"
VERSION = "2.4.6"
"""The release that this driver is tested with."""

SITE = "/opt/ha/mini-swe-agent"
_SAID_BYTES = 1024 * 1024


class MiniSweAgentDriver:
    """Drives mini-swe-agent in its usual way of working: one tool, ``bash``.

    Its text protocol, where commands stand in fenced blocks, is not offered: a guard judges tool
    calls, and there are none.

    :param options: ``version`` to install from PyPI, or ``path`` of an installed one.
    :raises BadInput: unknown or senseless options.
    """

    def __init__(self, options: Options) -> None:
        self._path: Path | None = chosen_path("mini_swe_agent", options, ("path", "version"))
        self._version: str = options.get("version", VERSION)
        check_pypi_pin(PACKAGE, self._version)

    @property
    def auxiliary(self) -> tuple[AuxiliaryRequest, ...]:
        """None: it asks for nothing beside its main loop."""
        return ()

    async def install(self) -> Toolchain:
        """mini-swe-agent from the cache or PyPI. It runs under the sandbox's own Python.

        :raises MissingPrerequisite: no pip and no uv, no network, no such version, no package for
            this Python at ``path``.
        """
        if self._path is not None:
            package = await asyncio.to_thread(read_python_package, PACKAGE, self._path)
        else:
            package = await install_pypi(PACKAGE, self._version)
        return Toolchain(version=package.version, mounts=(Mount(source=package.site, target=SITE),))

    async def prepare(self, session: Session) -> None:
        config = config_file(session.endpoint, session.sampling, session.limits)
        await session.sandbox.put({CONFIG_FILE: config}, at=FOLDER)

    async def run(self, session: Session) -> HarnessExit:
        inside = session.sandbox.path
        said = bytearray()

        async def read(stdout: asyncio.StreamReader) -> None:
            while data := await stdout.read(65536):
                said.extend(data[: _SAID_BYTES - len(said)])

        ran = await run_headless(
            session,
            [
                "python3", "-I", "-S", "-B", "-c", START,
                inside(SITE), inside(f"{FOLDER}/{CONFIG_FILE}"), inside(LOG_FILE),
            ],
            env=environment(session.endpoint, inside(FOLDER)),
            stdin=session.task.instruction.encode(errors="replace"),
            read=read,
        )  # fmt: skip
        (session.log_dir / "output.txt").write_bytes(said)
        trajectory = await keep_file(session.sandbox, LOG_FILE, session.log_dir / "trajectory.json")
        ended, detail = how_it_ended(trajectory, ran)
        return HarnessExit(ended=ended, detail=detail, seconds=ran.seconds)
