"""The wire test of the driver: the real hermes, from PyPI, against a server that plays a part."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from ha_harness_hermes.driver import HermesDriver
from harness_adapters import Ended, FileEntry
from harness_adapters.testing.chat_server import Reply, call, cut, refusal, silence, text

RunHermes = Callable[..., Awaitable[Any]]

WRITE = call("write_file", {"path": "hello.txt", "content": "hi\n"})
TOOLS = ["patch", "process", "read_file", "search_files", "terminal", "write_file"]


@pytest.fixture
def run_hermes(run_harness: Callable[..., Awaitable[Any]]) -> RunHermes:
    return lambda replies, **session: run_harness(HermesDriver({}), replies, **session)


async def test_two_turns_make_a_file_and_only_append_to_the_conversation(
    run_hermes: RunHermes,
) -> None:
    run = await run_hermes([WRITE, text("done")])

    assert (run.exit.ended, run.exit.detail) == (Ended.COMPLETED, "")
    assert run.work == {"hello.txt": b"hi\n"}
    first, second = run.asked
    known = len(first["messages"])
    assert second["messages"][:known] == first["messages"]
    assert [message["role"] for message in second["messages"][known:]] == ["assistant", "tool"]
    for body in run.asked:
        assert (body["temperature"], body["top_p"], body["max_tokens"]) == (0.7, 0.9, 1234)
        assert body["model"] == "m"
        assert [tool["function"]["name"] for tool in body["tools"]] == TOOLS
    assert run.server.authorizations == {"Bearer 0123456789abcdef0123456789abcdef"}
    assert (run.log_dir / "answer.txt").read_text() == "done\n"
    own = json.loads((run.log_dir / "session.jsonl").read_text())
    assert [message["role"] for message in own["messages"]] == [
        "user", "assistant", "tool", "assistant",
    ]  # fmt: skip


@pytest.mark.parametrize(
    "sandbox_name", ["bubblewrap", pytest.param("process", marks=pytest.mark.full)]
)
async def test_it_finds_the_task_and_nothing_of_the_machine(
    run_hermes: RunHermes, sandbox_name: str
) -> None:
    files = {"AGENTS.md": FileEntry(content=b"Prefer tabs.")}
    instruction = "/help --me @AGENTS.md\n\"quoted\" 'both' $HOME `id` \\n é 漢字 \U0001f600"
    run = await run_hermes(
        [text("ok")], instruction=instruction, files=files, sandbox_name=sandbox_name,
        model="org/qwen3.hermes.01J0.v3:high",
    )  # fmt: skip

    assert run.exit.ended == Ended.COMPLETED
    assert (run.log_dir / "stderr.txt").read_bytes() == b""
    [body] = run.asked
    assert body["model"] == "org/qwen3.hermes.01J0.v3:high"
    system, user = body["messages"]
    assert user == {"role": "user", "content": instruction}
    assert "Prefer tabs." in system["content"]
    if sandbox_name == "bubblewrap":
        assert "Current working directory: /work" in system["content"]
    assert set(run.work) == set(files)


async def test_the_python_of_its_terminal_is_the_sandbox_s_own(run_hermes: RunHermes) -> None:
    ask = "python3 -c 'import pytest, sys; print(sys.path)'; python3 -c 'import hermes_cli'"
    run = await run_hermes([call("terminal", {"command": ask}), text("ok")])

    said = run.asked[1]["messages"][-1]["content"]
    assert "No module named 'hermes_cli'" in said
    assert "No module named 'pytest'" not in said


@pytest.mark.full
@pytest.mark.parametrize(
    "instruction",
    [
        pytest.param("--help", id="an option"),
        pytest.param("-p other", id="a profile"),
        pytest.param("\n\n lines around \n\n", id="white space around"),
        pytest.param("é漢 " * 60_000 + "end", id="360 KB"),
    ],
)
async def test_the_instruction_arrives_but_for_white_space_around_it(
    run_hermes: RunHermes, instruction: str
) -> None:
    run = await run_hermes([text("ok")], instruction=instruction)

    assert run.exit.ended == Ended.COMPLETED
    assert run.asked[0]["messages"][-1]["content"] == instruction.strip()


@pytest.mark.full
class TestEnding:
    """Each ends with the right word, within its time, whatever hermes's exit code was."""

    @pytest.mark.parametrize(
        ("replies", "ended", "detail", "requests"),
        [
            pytest.param(
                [call("teleport", {}), text("sorry")],
                Ended.COMPLETED,
                "",
                2,
                id="undeclared tool",
            ),
            pytest.param(
                [call("terminal", {"command": "kill -9 $PPID; sleep 5"}), text("not reached")],
                Ended.DIED,
                "in the middle of its work",
                1,
                id="kills its harness",
            ),
            pytest.param(
                [refusal(400, "maximum context length is 10 tokens", "context_length_exceeded")],
                Ended.ERROR,
                "Context overflow",
                1,
                id="context too long",
            ),
            pytest.param(
                [text("hello")], Ended.COMPLETED, "", 1, id="text only", marks=pytest.mark.full
            ),
            pytest.param(
                [text("hello", finish="length")],
                Ended.COMPLETED,
                "without a whole answer",
                4,
                id="cut answers",
                marks=pytest.mark.full,
            ),
            pytest.param(
                [call("write_file", '{"path": "a.txt", "conte'), text("sorry")],
                Ended.COMPLETED,
                "",
                2,
                id="truncated arguments",
                marks=pytest.mark.full,
            ),
            pytest.param(
                [call("write_file", '{"path": "a.txt", "conte')],
                Ended.COMPLETED,
                "without a whole answer",
                5,
                id="truncated arguments for ever",
                marks=pytest.mark.full,
            ),
            pytest.param(
                [cut(), text("again")],
                Ended.COMPLETED,
                "",
                2,
                id="a cut stream, once",
                marks=pytest.mark.full,
            ),
            pytest.param(
                [refusal(500, "boom")], Ended.ERROR, "boom", 4, id="a server that fails for ever"
            ),
        ],
    )
    async def test_of_a_short_run(
        self,
        run_hermes: RunHermes,
        replies: list[Reply],
        ended: Ended,
        detail: str,
        requests: int,
    ) -> None:
        run = await run_hermes(replies)

        assert (run.exit.ended, detail in run.exit.detail) == (ended, True), run.exit
        assert len(run.asked) <= requests
        assert "\n" not in run.exit.detail
        assert "a.txt" not in run.work

    @pytest.mark.parametrize(
        "reply",
        [
            pytest.param(silence(), id="silence", marks=pytest.mark.full),
            pytest.param(call("terminal", {"command": "true"}), id="a loop of calls"),
            pytest.param(
                call("terminal", {"command": "sleep 600"}),
                id="a tool that hangs",
                marks=pytest.mark.full,
            ),
        ],
    )
    async def test_by_the_clock(self, run_hermes: RunHermes, reply: Reply) -> None:
        run = await asyncio.wait_for(run_hermes([reply], seconds=5.0), 30.0)

        assert run.exit.ended == Ended.TIMEOUT
        assert 5.0 <= run.exit.seconds < 10.0
        assert (run.log_dir / "session.jsonl").exists() or not run.asked
