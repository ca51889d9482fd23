"""The generator: what it makes is valid, reproducible and means the same as the parent."""

from __future__ import annotations

import json
import posixpath
import subprocess
import sys
from pathlib import Path
from random import Random
from typing import Any

import pytest
from corpus_rows import Row, harness_of, load
from multiply import (
    ALLOWED,
    BLOCKED,
    command_of,
    commented_code,
    hidden_code,
    main,
    multiply,
    script_in_halves,
    script_then_run,
)

ROWS: list[Row] = [*load("dev"), *load("test")]
MORE: list[Row] = list(multiply(ROWS, seed=5, per_row=50))
PARENTS: dict[str, Row] = {row["id"]: row for row in ROWS}


def shell_row(harness: str, command: str) -> Row:
    """A row of that harness whose call runs a shell command, with another command put in."""
    row = next(r for r in ROWS if harness_of(r) == harness and command_of(r) is not None)
    new: Row = json.loads(json.dumps({**row, "prior_messages": []}))
    name, arguments = new["tool_call"]["name"], new["tool_call"]["arguments"]
    assert isinstance(arguments, dict)
    key = "cmd" if name == "exec_command" else "command"
    arguments[key] = ["bash", "-lc", command] if name == "shell" else command
    return new


def play(row: Row, folder: Path) -> bytes:
    """Carry out the row's earlier calls and then its own, /tmp being ``folder``; its output."""
    calls = [
        (call["function"]["name"], json.loads(call["function"]["arguments"]))
        for message in row["prior_messages"]
        for call in message.get("tool_calls", ())
    ]
    calls.append((row["tool_call"]["name"], row["tool_call"]["arguments"]))
    output = b""
    for name, arguments in calls:
        if "content" in arguments:
            path = next(v for k, v in arguments.items() if k != "content")
            Path(path.replace("/tmp", str(folder))).write_text(arguments["content"])
            continue
        call: Any = {**row, "tool_call": {"name": name, "arguments": arguments}}
        command = command_of(call)
        assert command is not None
        done = subprocess.run(
            ["bash", "-c", command.replace("/tmp", str(folder))],
            capture_output=True,
            stdin=subprocess.DEVNULL,
            check=True,
        )
        output = done.stdout
    return output


def test_same_seed_same_rows_in_any_order() -> None:
    some = ROWS[::40]
    forward = {row["id"]: row for row in multiply(some, seed=3, per_row=4)}
    backward = {row["id"]: row for row in multiply(reversed(some), seed=3, per_row=4)}
    assert forward == backward
    other = {row["id"]: row for row in multiply(some, seed=4, per_row=4)}
    assert other != forward


def test_children_keep_class_and_expectation_and_have_their_own_ids() -> None:
    assert len({row["id"] for row in MORE}) == len(MORE)
    assert not {row["id"] for row in MORE} & set(PARENTS)
    for row in MORE:
        parent = PARENTS[row["id"].partition("~")[0]]
        for key in ("class", "legit", "expected", "task_kind", "instruction", "declared_tools"):
            assert row[key] == parent[key]
        assert row["tier"] == ("judgement" if parent["tier"] == "judgement" else "hard")
        assert row["tool_call"]["name"] == parent["tool_call"]["name"]
        assert (row["tool_call"], row["prior_messages"]) != (
            parent["tool_call"],
            parent["prior_messages"],
        )


def test_parents_are_left_as_they_were() -> None:
    assert [*load("dev"), *load("test")] == ROWS


def test_every_rewrite_is_used() -> None:
    for rewrites, expected in ((BLOCKED, "block"), (ALLOWED, "allow")):
        names = {row["id"].partition("~")[2] for row in MORE if row["expected"] == expected}
        assert names == set(rewrites)


def test_per_row_is_a_limit() -> None:
    assert len(list(multiply(ROWS[:10], seed=0, per_row=2))) <= 20
    assert list(multiply(ROWS[:10], seed=0, per_row=0)) == []


def test_rewritten_commands_parse() -> None:
    """bash accepts every command of a sample, so nothing is blocked for being nonsense."""
    for row in MORE[::61]:
        command = command_of(row)
        if command is not None:
            subprocess.run(["bash", "-n", "-c", command], check=True, capture_output=True)


@pytest.mark.parametrize("harness", ["pi", "opencode", "hermes", "claude-code", "codex"])
@pytest.mark.parametrize("rewrite", [script_then_run, script_in_halves])
@pytest.mark.parametrize("seed", range(3))
def test_two_calls_do_what_one_did(harness: str, rewrite: Any, seed: int, tmp_path: Path) -> None:
    command = "for w in \"it's\" 'a  b'; do printf '%s\\n' \"$w\"; done\necho \\$HOME | rev"
    row = shell_row(harness, command)
    new = rewrite(row, Random(seed))
    assert new is not None and len(new["prior_messages"]) in (2, 4)
    assert play(new, tmp_path) == play(row, tmp_path) == b"it's\na  b\nEMOH$\n"


@pytest.mark.parametrize("rewrite", [hidden_code, commented_code])
def test_python_rewrites_print_the_same(rewrite: Any) -> None:
    code = "import math\nfor n in (1, 4):\n    print('äö', \"q'\", math.isqrt(n))\n"
    plain = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True)
    for seed in range(4):
        new = rewrite(code, Random(seed))
        done = subprocess.run([sys.executable, "-c", new], capture_output=True, check=True)
        assert done.stdout == plain.stdout


def test_raw_text_reads_back_as_the_parents_arguments() -> None:
    for row in MORE:
        if row["id"].endswith(("~raw_text", "~escaped_text")):
            text = row["tool_call"]["arguments"]
            assert isinstance(text, str)
            assert (
                json.loads(text) == PARENTS[row["id"].partition("~")[0]]["tool_call"]["arguments"]
            )


def test_winding_paths_lead_to_the_same_file() -> None:
    for row in MORE:
        if row["id"].endswith("~winding_path"):
            parent = PARENTS[row["id"].partition("~")[0]]["tool_call"]["arguments"]
            arguments = row["tool_call"]["arguments"]
            assert isinstance(arguments, dict) and isinstance(parent, dict)
            [key] = [key for key in arguments if arguments[key] != parent[key]]
            assert posixpath.normpath(arguments[key]).lstrip("/") == posixpath.normpath(
                parent[key]
            ).lstrip("/")


def test_command_prints_rows(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "rows.jsonl"
    file.write_text("".join(json.dumps(row) + "\n" for row in ROWS[:3]))
    main([str(file), "--seed", "1", "--per-row", "2"])
    lines = capsys.readouterr().out.splitlines()
    assert [json.loads(line) for line in lines] == list(multiply(ROWS[:3], seed=1, per_row=2))
