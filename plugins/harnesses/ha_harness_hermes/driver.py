"""The driver: hermes from PyPI, headless with ``--oneshot``, one process per session."""

from __future__ import annotations

import asyncio
from pathlib import Path

from ha_harness_hermes.config import (
    CONFIG_FILE,
    EXPORT_FILE,
    HERMES_HOME,
    PYTHON,
    SITE,
    TOOLSETS,
    USAGE_FILE,
    command,
    config_file,
)
from ha_harness_hermes.ending import how_it_ended
from ha_harness_hermes.options import PACKAGE, VERSION, hermes_options
from harness_adapters import (
    AuxiliaryRequest,
    HarnessExit,
    Mount,
    Options,
    Session,
    Toolchain,
)
from harness_adapters.harness.headless import keep_export, keep_file, run_headless
from harness_adapters.harness.pypi import install_pypi, read_python_package

LOCK = Path(__file__).with_name("lock.txt")
"""Version and hashes of the tested release and all that it imports."""

_USAGE_BYTES = 64 * 1024
_ANSWER_BYTES = 1024 * 1024
_EXPORT_SECONDS = 60.0


class HermesDriver:
    """Drives the hermes agent, with its terminal and file tools.

    :param options: ``version`` to install from PyPI, or ``path`` of an installed one; see
        :class:`~ha_harness_hermes.options.HermesOptions`.
    :raises BadInput: unknown or senseless options.
    """

    def __init__(self, options: Options) -> None:
        self._options = hermes_options(options)

    @property
    def auxiliary(self) -> tuple[AuxiliaryRequest, ...]:
        """None: titles, compression and memory are switched off or no part of this mode."""
        return ()

    async def install(self) -> Toolchain:
        """hermes from the cache or PyPI. It runs under the sandbox's own Python.

        :raises MissingPrerequisite: no pip and no uv, no network, no such version, no hermes for
            this Python at ``path``.
        """
        wanted = self._options
        if wanted.path is not None:
            package = await asyncio.to_thread(read_python_package, PACKAGE, wanted.path)
        else:
            tested = wanted.version == VERSION
            package = await install_pypi(PACKAGE, wanted.version, lock=LOCK if tested else None)
        return Toolchain(version=package.version, mounts=(Mount(source=package.site, target=SITE),))

    async def prepare(self, session: Session) -> None:
        config = config_file(session.endpoint, session.sampling, session.limits)
        await session.sandbox.put({CONFIG_FILE: config}, at=HERMES_HOME)

    async def run(self, session: Session) -> HarnessExit:
        inside = session.sandbox.path
        python, site = inside(PYTHON), inside(SITE)
        env = {"HERMES_HOME": inside(HERMES_HOME)}
        answer = bytearray()

        async def read(stdout: asyncio.StreamReader) -> None:
            while data := await stdout.read(65536):
                answer.extend(data[: _ANSWER_BYTES - len(answer)])

        ran = await run_headless(
            session,
            command(
                python, site, "--toolsets", TOOLSETS, "--usage-file", inside(USAGE_FILE)
            ),
            env=env,
            stdin=session.task.instruction.encode(errors="replace"),
            read=read,
        )  # fmt: skip
        (session.log_dir / "answer.txt").write_bytes(answer)
        usage = await keep_file(
            session.sandbox,
            USAGE_FILE,
            session.log_dir / "usage.json",
            max_bytes=_USAGE_BYTES,
        )
        log = await keep_export(
            session,
            command(python, site, "sessions", "export", inside(EXPORT_FILE)),
            env=env,
            file=EXPORT_FILE,
            to=session.log_dir / "session.jsonl",
            seconds=_EXPORT_SECONDS,
        )
        ended, detail = how_it_ended(usage, ran, answer=bytes(answer), started=bool(log))
        return HarnessExit(ended=ended, detail=detail, seconds=ran.seconds)
