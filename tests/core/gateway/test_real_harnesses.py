"""The real command-line programs of pi, Claude Code and Codex, each in its own dialect.

They run on the host with a home folder of their own, against the gateway and the scripted engine.
"""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import orjson
import pytest
from aiohttp import web
from engine import engine_that_runs
from tests.core.gateway.conftest import Engine, Wire, WordGuard, call, replying

from harness_adapters.gateway import delivery, notice
from harness_adapters.gateway.server import Gateway
from harness_adapters.gateway.sessions import GatewaySession
from harness_adapters.gateway.transcript import Transcript
from harness_adapters.gateway.upstream import Upstream
from harness_adapters.harness.node import find_node, minimum_version
from harness_adapters.harness.npm import NpmPackage, install_npm
from harness_adapters.types import Flag, Limits

pytestmark = [pytest.mark.full, pytest.mark.timeout(600)]

MODEL = "adapter.v1"
TASK = "Write the file."


@dataclass(frozen=True)
class Setup:
    """How to start one harness, and its shell tool with the parameter that takes a command."""

    package: str
    version: str
    script: Callable[[NpmPackage], Path]
    configure: Callable[[Path, str, str], tuple[list[str], Mapping[str, str]]]
    final: Callable[[list[dict[str, Any]]], str]
    shell: tuple[str, str]

    def call(self, command: str, id: str) -> Wire:
        """A shell call, written as no JSON library would."""
        tool, parameter = self.shell
        return call(f'{{"{parameter}" :  "{command}"}}', name=tool, id=id)


def configure_pi(home: Path, base: str, key: str) -> tuple[list[str], Mapping[str, str]]:
    compat = {
        "supportsDeveloperRole": False,
        "supportsReasoningEffort": False,
        "supportsStore": False,
        "maxTokensField": "max_tokens",
    }
    model = {
        "id": MODEL,
        "reasoning": False,
        "input": ["text"],
        "contextWindow": 32768,
        "maxTokens": 4096,
    }
    provider = {
        "baseUrl": f"{base}/v1",
        "api": "openai-completions",
        "apiKey": key,
        "compat": compat,
        "models": [model],
    }
    settings = {
        "enableInstallTelemetry": False,
        "quietStartup": True,
        "retry": {"enabled": True, "maxRetries": 3, "baseDelayMs": 100},
    }
    (home / "models.json").write_bytes(orjson.dumps({"providers": {"ha": provider}}))
    (home / "settings.json").write_bytes(orjson.dumps(settings))
    env = {"PI_CODING_AGENT_DIR": str(home), "PI_OFFLINE": "1", "PI_TELEMETRY": "0"}
    return ["-p", "--mode", "json", "--provider", "ha", "--model", MODEL, TASK], env


def configure_claude_code(home: Path, base: str, key: str) -> tuple[list[str], Mapping[str, str]]:
    kinds = ("SMALL_FAST", "DEFAULT_HAIKU", "DEFAULT_SONNET", "DEFAULT_OPUS")
    env = {
        "CLAUDE_CONFIG_DIR": str(home),
        "ANTHROPIC_BASE_URL": base,
        "ANTHROPIC_AUTH_TOKEN": key,
        "ANTHROPIC_MODEL": MODEL,
        **{f"ANTHROPIC_{kind}_MODEL": MODEL for kind in kinds},
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
        "DISABLE_AUTOUPDATER": "1",
        "MAX_THINKING_TOKENS": "0",
        "IS_SANDBOX": "1",
    }
    flags = ["--output-format", "stream-json", "--verbose", "--dangerously-skip-permissions"]
    return ["-p", *flags, "--model", MODEL, TASK], env


def configure_codex(home: Path, base: str, key: str) -> tuple[list[str], Mapping[str, str]]:
    (home / "config.toml").write_text(
        f"""model = "{MODEL}"
model_provider = "ha"
approval_policy = "never"
sandbox_mode = "danger-full-access"
check_for_update_on_startup = false
web_search = "disabled"
[analytics]
enabled = false
[model_providers.ha]
name = "ha"
base_url = "{base}/v1"
env_key = "HA_KEY"
wire_api = "responses"
request_max_retries = 2
stream_max_retries = 2
"""
    )
    off = [word for name in ("plugins", "remote_plugin", "apps") for word in ("--disable", name)]
    flags = ["--json", "--skip-git-repo-check", "--dangerously-bypass-approvals-and-sandbox", *off]
    return ["exec", *flags, TASK], {"CODEX_HOME": str(home), "HA_KEY": key}


