"""The contract of a harness driver, kept by running its real harness."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

import pytest

from harness_adapters.errors import BadInput
from harness_adapters.gateway.guard.calls import ToolCall
from harness_adapters.gateway.guard.ledger import Ledger
from harness_adapters.plugins import Plugins
from harness_adapters.protocols import HarnessDriver, Options
from harness_adapters.testing.engine import Call, Cut, Fail, Run, Say, Silence, Step
from harness_adapters.testing.session import MODEL, Played, play_session
from harness_adapters.types import Ended, Finding, Flag, Severity

Play = Callable[..., Played]
_ENDING_SECONDS = 15.0  # what a driver may take beyond the session's time, logs included
_FORBIDDEN = "forbidden-by-the-contract"


class HarnessDriverContract:
    """A driver that runs its harness unmodified, ends it in time, and leaves nothing behind.

    Each test is one session (or two) of the real harness, in a sandbox, behind the gateway. They
    need no network once the harness is installed.

    Mandatory: every test, unless listed here. Optional, by what the class declares:

    * ``tool_calls = False``: the harness speaks in text and declares no tools, so no guard can
      judge its calls. Then ``speak`` must say how the model asks for a command, and the tests
      of blocked, undeclared and malformed calls are skipped.
    * ``finish``: what the model does when it is done, for a harness that does not end at a text.
    * ``own_log``: a glob in the session's log folder that the harness's own log matches.

    :cvar name: the driver's registered name.
    :cvar options: what it is created with.
    :cvar hang_seconds: the session's time in tests of hangs; more than the harness's start takes.
    """

    name: ClassVar[str]
    options: ClassVar[Options] = {}
    tool_calls: ClassVar[bool] = True
    finish: ClassVar[Step] = Say()
    own_log: ClassVar[str] = ""
    hang_seconds: ClassVar[float] = 6.0

    def speak(self, step: Run) -> Step:
        """How the model asks for a command, where ``tool_calls`` is false."""
        raise NotImplementedError("a text protocol needs `speak`")

    @pytest.fixture
    def driver(self) -> HarnessDriver:
        return Plugins.load().harnesses.create(self.name, self.options)

    @pytest.fixture
    def play(self, driver: HarnessDriver, tmp_path: Path) -> Play:
        """``play(steps, **options of play_session)``."""

        def play(steps: Sequence[Step], **options: Any) -> Played:
            return asyncio.run(self._session(driver, steps, tmp_path / "log", **options))

        return play

    async def _session(
        self, driver: HarnessDriver, steps: Sequence[Step], log_dir: Path, **options: Any
    ) -> Played:
        log_dir.mkdir()
        speak = None if self.tool_calls else self.speak
        return await play_session(driver, steps, log_dir=log_dir, speak=speak, **options)

    def _needs_tool_calls(self) -> None:
        if not self.tool_calls:
            pytest.skip("optional: the harness makes no tool calls that a guard could judge")

    # --- being made and installed ---------------------------------------------------------------

    def test_it_refuses_an_unknown_option(self) -> None:
        with pytest.raises(BadInput):
            Plugins.load().harnesses.create(self.name, {**self.options, "no_such_option": "1"})

    def test_it_installs_one_exact_version_and_finds_it_again(self, driver: HarnessDriver) -> None:
        first = asyncio.run(driver.install())
        assert first.version, "a run records the harness's version"
        assert asyncio.run(driver.install()) == first
        for mount in first.mounts:
            assert mount.source.exists() and mount.target.startswith("/"), mount

    def test_its_side_requests_can_be_told_apart(self, driver: HarnessDriver) -> None:
        for request in driver.auxiliary:
            assert request.name, request
            assert request.system_contains.strip(), "it would match every request without tools"

    # --- a session that goes well ---------------------------------------------------------------

    def test_two_turns_make_a_file(self, play: Play) -> None:
        """The command ran once, the harness said that it was done, and nothing else was asked."""
        played = play([Run("echo hello > made.txt"), self.finish])

        transcript = played.transcript
        assert played.exit.ended is Ended.COMPLETED, played.exit
        assert played.work == {"made.txt": b"hello\n"}, "only what the model asked for may appear"
        main = [turn for turn in transcript.turns if not turn.auxiliary]
        assert len(main) == 2, [turn.reply for turn in transcript.turns]
        assert all(turn.delivered for turn in transcript.turns)
        assert (transcript.refused, transcript.faults) == (0, ())
        assert not transcript.flags, transcript.flags
        assert played.exit.seconds <= played.seconds + 0.1
        assert not played.running

    def test_the_conversation_only_grows(self, play: Play) -> None:
        """Each request is the one before it and what is new: the session is one training row."""
        played = play([Run("echo one"), Run("echo two"), self.finish])

        assert played.exit.ended is Ended.COMPLETED, played.exit
        assert played.transcript.token_exact
        (row,) = played.transcript.rows()
        main = [turn for turn in played.transcript.turns if not turn.auxiliary]
        assert sum(row.loss) == sum(len(turn.sampled_ids) for turn in main)
        if self.tool_calls:
            assert played.transcript.calls == 2 + isinstance(self.finish, Run)

    @pytest.mark.parametrize(
        "instruction",
        [
            pytest.param("--version", id="an option"),
            pytest.param("@/etc/hostname says", id="a file"),
            pytest.param("/help me with \"this\" and 'that', $HOME, `id` \\n", id="a command"),
            pytest.param("one\n\n\ttwo é 漢字 \U0001f600", id="lines and unicode"),
        ],
    )
    def test_the_instruction_arrives_as_it_is(self, play: Play, instruction: str) -> None:
        played = play([self.finish], instruction=instruction)

        assert played.exit.ended is Ended.COMPLETED, played.exit
        assert len(played.transcript.turns) >= 1
        first = next(turn for turn in played.transcript.turns if not turn.auxiliary)
        said = "\n".join(_text(m) for m in first.new_messages if m.get("role") == "user")
        assert instruction.strip() in said

    def test_the_model_is_asked_for_by_its_name(self, play: Play) -> None:
        played = play([self.finish])
        assert {turn.model for turn in played.transcript.turns} == {MODEL}

    def test_a_log_is_kept(self, play: Play) -> None:
        """Mandatory: something. Optional: the harness's own log, where ``own_log`` names it."""
        played = play([Run("echo hello"), self.finish])
        kept = [path for path in played.log_dir.rglob("*") if path.is_file()]
        assert any(path.stat().st_size for path in kept), "the log folder is empty"
        if self.own_log:
            assert list(played.log_dir.glob(self.own_log)), [path.name for path in kept]

    def test_two_sessions_at_once_do_not_meet(self, driver: HarnessDriver, tmp_path: Path) -> None:
        async def both() -> list[Played]:
            return await asyncio.gather(
                *(
                    self._session(
                        driver, [Run(f"echo {word} > {word}.txt"), self.finish], tmp_path / word
                    )
                    for word in ("left", "right")
                )
            )

        left, right = asyncio.run(both())
        assert (set(left.work), set(right.work)) == ({"left.txt"}, {"right.txt"})
        assert left.exit.ended is right.exit.ended is Ended.COMPLETED

    # --- sessions that do not -------------------------------------------------------------------

    @pytest.mark.parametrize(
        "step",
        [
            pytest.param(Silence(), id="the model is silent"),
            # No sleep: Claude Code refuses to wait for one that is a whole command.
            pytest.param(Run("tail -f /dev/null"), id="a tool hangs"),
        ],
    )
    def test_a_hang_ends_with_the_sessions_time(self, play: Play, step: Step) -> None:
        played = play([step], seconds=self.hang_seconds)

        assert played.exit.ended is Ended.TIMEOUT, played.exit
        assert played.seconds < self.hang_seconds + _ENDING_SECONDS
        assert not played.running, "the whole process tree must be gone"

    def test_cancelling_ends_it(self, driver: HarnessDriver, tmp_path: Path) -> None:
        async def cancel() -> float:
            session = asyncio.ensure_future(self._session(driver, [Silence()], tmp_path / "log"))
            await asyncio.sleep(self.hang_seconds / 2)
            started = time.monotonic()
            session.cancel()
            await asyncio.gather(session, return_exceptions=True)
            assert session.cancelled() or isinstance(session.exception(), BaseException)
            return time.monotonic() - started

        assert asyncio.run(cancel()) < _ENDING_SECONDS

    @pytest.mark.parametrize(
        "fault",
        [
            pytest.param(Fail(500), id="500 for ever"),
            pytest.param(Cut(), id="cut off for ever"),
            pytest.param(
                Fail(400, "This model's maximum context length is 10 tokens."), id="too long"
            ),
        ],
    )
    def test_an_engine_that_fails_is_no_success(self, play: Play, fault: Fail) -> None:
        played = play([Run("echo hello"), fault], seconds=20.0, max_requests=60)

        assert played.exit.ended is not Ended.COMPLETED, "exit codes lie: read the event stream"
        assert "\n" not in played.exit.detail
        assert played.seconds < 20.0 + _ENDING_SECONDS
        assert not played.running

    def test_a_policy_that_never_stops_ends_with_its_budget(self, play: Play) -> None:
        played = play([Run("echo again")], max_requests=4)

        assert Flag.BUDGET_STOP in played.transcript.flags
        assert len(played.asked) <= 4
        assert not played.running

    # --- tool calls -----------------------------------------------------------------------------

    def test_a_blocked_call_never_runs(self, play: Play) -> None:
        """Optional: ``tool_calls``."""
        self._needs_tool_calls()
        played = play(
            [Run("echo one > one.txt"), Run(f"echo {_FORBIDDEN} > two.txt"), self.finish],
            rules={"word": _WordRule()},
        )

        assert set(played.work) == {"one.txt"}
        assert played.transcript.blocked  # once, or again for a harness that asks again
        assert not played.running

    @pytest.mark.parametrize(
        "bad",
        [
            pytest.param(Call("teleport", '{"to": "/"}'), id="an undeclared tool"),
            pytest.param(Call("teleport", '{"to": "/'), id="arguments cut short"),
        ],
    )
    def test_a_bad_call_is_survived(self, play: Play, bad: Call) -> None:
        """Optional: ``tool_calls``."""
        self._needs_tool_calls()
        played = play([bad, self.finish])

        assert played.exit.ended in (Ended.COMPLETED, Ended.ERROR), played.exit
        assert not played.work and not played.running


class _WordRule:
    def judge(self, call: ToolCall, ledger: Ledger) -> Finding | None:
        if _FORBIDDEN not in call.raw:
            return None
        return Finding(rule="word.forbidden", severity=Severity.BLOCK, message="the word is there")


def _text(message: Mapping[str, Any]) -> str:
    content = message.get("content")
    if isinstance(content, str):
        return content
    parts = content if isinstance(content, list) else []
    return "\n".join(str(part.get("text", "")) for part in parts if isinstance(part, dict))
