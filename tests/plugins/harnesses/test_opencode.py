"""The wire test of the driver: the real opencode, from npm, against a server that plays a part.

One session costs some six seconds of CPU, so most of them run only in the full suite.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from ha_harness_opencode.driver import OpencodeDriver
from ha_harness_opencode.options import PACKAGE, VERSION
from ha_harness_opencode.program import LOCK
from harness_adapters import Ended, FileEntry
from harness_adapters.harness.npm import install_npm
from harness_adapters.testing.chat_server import Reply, call, cut, refusal, silence, text

RunOpencode = Callable[..., Awaitable[Any]]

WRITE = call("write", {"filePath": "/work/hello.txt", "content": "hi\n"})
TOOLS = ["bash", "edit", "glob", "grep", "read", "skill", "todowrite", "write"]
KILL = call("bash", {"command": "kill -9 $PPID; sleep 5", "description": "Kill"})


@pytest.fixture
def run_opencode(run_harness: Callable[..., Awaitable[Any]]) -> RunOpencode:
    return lambda replies, **session: run_harness(OpencodeDriver({}), replies, **session)


async def test_two_turns_make_a_file_and_only_append_to_the_conversation(
    run_opencode: RunOpencode,
) -> None:
    run = await run_opencode([WRITE, text("done")])

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
    events = [json.loads(line) for line in (run.log_dir / "events.jsonl").read_text().splitlines()]
    assert {event["type"] for event in events} == {"step_start", "tool_use", "step_finish", "text"}
    own = json.loads((run.log_dir / "session.json").read_text())
    assert [message["info"]["role"] for message in own["messages"]] == [
        "user", "assistant", "assistant",
    ]  # fmt: skip


@pytest.mark.parametrize(
    "sandbox_name", ["bubblewrap", pytest.param("process", marks=pytest.mark.full)]
)
async def test_it_finds_the_task_and_no_configuration_of_the_workspace(
    run_opencode: RunOpencode, sandbox_name: str
) -> None:
    other = {"model": "other/x", "agent": {"build": {"prompt": "You are a pirate."}}}
    files = {
        "AGENTS.md": FileEntry(content=b"Prefer tabs."),
        "opencode.json": FileEntry(content=json.dumps(other).encode()),
        ".opencode/command/help.md": FileEntry(content=b"a command"),
    }
    instruction = "/help --me @AGENTS.md\n\"quoted\" 'both' $HOME `id` \\n é 漢字 \U0001f600\n\n"
    run = await run_opencode(
        [text("ok")], instruction=instruction, files=files, sandbox_name=sandbox_name,
        model="org/qwen3.opencode.01J0.v3:high",
    )  # fmt: skip

    assert run.exit.ended == Ended.COMPLETED
    assert (run.log_dir / "stderr.txt").read_bytes() == b""
    [body] = run.asked
    assert body["model"] == "org/qwen3.opencode.01J0.v3:high"
    system, user = body["messages"]
    assert user == {"role": "user", "content": instruction}
    assert "Prefer tabs." in system["content"]
    assert "pirate" not in system["content"]
    if sandbox_name == "bubblewrap":
        assert "Working directory: /work\n" in system["content"]
    assert set(run.work) == set(files)


@pytest.mark.full
@pytest.mark.parametrize(
    "instruction",
    [
        pytest.param("--help", id="an option"),
        pytest.param("é漢 " * 60_000 + "end", id="360 KB"),
    ],
)
async def test_the_instruction_arrives_as_it_is(
    run_opencode: RunOpencode, instruction: str
) -> None:
    run = await run_opencode([text("ok")], instruction=instruction)

    assert run.exit.ended == Ended.COMPLETED
    assert run.asked[0]["messages"][-1]["content"] == instruction


async def test_the_one_that_a_user_has_is_asked_for_its_version() -> None:
    """``path``: the program itself, or the command that npm made of its package."""
    package = (await install_npm(PACKAGE, VERSION, lock=LOCK)).folder
    pinned = await OpencodeDriver({}).install()
    for path in (pinned.mounts[0].source, package / "bin/opencode.exe", package):
        assert await OpencodeDriver({"path": str(path)}).install() == pinned


@pytest.mark.full
async def test_its_title_call_is_the_declared_one(
    run_harness: Callable[..., Awaitable[Any]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Were a session ever without a title, the side request would be known for what it is."""
    monkeypatch.setattr("ha_harness_opencode.driver.TITLE", ())
    driver = OpencodeDriver({})

    run = await run_harness(driver, [text("ok")])

    [declared] = driver.auxiliary
    [title] = [body for body in run.asked if not body.get("tools")]
    assert declared.system_contains in str(title["messages"][0]["content"])


@pytest.mark.full
class TestEnding:
    """Each ends with the right word, within its time."""

    @pytest.mark.parametrize(
        ("replies", "ended", "detail"),
        [
            pytest.param([KILL, text("not reached")], Ended.DIED, "in the middle", id="killed"),
            pytest.param(
                [text("hello")], Ended.COMPLETED, "", id="text only", marks=pytest.mark.full
            ),
            pytest.param(
                [text("hello", finish="length")],
                Ended.COMPLETED,
                "token limit",
                id="cut answer",
                marks=pytest.mark.full,
            ),
            pytest.param(
                [refusal(400, "maximum context length is 10 tokens", "context_length_exceeded")],
                Ended.ERROR,
                "maximum context length",
                id="context too long",
                marks=pytest.mark.full,
            ),
            pytest.param(
                [call("teleport", {}), text("sorry")],
                Ended.COMPLETED,
                "",
                id="undeclared tool",
                marks=pytest.mark.full,
            ),
            pytest.param(
                [call("write", '{"filePath": "/work/a.txt", "conte'), text("sorry")],
                Ended.COMPLETED,
                "",
                id="truncated arguments",
                marks=pytest.mark.full,
            ),
            pytest.param(
                [cut(), text("again")],
                Ended.COMPLETED,
                "",
                id="a cut stream, once",
                marks=pytest.mark.full,
            ),
        ],
    )
    async def test_of_a_short_run(
        self, run_opencode: RunOpencode, replies: list[Reply], ended: Ended, detail: str
    ) -> None:
        run = await run_opencode(replies)

        assert (run.exit.ended, detail in run.exit.detail) == (ended, True), run.exit
        assert len(run.asked) <= len(replies)
        assert "\n" not in run.exit.detail
        assert "a.txt" not in run.work

    @pytest.mark.full
    @pytest.mark.timeout(240)
    async def test_of_a_server_that_fails_for_ever(self, run_opencode: RunOpencode) -> None:
        """It asks again after 2, 4, 8, 16 and 30 seconds."""
        run = await run_opencode([refusal(500, "boom")], seconds=150.0)

        assert run.exit.ended == Ended.ERROR
        assert "boom" in run.exit.detail
        assert len(run.asked) <= 8

    @pytest.mark.full
    @pytest.mark.parametrize(
        "reply",
        [
            pytest.param(silence(), id="silence"),
            pytest.param(
                call("bash", {"command": "true", "description": "x"}), id="a loop of calls"
            ),
            pytest.param(
                call("bash", {"command": "sleep 600", "description": "x"}), id="a tool that hangs"
            ),
        ],
    )
    async def test_by_the_clock(self, run_opencode: RunOpencode, reply: Reply) -> None:
        run = await asyncio.wait_for(run_opencode([reply], seconds=12.0), 60.0)

        assert run.exit.ended == Ended.TIMEOUT
        assert 12.0 <= run.exit.seconds < 20.0
