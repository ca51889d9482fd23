"""The wire test of the driver: the real pi, from npm, against a chat server that plays a part."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from aiohttp import web

from ha_harness_pi.driver import PiDriver
from harness_adapters import Ended, FileEntry
from harness_adapters.testing.chat_server import (
    Reply,
    call,
    cut,
    refusal,
    silence,
    text,
)

RunPi = Callable[..., Awaitable[Any]]


@pytest.fixture
def run_pi(run_harness: Callable[..., Awaitable[Any]]) -> RunPi:
    def run(
        replies: list[Reply], *, options: dict[str, str] | None = None, **session: Any
    ) -> Awaitable[Any]:
        return run_harness(PiDriver(options or {}), replies, **session)

    return run


WRITE = call("write", {"path": "hello.txt", "content": "hi\n"})


@pytest.mark.parametrize(
    "options",
    [
        pytest.param({}, id="pinned"),
        pytest.param(
            {"package": "@earendil-works/pi-coding-agent"},
            id="successor",
            marks=[pytest.mark.full, pytest.mark.timeout(600)],
        ),
    ],
)
async def test_two_turns_make_a_file_and_only_append_to_the_conversation(
    run_pi: RunPi, options: dict[str, str]
) -> None:
    run = await run_pi([WRITE, text("done")], options=options)

    assert (run.exit.ended, run.exit.detail) == (Ended.COMPLETED, "")
    assert run.work == {"hello.txt": b"hi\n"}
    first, second = run.asked
    known = len(first["messages"])
    assert second["messages"][:known] == first["messages"]
    assert [message["role"] for message in second["messages"][known:]] == ["assistant", "tool"]
    for body in run.asked:
        assert (body["temperature"], body["top_p"], body["max_tokens"]) == (0.7, 0.9, 1234)
        assert body["model"] == "m"
        tools = [tool["function"]["name"] for tool in body["tools"]]
        assert tools == ["read", "bash", "edit", "write"]
    assert run.server.authorizations == {"Bearer 0123456789abcdef0123456789abcdef"}
    assert list(run.log_dir.glob("session-*.jsonl"))


async def test_its_own_log_and_its_events_are_kept(run_pi: RunPi) -> None:
    run = await run_pi([WRITE, text("done")])

    events = [json.loads(line) for line in (run.log_dir / "events.jsonl").read_text().splitlines()]
    assert events[0]["type"] == "session"
    kinds = {event["type"] for event in events}
    assert kinds >= {"agent_start", "message_end", "agent_end"}
    assert "message_update" not in kinds
    [own] = run.log_dir.glob("session-*.jsonl")
    roles = [
        json.loads(line).get("message", {}).get("role") for line in own.read_text().splitlines()
    ]
    assert [role for role in roles if role] == ["user", "assistant", "toolResult", "assistant"]


def system_text(body: dict[str, Any]) -> str:
    message = body["messages"][0]
    assert message["role"] == "system"
    return str(message["content"])


@pytest.mark.parametrize("sandbox_name", ["bubblewrap", "process"])
async def test_it_finds_the_task_and_nothing_of_the_user(run_pi: RunPi, sandbox_name: str) -> None:
    files = {
        "AGENTS.md": FileEntry(content=b"Prefer tabs."),
        ".pi/extensions/x.ts": FileEntry(content=b"throw new Error('loaded')"),
        ".pi/prompts/do.md": FileEntry(content=b"a template"),
    }
    run = await run_pi([text("ok")], instruction="/do it", files=files, sandbox_name=sandbox_name)

    assert run.exit.ended == Ended.COMPLETED
    assert (run.log_dir / "stderr.txt").read_bytes() == b""
    [body] = run.asked
    assert "/do it" in json.dumps(body["messages"][1])
    assert set(run.work) == set(files)
    system = system_text(body)
    if sandbox_name == "bubblewrap":
        assert "Prefer tabs." in system
        assert system.endswith("Current working directory: /work")
        assert "/opt/ha/pi/node_modules/@mariozechner/pi-coding-agent/docs" in system
    else:  # it has no root of its own, so no folder above the workspace may be searched
        assert "Prefer tabs." not in system


@pytest.mark.parametrize(
    "instruction",
    [
        pytest.param("--help", id="an option"),
        pytest.param("@/etc/hostname and more", id="a file"),
        pytest.param("/help me, /skill:x", id="a slash command"),
        pytest.param("install", id="a subcommand"),
        pytest.param(
            " \"quoted\" 'both' $HOME `id` \\n\nnext line\n\ttab é 漢字 \U0001f600\n\n",
            id="quotes, newlines and unicode",
        ),
        pytest.param("-" + "x y\n" * 25_000 + "end\n", id="100 KB"),
        pytest.param("@" + "é漢 " * 60_000 + "end \n", id="360 KB"),
    ],
)
async def test_the_instruction_arrives_as_it_is(run_pi: RunPi, instruction: str) -> None:
    run = await run_pi([text("ok")], instruction=instruction)

    assert run.exit.ended == Ended.COMPLETED
    [body] = run.asked
    content = body["messages"][-1]["content"]
    said = content if isinstance(content, str) else "".join(part["text"] for part in content)
    assert said == instruction


async def test_an_adapter_name_is_no_pattern(run_pi: RunPi) -> None:
    name = "org/qwen3.pi.01J0.v3:high"  # to pi, "PATTERN:high" asks for a thinking level
    run = await run_pi([text("ok")], model=name)

    [body] = run.asked
    assert body["model"] == name
    assert "reasoning_effort" not in body


class TestEnding:
    """Each ends with the right word, within its time, whatever pi's exit code was."""

    @pytest.mark.parametrize(
        ("replies", "ended", "detail"),
        [
            pytest.param([text("hello")], Ended.COMPLETED, "", id="text only"),
            pytest.param(
                [text("hello", finish="length")], Ended.COMPLETED, "token limit", id="cut answer"
            ),
            pytest.param(
                [refusal(400, "maximum context length is 10 tokens", "context_length_exceeded")],
                Ended.ERROR,
                "maximum context length",
                id="context too long",
            ),
            pytest.param(
                [call("teleport", {}), text("sorry")], Ended.COMPLETED, "", id="undeclared tool"
            ),
            pytest.param(
                [call("write", '{"path": "a.txt", "conte'), text("sorry")],
                Ended.COMPLETED,
                "",
                id="truncated arguments",
            ),
            pytest.param([cut(), text("again")], Ended.COMPLETED, "", id="a cut stream, once"),
            pytest.param(
                [call("bash", {"command": "kill -9 $PPID"}), text("not reached")],
                Ended.DIED,
                "in the middle of its work",
                id="kills its harness",
            ),
        ],
    )
    async def test_of_a_short_run(
        self, run_pi: RunPi, replies: list[Reply], ended: Ended, detail: str
    ) -> None:
        run = await run_pi(replies)

        assert (run.exit.ended, detail in run.exit.detail) == (ended, True), run.exit
        assert len(run.asked) <= len(replies)
        assert "\n" not in run.exit.detail

    @pytest.mark.full
    async def test_of_a_tool_that_floods(self, run_pi: RunPi) -> None:
        flood = call("bash", {"command": "head -c 1000000000 /dev/zero | tr '\\0' x"})
        run = await run_pi([flood, text("done")], seconds=90.0)

        assert run.exit.ended in (Ended.COMPLETED, Ended.ERROR, Ended.DIED)
        assert sum(file.stat().st_size for file in run.log_dir.iterdir()) < 40 * 1024 * 1024

    @pytest.mark.full  # pi waits between its retries
    async def test_of_a_server_that_fails_for_ever(self, run_pi: RunPi) -> None:
        run = await run_pi([refusal(500, "boom")])

        assert run.exit.ended == Ended.ERROR
        assert "boom" in run.exit.detail
        assert len(run.asked) <= 16

    @pytest.mark.parametrize(
        "reply",
        [
            pytest.param(silence(), id="silence"),
            pytest.param(call("bash", {"command": "true"}), id="a loop of calls"),
            pytest.param(call("bash", {"command": "sleep 600"}), id="a tool that hangs"),
        ],
    )
    async def test_by_the_clock(self, run_pi: RunPi, reply: Reply) -> None:
        run = await asyncio.wait_for(run_pi([reply], seconds=5.0), 30.0)

        assert run.exit.ended == Ended.TIMEOUT
        assert 5.0 <= run.exit.seconds < 10.0
        assert list(run.log_dir.glob("session-*.jsonl")) or not run.asked[1:]

    async def test_by_whoever_started_it(self, run_pi: RunPi) -> None:
        asked = asyncio.Event()

        async def wait(request: web.Request, body: dict[str, Any]) -> web.StreamResponse:
            asked.set()
            return await silence()(request, body)

        running = asyncio.ensure_future(run_pi([wait]))
        await asyncio.wait_for(asked.wait(), 60.0)
        running.cancel()

        with pytest.raises(asyncio.CancelledError):
            await asyncio.wait_for(running, 5.0)
