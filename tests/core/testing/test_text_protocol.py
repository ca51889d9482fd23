"""A harness that speaks in text and declares no tools: what it is asked, and what is skipped."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from harness_adapters import Ended, FileEntry, HarnessExit, Session, Toolchain
from harness_adapters.harness.headless import HOME
from harness_adapters.testing import HarnessDriverContract, Run, Say, Step
from harness_adapters.testing.harness import Play

AGENT = """\
import json, os, re, subprocess, sys, urllib.request
messages = [{"role": "user", "content": sys.argv[1]}]
while True:
    body = json.dumps({"model": os.environ["MODEL"], "messages": messages}).encode()
    headers = {"authorization": "Bearer " + os.environ["KEY"]}
    request = urllib.request.Request(os.environ["URL"], body, headers)
    with urllib.request.urlopen(request) as response:
        message = json.load(response)["choices"][0]["message"]
    messages.append(message)
    command = re.search("```sh\\\\n(.*?)\\\\n```", message["content"], re.S)
    if command is None:
        break
    done = subprocess.run(command[1], shell=True, capture_output=True, text=True)
    messages.append({"role": "user", "content": done.stdout})
"""


class TextDriver:
    auxiliary = ()

    async def install(self) -> Toolchain:
        return Toolchain(version="1")

    async def prepare(self, session: Session) -> None:
        await session.sandbox.put({"agent.py": FileEntry(content=AGENT.encode())}, at=HOME)

    async def run(self, session: Session) -> HarnessExit:
        endpoint = session.endpoint
        done = await session.sandbox.exec(
            ["python3", session.sandbox.path(f"{HOME}/agent.py"), session.task.instruction],
            env={
                "MODEL": endpoint.model,
                "KEY": endpoint.api_key,
                "URL": f"{endpoint.base_url}/v1/chat/completions",
            },
            cwd=session.task.workdir,
            timeout=session.limits.session_seconds,
        )
        ended = Ended.ERROR if done.returncode else Ended.COMPLETED
        return HarnessExit(ended=ended, detail=done.stderr.decode()[-300:].replace("\n", " "))


class Contract(HarnessDriverContract):
    name = "text"
    tool_calls = False

    def speak(self, step: Run) -> Step:
        return Say(f"I will run:\n```sh\n{step.command}\n```")


def play(tmp_path: Path) -> Play:
    fixture = HarnessDriverContract.play
    made = fixture.__wrapped__(Contract(), TextDriver(), tmp_path)
    return made  # type: ignore[no-any-return]


def test_its_commands_run(tmp_path: Path) -> None:
    Contract().test_two_turns_make_a_file(play(tmp_path))


def test_its_conversation_only_grows(tmp_path: Path) -> None:
    Contract().test_the_conversation_only_grows(play(tmp_path))


def test_what_needs_tool_calls_is_skipped_with_a_reason(tmp_path: Path) -> None:
    with pytest.raises(pytest.skip.Exception, match="no tool calls"):
        Contract().test_a_blocked_call_never_runs(play(tmp_path))


def test_a_class_that_does_not_say_how_it_speaks() -> None:
    with pytest.raises(NotImplementedError, match=re.escape("`speak`")):
        HarnessDriverContract().speak(Run("ls"))