def final_of_pi(events: list[dict[str, Any]]) -> str:
    end = events[-1]
    assert end["type"] == "agent_end" and end["messages"][-1]["stopReason"] == "stop"
    return "".join(part["text"] for part in end["messages"][-1]["content"])


def final_of_claude_code(events: list[dict[str, Any]]) -> str:
    result = events[-1]
    assert (result["type"], result["subtype"], result["is_error"]) == ("result", "success", False)
    return str(result["result"])


def final_of_codex(events: list[dict[str, Any]]) -> str:
    assert events[-1]["type"] == "turn.completed"
    items = [event["item"] for event in events if event["type"] == "item.completed"]
    return str([item["text"] for item in items if item["type"] == "agent_message"][-1])


SETUPS = {
    "pi": Setup(
        "@mariozechner/pi-coding-agent",
        "0.73.1",
        lambda package: package.root / package.program("pi"),
        configure_pi,
        final_of_pi,
        ("bash", "command"),
    ),
    "claude-code": Setup(
        "@anthropic-ai/claude-code",
        "2.1.332",
        lambda package: package.folder / "cli-wrapper.cjs",  # for installs without scripts
        configure_claude_code,
        final_of_claude_code,
        ("Bash", "command"),
    ),
    "codex": Setup(
        "@openai/codex",
        "0.171.0",
        lambda package: package.root / package.program("codex"),
        configure_codex,
        final_of_codex,
        ("exec_command", "cmd"),
    ),
}


@pytest.fixture(params=SETUPS)
def setup(request: pytest.FixtureRequest) -> Setup:
    return SETUPS[request.param]


@dataclass(frozen=True)
class Ended:
    code: int | None
    events: list[dict[str, Any]]
    errors: str


async def run(setup: Setup, folder: Path, origin: str, session: GatewaySession) -> str:
    """Run it to its end; what it says last."""
    ended = await start(setup, folder, origin, session)
    assert ended.code == 0, ended
    return setup.final(ended.events)


async def start(setup: Setup, folder: Path, origin: str, session: GatewaySession) -> Ended:
    package = await install_npm(setup.package, setup.version)
    node = await find_node(minimum_version(package.engine, default=(20, 0, 0)))
    home, work = folder / "home", folder / "work"
    home.mkdir()
    work.mkdir()
    arguments, env = setup.configure(home, f"{origin}{session.path}", session.key)
    process = await asyncio.create_subprocess_exec(
        node.binary,
        setup.script(package),
        *arguments,
        cwd=work,
        env={"PATH": os.environ["PATH"], "HOME": str(home), "LANG": "C.UTF-8", **env},
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        start_new_session=True,
    )
    try:
        out, errors = await asyncio.wait_for(process.communicate(), 120)
    finally:
        if process.returncode is None:
            os.killpg(process.pid, signal.SIGKILL)
            await process.wait()
    lines = [line for line in out.splitlines() if line.startswith(b"{")]
    return Ended(
        process.returncode, [orjson.loads(line) for line in lines], errors.decode(errors="replace")
    )


async def play(setup: Setup, folder: Path, *commands: str) -> tuple[str, Transcript]:
    with engine_that_runs(*commands) as url:
        async with Gateway(upstream=Upstream(url), guard=WordGuard(), port=0) as gateway:
            session = gateway.open_session(
                model=MODEL, require_tokens=True, limits=Limits(max_requests=10)
            )
            final = await run(setup, folder, gateway.url, session)
            return final, session.transcript()


async def test_a_session_of_tool_calls(setup: Setup, tmp_path: Path) -> None:
    """RF12: every token captured, one row, and nothing asked beside the main loop."""
    final, transcript = await play(
        setup, tmp_path, "echo héllo > a.txt", "cat a.txt; echo $((6*7))"
    )
    assert final == "I am done."
    assert (tmp_path / "work" / "a.txt").read_text() == "héllo\n"
    assert [turn.delivered for turn in transcript.turns] == [True] * 3
    assert transcript.token_exact and not transcript.flags and not transcript.faults
    assert (transcript.calls, transcript.refused) == (2, 0)
    result = transcript.turns[2].new_messages[-1]
    assert result["role"] == "tool" and "héllo\n42" in str(result["content"])
    (row,) = transcript.rows()
    assert sum(row.loss) == sum(len(turn.sampled_ids) for turn in transcript.turns)


