"""How a harness is run to its end, with small shell programs in its place."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from harness_adapters import Endpoint, Limits, Sampling, SandboxSpec, Session, Task, TaskMetadata
from harness_adapters.harness.events import record_events
from harness_adapters.harness.headless import (
    Ran,
    how_it_died,
    keep_export,
    keep_file,
    one_line,
    run_headless,
)
from harness_adapters.sandbox.providers import provider


@pytest.fixture
async def session(tmp_path: Path) -> AsyncIterator[Session]:
    async with (await provider("process")).open(SandboxSpec()) as sandbox:
        yield Session(
            task=Task(
                id="t", instruction="x", path=tmp_path,
                metadata=TaskMetadata(kind="repair", cluster="c"),
            ),
            sandbox=sandbox,
            endpoint=Endpoint(base_url="http://127.0.0.1:1/s/k", model="m", api_key="k"),
            sampling=Sampling(),
            limits=Limits(session_seconds=20.0),
            log_dir=tmp_path,
        )  # fmt: skip


class Heard:
    """Reads standard output; ``done`` is set once it holds ``DONE``."""

    def __init__(self) -> None:
        self.output = b""
        self.done = asyncio.Event()

    async def read(self, stdout: asyncio.StreamReader) -> None:
        while data := await stdout.read(100):
            self.output += data
            if b"DONE" in self.output:
                self.done.set()


async def run(session: Session, script: str, heard: Heard, *, stdin: bytes = b"") -> Ran:
    return await run_headless(
        session,
        ["/bin/sh", "-c", script],
        env={"COLOUR": "blue"},
        read=heard.read,
        stdin=stdin,
        said_done=heard.done,
    )


async def test_it_gets_its_input_home_and_environment(session: Session) -> None:
    heard = Heard()
    ran = await run(
        session, 'cat; echo "$COLOUR $HOME" $PWD; echo bad >&2; exit 3', heard, stdin=b"hi "
    )

    home, work = session.sandbox.path("/home/agent"), session.sandbox.path("/work")
    assert heard.output.decode() == f"hi blue {home} {work}\n"
    assert (ran.returncode, ran.stderr, ran.timed_out) == (3, "bad\n", False)
    assert (session.log_dir / "stderr.txt").read_text() == "bad\n"


async def test_one_that_has_said_it_is_done_and_stays_is_ended(
    session: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("harness_adapters.harness.headless._SETTLE_SECONDS", 0.2)

    ran = await run(session, "echo DONE; exec sleep 60", Heard())

    assert (ran.returncode, ran.timed_out) == (None, False)
    assert ran.seconds < 10.0


async def test_what_it_left_running_does_not_keep_the_session_open(
    session: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("harness_adapters.harness.headless._SETTLE_SECONDS", 0.2)

    ran = await run(session, "sleep 60 & exit 4", Heard())

    assert ran.returncode == 4
    assert ran.seconds < 10.0


async def test_its_time_is_limited(session: Session) -> None:
    limited = Session(
        task=session.task, sandbox=session.sandbox, endpoint=session.endpoint,
        sampling=session.sampling, limits=Limits(session_seconds=0.3), log_dir=session.log_dir,
    )  # fmt: skip

    ran = await run(limited, "echo slow >&2; exec sleep 60", Heard())

    assert (ran.returncode, ran.timed_out) == (None, True)
    assert 0.3 <= ran.seconds < 10.0


async def test_an_export_is_kept_from_its_output_or_its_file(session: Session) -> None:
    to = session.log_dir / "own.json"
    script = "echo out; echo file > ~/own.json"

    async def export(command: str, file: str | None, seconds: float = 10.0) -> bytes:
        to.unlink(missing_ok=True)
        return await keep_export(
            session, ["/bin/sh", "-c", command], env={}, to=to, seconds=seconds, file=file
        )

    assert await export(script, None) == b"out\n" == to.read_bytes()
    assert await export(script, "/home/agent/own.json") == b"file\n" == to.read_bytes()
    assert await export(f"{script}; exit 1", None) == b""
    assert not to.exists()
    assert await export(f"{script}; sleep 60", "/home/agent/none", 1.0) == b""


async def test_a_log_that_is_no_file_or_too_large_is_not_kept(session: Session) -> None:
    to = session.log_dir / "log"
    script = "mkdir ~/folder; echo 12345 > ~/log"
    await session.sandbox.exec(
        ["/bin/sh", "-c", script], env={"HOME": session.sandbox.path("/home/agent")}
    )

    assert await keep_file(session.sandbox, "/home/agent/folder", to) == b""
    assert await keep_file(session.sandbox, "/home/agent/none", to) == b""
    assert await keep_file(session.sandbox, "/home/agent/log", to, max_bytes=5) == b""
    assert not to.exists()
    assert await keep_file(session.sandbox, "/home/agent/log", to) == b"12345\n"


async def test_events_are_seen_whole_and_kept_within_bounds(tmp_path: Path) -> None:
    stream = asyncio.StreamReader()
    stream.feed_data(b'{"type":"a"}\nnoise\n{"type":"partial"}\n{"type":"b","x":"0123456789"}\n')
    stream.feed_eof()
    seen: list[object] = []

    await record_events(
        stream, lambda event: seen.append(event["type"]), tmp_path / "events",
        skip=frozenset({"partial"}), max_bytes=20,
    )  # fmt: skip

    assert seen == ["a", "partial", "b"]
    assert (tmp_path / "events").read_bytes() == b'{"type":"a"}\n'


@pytest.mark.parametrize(
    ("returncode", "stderr", "started", "told"),
    [
        (
            1,
            "node:events:502\n      throw er;\n      ^\n\nError: ENOSPC: no space left\n    at x\n",
            False,
            "before it started to work, exit code 1: Error: ENOSPC: no space left",
        ),
        (
            1,
            "Traceback (most recent call last):\n  File x\na.b.SomeError: no\n",
            True,
            "in the middle of its work, exit code 1: a.b.SomeError: no",
        ),
        (-9, "\n warning \n", True, "in the middle of its work, exit code -9: warning"),
        (None, "", True, "in the middle of its work, it closed its output"),
    ],
)
def test_a_crash_is_told_in_one_line(
    returncode: int | None, stderr: str, started: bool, told: str
) -> None:
    ran = Ran(returncode=returncode, stderr=stderr, timed_out=False, seconds=1.0)

    assert how_it_died(ran, started=started) == told


def test_one_line_is_one_short_line() -> None:
    assert one_line("\n  first \nsecond") == "first"
    assert one_line(" \n") == ""
    assert len(one_line("x" * 10_000)) == 300
