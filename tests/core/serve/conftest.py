"""Small task bundles, the tools of five harnesses, and a harness of one screen to play with."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
import sysconfig
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import aiohttp
import pytest
from aiohttp import web

from harness_adapters.serve.scripted.app import build_app
from harness_adapters.serve.scripted.conversation import from_chat
from harness_adapters.serve.scripted.plays import parse_play
from harness_adapters.serve.scripted.policy import Policy
from harness_adapters.tasks.bundle import load_task
from harness_adapters.testing.naive import LOGS, RUN_TESTS, mentions, naive_score
from harness_adapters.types import Task

Json = dict[str, Any]

# --- bundles ------------------------------------------------------------------------------------

PRICES = '''\
"""Prices of a shop."""


def rounded(cents):
    return int(cents)


def with_tax(cents, percent):
    return rounded(cents * (100 + percent) / 100)


def total(items):
    return sum(with_tax(cents, percent) for cents, percent in items)
'''
REPAIR = {
    "instruction.md": "The totals of the shop are off by a cent. Find out why and repair it.\n",
    "task.toml": '[metadata.harness_adapters]\nkind = "repair"\ncluster = "shop"\n',
    "environment/Dockerfile": "FROM python:3.11-slim\nCOPY repo/ /work/\nWORKDIR /work\n",
    "environment/repo/shop/__init__.py": "from shop.prices import total, with_tax\n",
    "environment/repo/shop/prices.py": PRICES,
    "environment/repo/tests/test_shop.py": (
        "from shop import total, with_tax\n\n\n"
        "def test_tax():\n    assert with_tax(200, 10) == 220\n\n\n"
        "def test_total():\n    assert total([(199, 19), (5, 10)]) == 237 + 6\n"
    ),
    "solution/files/shop/prices.py": PRICES.replace("int(cents)", "int(cents + 0.5)"),
    "solution/solve.sh": "#!/bin/sh\ncp -r /solution/files/. /work/\n",
    "tests/test_hidden.py": "def test_more(subject):\n    pass\n",
}
QA = {
    "instruction.md": "How many birds are on Elm in birds.csv? Write it to answer.txt.\n",
    "task.toml": '[metadata.harness_adapters]\nkind = "qa"\ncluster = "birds"\n',
    "environment/Dockerfile": "FROM python:3.11-slim\nCOPY data/ /work/\nWORKDIR /work\n",
    "environment/data/birds.csv": "island,species,count\nElm,tern,611\nOak,gull,20\nElm,auk,202\n",
    "solution/solve.sh": "#!/bin/sh\npython3 /solution/solve.py\n",
    "solution/solve.py": (
        "import csv\n\n"
        'rows = csv.DictReader(open("birds.csv"))\n'
        'count = sum(int(row["count"]) for row in rows if row["island"] == "Elm")\n'
        'open("answer.txt", "w").write(f"{count}\\n")\n'
    ),
    "tests/expected.json": '{"type": "number", "value": 813}',
}


def write_bundle(folder: Path, files: Mapping[str, str]) -> Task:
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    return load_task(folder)


@pytest.fixture
def repair(tmp_path: Path) -> Task:
    return write_bundle(tmp_path / "tasks" / "repair-shop", REPAIR)


@pytest.fixture
def qa(tmp_path: Path) -> Task:
    return write_bundle(tmp_path / "tasks" / "qa-birds", QA)


# --- tools --------------------------------------------------------------------------------------


def _tool(name: str, required: Sequence[str], **properties: Any) -> Json:
    schemas = {
        key: value if isinstance(value, dict) else {"type": "string", "description": value}
        for key, value in properties.items()
    }
    parameters = {"type": "object", "properties": schemas, "required": list(required)}
    return {"type": "function", "function": {"name": name, "parameters": parameters}}


_NUMBER, _FLAG = {"type": "number"}, {"type": "boolean"}
_EDIT = {
    "type": "object",
    "properties": {"oldText": {"type": "string"}, "newText": {"type": "string"}},
}
_ABSOLUTE = "The absolute path to the file"

TOOLS: dict[str, list[Json]] = {
    "pi": [
        _tool("read", ["path"], path="Path (relative or absolute)", offset=_NUMBER, limit=_NUMBER),
        _tool("bash", ["command"], command="Bash command", timeout=_NUMBER),
        _tool(
            "edit",
            ["path", "edits"],
            path="Path (relative or absolute)",
            edits={"type": "array", "items": _EDIT},
        ),
        _tool("write", ["path", "content"], path="Path (relative or absolute)", content="Content"),
    ],
    "opencode": [
        _tool("bash", ["command", "description"], command="Command", description="Five words"),
        _tool("read", ["filePath"], filePath=_ABSOLUTE, offset=_NUMBER, limit=_NUMBER),
        _tool(
            "edit",
            ["filePath", "oldString", "newString"],
            filePath=_ABSOLUTE,
            oldString="Text",
            newString="Text",
            replaceAll=_FLAG,
        ),
        _tool("write", ["content", "filePath"], content="Content", filePath=_ABSOLUTE),
        _tool("glob", ["pattern"], pattern="Pattern"),
    ],
    "hermes": [
        _tool("terminal", ["command"], command="Command", background=_FLAG, timeout=_NUMBER),
        _tool("read_file", ["path"], path="Path (absolute, relative, or ~/)", limit=_NUMBER),
        _tool("write_file", ["path", "content"], path="Path", content="Content"),
        _tool(
            "patch",
            ["mode"],
            mode={"type": "string", "enum": ["replace", "patch"]},
            path="Path",
            old_string="Text",
            new_string="Text",
            patch="Patch",
        ),
    ],
    "claude": [
        _tool("Bash", ["command"], command="Command", description="What it does", timeout=_NUMBER),
        _tool("Read", ["file_path"], file_path=_ABSOLUTE, offset=_NUMBER, limit=_NUMBER),
        _tool(
            "Edit",
            ["file_path", "old_string", "new_string"],
            file_path=_ABSOLUTE,
            old_string="Text",
            new_string="Text",
            replace_all=_FLAG,
        ),
        _tool("Write", ["file_path", "content"], file_path=_ABSOLUTE, content="Content"),
    ],
    "codex": [
        _tool(
            "shell",
            ["command"],
            command={"type": "array", "items": {"type": "string"}},
            workdir="Folder",
        ),
        _tool("update_plan", ["plan"], plan={"type": "array"}),
    ],
}


@pytest.fixture(params=list(TOOLS))
def tools(request: pytest.FixtureRequest) -> list[Json]:
    return TOOLS[request.param]


@pytest.fixture
def pi_tools() -> list[Json]:
    return TOOLS["pi"]


# --- a harness ----------------------------------------------------------------------------------


@dataclass
class Playground:
    """A harness and a naive grader on plain folders; the grader's places lie below ``root``."""

    root: Path
    task: Task
    calls: list[Json] = field(default_factory=list)
    bodies: list[Json] = field(default_factory=list)

    def __post_init__(self) -> None:
        copies = {"environment/repo": "work", "environment/data": "work"}
        copies |= {"tests": "tests", "solution": "solution"}
        for source, target in copies.items():
            for path in (self.task.path / source).rglob("*"):
                if path.is_file():
                    copy = self.root / target / path.relative_to(self.task.path / source)
                    copy.parent.mkdir(parents=True, exist_ok=True)
                    copy.write_bytes(path.read_bytes())
        (self.root / LOGS.lstrip("/")).mkdir(parents=True)
        (self.root / "home").mkdir()
        python = self.root / "bin" / "python3"
        python.parent.mkdir()
        # The interpreter itself and no virtual environment, which would switch user sites off.
        base = getattr(sys, "_base_executable", sys.executable)
        python.write_text(f'#!/bin/sh\nexec {base} "$@"\n')
        python.chmod(0o755)

    @property
    def work(self) -> Path:
        return self.root / "work"

    def play(self, play: str, tools: list[Json], *, most: int = 40, pretend: bool = False) -> str:
        """Run a session to its final text, executing each call unless it only pretends to."""
        policy = Policy([self.task], parse_play(play))
        messages: list[Json] = [
            {"role": "system", "content": f"Work well.\nCurrent working directory: {self.work}"},
            {"role": "user", "content": f'"{self.task.instruction}"\n'},
        ]
        for _ in range(most):
            body = {"messages": list(messages), "tools": tools}
            self.bodies.append(body)
            reply = policy.reply(from_chat(body))
            if not reply.calls:
                return reply.text
            (call,) = reply.calls
            function = {"name": call.name, "arguments": call.arguments}
            messages.append(
                {
                    "role": "assistant",
                    "content": reply.text,
                    "tool_calls": [{"id": "c", "type": "function", "function": function}],
                }
            )
            self.calls.append(function)
            result = "fine" if pretend else self.execute(call.name, call.arguments)
            messages.append({"role": "tool", "tool_call_id": "c", "content": result})
        return ""

    def execute(self, name: str, raw: str) -> str:
        arguments = json.loads(self._localised(raw))
        if name.lower() in ("bash", "shell", "terminal"):
            command = arguments["command"]
            argv = command if isinstance(command, list) else ["bash", "-c", command]
            return self._run(argv)[1]
        given = next(
            arguments[key] for key in ("path", "file_path", "filePath") if key in arguments
        )
        path: Path = self.work / given
        if name.lower().startswith("read"):
            return path.read_text()
        if name.lower().startswith("write"):
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(arguments["content"])
            return "written"
        text = path.read_text()
        edits = arguments.get("edits") or [arguments]
        for edit in edits:
            old = next(value for key, value in edit.items() if key.lower().startswith("old"))
            new = next(value for key, value in edit.items() if key.lower().startswith("new"))
            assert path.read_text().count(old) == 1
            text = text.replace(old, new)
        path.write_text(text)
        return "edited"

    def naive_score(self) -> float:
        """What the grader gives that does everything wrong."""
        if self.task.kind == "qa":
            answer = self.work / "answer.txt"
            gold = json.loads((self.task.path / "tests/expected.json").read_text())["value"]
            passed = answer.exists() and mentions(answer.read_text(), gold)
        else:
            passed = self._run(list(RUN_TESTS))[0] == 0
        reward = self.root / LOGS.lstrip("/") / "reward.json"
        return naive_score(reward=reward.read_text() if reward.exists() else None, passed=passed)

    def _localised(self, text: str) -> str:
        for place in (LOGS, "/tests/expected", "/solution/"):
            text = text.replace(place, f"{self.root}{place}")
        return text

    def _run(self, argv: list[str]) -> tuple[int, str]:
        env = {
            "PATH": f"{self.root}/bin:/usr/local/bin:/usr/bin:/bin",
            "HOME": str(self.root / "home"),
            "PYTHONPATH": sysconfig.get_path("purelib"),
            "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
            "PYTHONDONTWRITEBYTECODE": "1",
            "HA_PLAYGROUND": str(self.root),
        }
        done = subprocess.run(
            argv, cwd=self.work, env=env, text=True, capture_output=True, timeout=60, check=False
        )
        return done.returncode, done.stdout + done.stderr

    def end(self) -> None:
        """End what a cheat left running."""
        mark = f"HA_PLAYGROUND={self.root}".encode()
        for folder in Path("/proc").glob("[0-9]*"):
            try:
                if mark in (folder / "environ").read_bytes().split(b"\0"):
                    os.kill(int(folder.name), signal.SIGKILL)
            except (OSError, ProcessLookupError):
                continue


@pytest.fixture
def playground(tmp_path: Path) -> Iterator[Callable[[Task], Playground]]:
    made: list[Playground] = []

    def make(task: Task) -> Playground:
        made.append(Playground(tmp_path / f"root{len(made)}", task))
        return made[-1]

    yield make
    for one in made:
        one.end()


# --- the engine over HTTP -------------------------------------------------------------------------


@pytest.fixture
def engine() -> Callable[..., Any]:
    """``async with engine(tasks, play) as http``: a client whose base is the engine."""

    @asynccontextmanager
    async def serve(
        tasks: Sequence[Task], play: str = "oracle", *, strict: bool = False
    ) -> AsyncIterator[aiohttp.ClientSession]:
        app = build_app(Policy(tasks, parse_play(play)), model="scripted", strict=strict)
        runner = web.AppRunner(app)
        await runner.setup()
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        url = f"http://127.0.0.1:{runner.addresses[0][1]}"
        try:
            async with aiohttp.ClientSession(url) as http:
                yield http
        finally:
            await runner.cleanup()
            await asyncio.sleep(0)

    return serve