async def test_a_blocked_call_ends_as_a_word_to_the_user(setup: Setup, tmp_path: Path) -> None:
    final, transcript = await play(setup, tmp_path, "echo one > a.txt", "echo forbidden > b.txt")
    assert final == f"I will run a command.\n\n{notice.BLOCKED}"
    assert [path.name for path in (tmp_path / "work").iterdir()] == ["a.txt"]
    assert (len(transcript.turns), len(transcript.blocked)) == (2, 1)


async def test_calls_side_by_side_and_one_that_is_malformed(
    setup: Setup, engine: Engine, tmp_path: Path
) -> None:
    """RF01, RF11: what comes back continues what was sampled, and no bad call ends the session."""
    tool, _ = setup.shell
    both = [setup.call("echo one", "call_a"), setup.call("echo two", "call_b")]
    engine.say = replying(
        {"content": "Both.", "reasoning_content": "hm", "tool_calls": both},
        {"tool_calls": [call("{]", name=tool, id="call_c")]},
        {"content": "done"},
    )
    async with Gateway(upstream=Upstream(engine.url), guard=WordGuard(), port=0) as gateway:
        session = gateway.open_session(model=MODEL, limits=Limits(max_requests=10))
        assert await run(setup, tmp_path, gateway.url, session) == "done"
    transcript = session.transcript()
    assert len(transcript.turns) == 3 and transcript.flags == {Flag.MALFORMED_CALL}
    history = engine.bodies[1]["messages"]
    assert [message["role"] for message in history[-3:]] == ["assistant", "tool", "tool"]
    assert (history[-3]["content"], history[-3]["tool_calls"]) == ("Both.", both)
    assert history[-3].get("reasoning_content") == "hm"
    assert [message["tool_call_id"] for message in history[-2:]] == ["call_a", "call_b"]
    assert "one" in str(history[-2]["content"]) and "two" in str(history[-1]["content"])
    assert transcript.turns[1].parent == 0
    assert engine.bodies[2]["messages"][-1]["tool_call_id"] == "call_c"


async def test_a_prompt_that_is_too_long_ends_the_session(
    setup: Setup, engine: Engine, tmp_path: Path
) -> None:
    """The engine's refusal is read as the harness's own protocol has it, and is not tried again."""
    error = {"message": "This model's maximum context length is 5 tokens.", "code": 400}
    engine.change = lambda reply: web.json_response({"error": error}, status=400)
    async with Gateway(upstream=Upstream(engine.url), guard=WordGuard(), port=0) as gateway:
        session = gateway.open_session(model=MODEL, limits=Limits(max_requests=10))
        ended = await start(setup, tmp_path, gateway.url, session)
    assert len(engine.bodies) == 1
    assert "maximum context length" in f"{ended.events}{ended.errors}"
    transcript = session.transcript()
    assert not transcript.turns and not transcript.faults


async def test_a_slow_engine_that_fails_once_is_waited_for_and_asked_again(
    setup: Setup, engine: Engine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Keep-alives, then an error in the middle of a stream, as the harness's protocol has them."""
    monkeypatch.setattr(delivery, "KEEP_ALIVE_SECONDS", 0.05)

    async def slowly() -> None:
        engine.gate.clear()
        for _ in range(2):
            await engine.arrived.wait()
            engine.arrived.clear()
            await asyncio.sleep(0.5)
            engine.gate.set()
            engine.gate.clear()

    replies: list[Wire] = [{"choices": []}]
    engine.change = lambda reply: replies.pop() if replies else None
    pacing = asyncio.create_task(slowly())
    async with Gateway(upstream=Upstream(engine.url), guard=WordGuard(), port=0) as gateway:
        session = gateway.open_session(model=MODEL, limits=Limits(max_requests=10))
        assert await run(setup, tmp_path, gateway.url, session) == "done"
    await pacing
    transcript = session.transcript()
    assert len(engine.bodies) == 2 and len(transcript.turns) == 1
    assert not transcript.faults and transcript.token_exact
