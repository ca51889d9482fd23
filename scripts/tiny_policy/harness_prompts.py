"""What real harnesses put around a task, captured once from each (``prompts/NAME.json``).

A prompt holds the system message and the tools of one session as the model server received them,
with placeholders where sessions differ: the day, the model's name, the host's kernel.
"""

from __future__ import annotations

import datetime
import json
import random
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from sessions import Call

HARNESSES = ("pi", "opencode", "hermes")
FOLDER = Path(__file__).parent / "prompts"
_DAYS = {"pi": "%Y-%m-%d", "opencode": "%a %b %d %Y", "hermes": "%A, %B %d, %Y"}
_FIRST_DAY = datetime.date(2025, 1, 1).toordinal()
_TOOLS: Mapping[str, Mapping[str, str]] = {
    "pi": {"shell": "bash", "read": "read", "write": "write"},
    "opencode": {"shell": "bash", "read": "read", "write": "write"},
    "hermes": {"shell": "terminal", "read": "read_file", "write": "write_file"},
}


@dataclass(frozen=True, slots=True)
class Prompt:
    harness: str
    system: str
    tools: list[dict[str, Any]]

    def filled(self, dice: random.Random) -> str:
        """The system message as on some day, for some model, on some machine."""
        day = datetime.date.fromordinal(_FIRST_DAY + dice.randrange(2500))
        return (
            self.system.replace("{day}", day.strftime(_DAYS[self.harness]))
            .replace("{model}", _model_name(dice))
            .replace(
                "{kernel}", f"{dice.randint(4, 7)}.{dice.randint(0, 20)}.{dice.randint(0, 99)}"
            )
        )

    def instruction(self, text: str) -> str:
        return text.strip() if self.harness == "hermes" else text

    def call(self, call: Call) -> tuple[str, dict[str, Any], str]:
        """The tool's name, its arguments and its result as this harness has them."""
        arguments = dict(call.arguments)
        if self.harness == "opencode" and "path" in arguments:
            path = arguments.pop("path")
            arguments = {"filePath": path, **arguments}
        result = {"pi": _pi, "opencode": _opencode, "hermes": _hermes}[self.harness](call)
        return _TOOLS[self.harness][call.tool], arguments, result


@cache
def prompt(harness: str) -> Prompt:
    captured = json.loads((FOLDER / f"{harness}.json").read_text("utf-8"))
    return Prompt(harness, captured["system"], captured["tools"])


def _model_name(dice: random.Random) -> str:
    if dice.random() < 0.5:
        return "tiny-policy"
    run = "".join(dice.choices("0123456789ABCDEFGHJKMNPQRSTVWXYZ", k=24))
    return f"tiny-policy.{dice.choice(HARNESSES)}.01{run}.v{dice.randint(0, 60)}"


def _pi(call: Call) -> str:
    if call.tool == "write":
        return f"Successfully wrote {_size(call)} bytes to {call.arguments['path']}"
    if call.tool == "read":
        shown, total = _shown(call)
        # It counts the empty line after the last line's end as well.
        left, following = total + 1 - len(shown), len(shown) + 1
        return f"{''.join(shown)}\n[{left} more lines in file. Use offset={following} to continue.]"
    return call.output or "(no output)"


def _opencode(call: Call) -> str:
    if call.tool == "write":
        return "Wrote file successfully."
    if call.tool == "read":
        shown, total = _shown(call)
        lines = "".join(f"{number}: {line}" for number, line in enumerate(shown, 1))
        return (
            f"<path>/work/{call.arguments['path']}</path>\n<type>file</type>\n<content>\n{lines}\n"
            f"(Showing lines 1-{len(shown)} of {total}. Use offset={len(shown) + 1} to continue.)\n"
            "</content>"
        )
    return call.output or "(no output)"


def _hermes(call: Call) -> str:
    path = call.arguments.get("path")
    if call.tool == "write":
        result: dict[str, Any] = {
            "bytes_written": _size(call),
            "dirs_created": True,
            "lint": {"status": "skipped", "message": "No linter for .txt files"},
            "resolved_path": f"/work/{path}",
            "files_modified": [f"/work/{path}"],
        }
    elif call.tool == "read":
        shown, total = _shown(call)
        number = len(shown)
        lines = "".join(f"{index}|{line}" for index, line in enumerate(shown, 1))
        result = {
            "content": f"{lines}{number + 1}|",
            "total_lines": total,
            "file_size": len(call.output.encode()),
            "truncated": True,
            "hint": f"Use offset={number + 1} to continue reading "
            f"(showing 1-{number} of {total} lines)",
            "is_binary": False,
            "is_image": False,
        }
    else:
        result = {"output": call.output.rstrip("\n"), "exit_code": 0, "error": None}
    return json.dumps(result, ensure_ascii=False)


def _size(call: Call) -> int:
    return len(str(call.arguments["content"]).encode())


def _shown(call: Call) -> tuple[list[str], int]:
    lines = call.output.splitlines(keepends=True)
    return lines[: int(call.arguments["limit"])], len(lines)
