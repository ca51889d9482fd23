"""What is said in a benchmark: the engine's replies and a harness's conversations.

Replies depend on nothing but the last message, so that a client knows what it will be told without
reading it, and the time spent on reading replies is not the engine's or the gateway's.
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import Any

import orjson

Message = dict[str, Any]

VOCABULARY = 151_000
START, END = 151_644, 151_645
TALK, CALL, HEREDOC = "talk", "call", "heredoc"  # how a message starts that is answered with that
CHARACTERS_PER_TOKEN = 4
SAYING = "I will run the next command now and report. " * 4
COMMAND = (
    "cd /work && grep -rn 'def total' src | head -20 && python3 -m pytest -q tests/test_shop.py"
)
TOOL = {
    "type": "function",
    "function": {
        "name": "bash",
        "description": "Run a command.",
        "parameters": {
            "type": "object",
            "properties": {"command": {"type": "string"}},
            "required": ["command"],
        },
    },
}
_CANARY = re.compile(r"canary-\w+")
_BODY_CHARACTERS = 20_000


def answer(asked: str) -> Message:
    """The assistant message that the engine says to a last message.

    One that starts with ``TALK`` is answered with text alone, one that starts with ``HEREDOC``
    with a file of 20 KB, one that starts with ``canary-X`` with 1000 characters that name it, any
    other with text and a short command.
    """
    text, command = SAYING, COMMAND
    if asked.startswith(TALK):
        return {"role": "assistant", "content": text}
    if asked.startswith(HEREDOC):
        command = write_file(asked[:40])
    elif found := _CANARY.match(asked):
        text = f"{found[0]} " * (1000 // (len(found[0]) + 1) + 1)
    number = zlib.crc32(asked[:64].encode())
    function = {"name": "bash", "arguments": orjson.dumps({"command": command}).decode()}
    call = {"id": f"call_{number:08x}", "type": "function", "function": function}
    return {"role": "assistant", "content": text, "tool_calls": [call]}


@lru_cache(maxsize=64)
def write_file(label: str) -> str:
    """A shell command that writes a Python file of 20 KB."""
    return f"cat > src/shop/report.py <<'EOF'\n{python_source(label)}EOF"


@lru_cache(maxsize=512)
def python_source(label: str, characters: int = _BODY_CHARACTERS) -> str:
    """Ordinary code of about that length, with paths and URLs in its text."""
    lines = [f'"""Report {label}: see https://example.org/docs and tests/test_shop.py."""', ""]
    lines += ["import csv", "from pathlib import Path", ""]
    size, number = sum(map(len, lines)), 0
    while size < characters:
        number += 1
        block = (
            f"\ndef column_{number}(rows, name={number}):\n"
            f'    """Sum of one column; {label}."""\n'
            f'    kept = [row["c{number}"] for row in rows if row.get("kind") != "x{number}"]\n'
            f"    total = sum(int(value) for value in kept) * {number} + len(kept)\n"
            f'    return {{"column": name, "total": total, "mean": total / max(len(kept), 1)}}\n'
        )
        lines.append(block)
        size += len(block)
    return "\n".join(lines) + "\n"


def shell_source(label: str, characters: int = _BODY_CHARACTERS) -> str:
    """An ordinary shell script of about that length: as many commands and as much grammar as the
    median of 98 scripts that come with Debian 12, git, gettext and perf (200 commands and 2,700
    nodes in 20 KB)."""
    lines = ["#!/usr/bin/env bash", "set -euo pipefail", f'LABEL="{label}"', ""]
    size, number = sum(map(len, lines)), 0
    while size < characters:
        number += 1
        block = f"""
# Part {number} is packed by itself, since it is the one that other parts are built from; see
# https://example.org/docs/parts for what each of these steps leaves behind, and why.
pack_{number}() {{
  local name="$1" target="out/part_{number}"
  if [ ! -d "$target" ]; then
    mkdir -p "$target" || exit {number % 100 + 1}
  fi
  # Sources without a function count as well: they are listed with a line of their own.
  for source in src/shop/*.py; do
    grep -c "def " "$source" >> "$target/count.txt" || echo "no functions: $source"
  done
  case "$name" in
    fast) cp src/shop/unit_{number}.py "$target/" ;;
    *) sed -e 's/old_{number}/new_{number}/' src/shop/unit_{number}.py > "$target/part.py" ;;
  esac
  echo "packed ${{name}} for $LABEL into $target" >&2
}}
pack_{number} "fast"
"""
        lines.append(block)
        size += len(block)
    return "\n".join(lines) + "\n"


# --- tokens -------------------------------------------------------------------------------------


@lru_cache(maxsize=20_000)
def ids_of(text: str) -> list[int]:
    """Made-up ids of a text, one for each four characters; the same for the same text."""
    first = zlib.crc32(text.encode())
    count = max(1, len(text) // CHARACTERS_PER_TOKEN)
    return [(first + place * 7919) % VOCABULARY for place in range(count)]


def sampled_ids(message: Message) -> list[int]:
    """The ids that the engine samples to say a message."""
    call = message["tool_calls"][0]["function"] if message.get("tool_calls") else {}
    said = f"{message.get('content') or ''}{call.get('name', '')}{call.get('arguments', '')}"
    return [*ids_of(said), END]


def prompt_ids(messages: Sequence[Message]) -> list[int]:
    """Ids of a conversation; a longer one starts with those of a shorter, samples included."""
    ids: list[int] = []
    for message in messages:
        ids.append(START)
        if message["role"] == "assistant":
            ids += sampled_ids(message)
        else:
            ids += ids_of(str(message.get("content")))
            ids.append(END)
    ids.append(START)
    return ids


# --- conversations ------------------------------------------------------------------------------


def opening(name: str, characters: int, *, label: str = CALL) -> list[Message]:
    """The first messages of a session."""
    system = f"You are a coding agent. {name} ".ljust(characters, "s")
    return [{"role": "system", "content": system}, {"role": "user", "content": f"{label} {name}"}]


def grow(messages: list[Message], result: str) -> None:
    """Add the reply to the last message, and what comes after it: its call's result, or what a
    person says."""
    said = answer(str(messages[-1]["content"]))
    if calls := said.get("tool_calls"):
        messages += [said, {"role": "tool", "tool_call_id": calls[0]["id"], "content": result}]
    else:
        messages += [said, {"role": "user", "content": result}]


def results(label: str, characters: int) -> Iterator[str]:
    """Texts that follow replies, each unlike the others."""
    number = 0
    while True:
        yield f"{label}{number:06d} ".ljust(characters, "r")
        number += 1
