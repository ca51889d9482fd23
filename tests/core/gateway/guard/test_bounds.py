"""Hostile arguments end soon: judged, or beyond a fixed limit. Limits count steps, not seconds."""

from __future__ import annotations

import json
import time
from typing import Any

import pytest

from harness_adapters import Ledger, TaskPolicy, ToolCall
from harness_adapters.gateway.guard.errors import Unjudgeable
from harness_adapters.gateway.guard.shell import load_grammar

# Twenty times what was measured on an idle machine: a blow-up costs seconds.
_SECONDS = 1.0
SHELL = {
    "commands": "a;" * 32_000,
    "pipes": "a|" * 20_000 + "a",
    "doubling": "a=x;" + "a=$a$a;" * 2000,
    "errors": ")" * 30_000,
    "quotes": '"' * 60_000,
    "functions": "".join(f"f{i}(){{ f{i + 1};f{i + 1}; }};" for i in range(30)) + "f0",
    "loops": "for a in {1..256}; do for b in {1..256}; do echo $a$b; done; done",
    "suffixes": "a=" + "a" * 500 + ";" + "echo ${a##*b*c};" * 1900,
    "replacements": "a=" + "a" * 60_000 + ";" + "b=${a//a/bb};" * 500,
    "here-documents": "cat <<A\nx\nA\n" * 6000,
    "redirects": "> a " * 10_000,
    "ranges": "echo {1..9999}{1..9999};" * 100,
    "expansions": 'echo "' + "$a" * 20_000 + '"',
    "starters": "do " * 900 + "x",
    "looking ahead": "=~ " * 1333,
    "garbage": "function f " * 2000,
    "garbage in a here-document": "cat <<A\n$" + "^==)" * 15_000 + "\nA\n",
    "garbage after a good beginning": "echo a\n" * 800 + "echo ${x!y}\n" * 5000,
    "expansions inside expansions": "echo a\n" * 800 + "${\n" * 19_000,
    "many pieces of garbage": "bash -c '"
    + "))" * 100
    + "';"
    + ("bash -c '" + "((|" * 60 + "';") * 40,
}
CODE = {
    "doubling": "open(x);x='a'\n" + "x=x+x\n" * 9000,
    "replacing": "open(x)\nx='aaaaaaaa'\n" + "x=x.replace('a','aaaaaaaa')\n" * 3000,
    "nested calls": "import os\n" + "os.system(" * 45 + "[" + "'a'," * 7000 + "]" + ")" * 45,
    "functions": "def f():\n open(1)\n" * 7000,
    "recursion": "def f(x):\n" + "  f('a')\n" * 300 + "  open(x)\nf('a')\n",
    "cold": "def f():\n x\n" * 12_000 + "open(x)",
}  # fmt: skip


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        *(
            pytest.param("bash", {"command": text}, id=f"shell-{key}")
            for key, text in SHELL.items()
        ),
        *(pytest.param("code", {"code": text}, id=f"code-{key}") for key, text in CODE.items()),
    ],
)
def test_it_ends_soon(ledger: Ledger, name: str, arguments: dict[str, Any]) -> None:
    load_grammar()
    start = time.process_time()
    try:
        _ = ToolCall(id="1", name=name, raw=json.dumps(arguments), ledger=ledger).actions
    except Unjudgeable:
        pass
    assert time.process_time() - start < _SECONDS


@pytest.mark.parametrize(
    "command",
    [
        SHELL["starters"],
        SHELL["looking ahead"],
        SHELL["garbage"],
        SHELL["garbage in a here-document"],
        SHELL["garbage after a good beginning"],
        SHELL["expansions inside expansions"],
        SHELL["many pieces of garbage"],
        ")" * 2048,
    ],
)
def test_what_is_too_much_is_unjudgeable_each_time(command: str, ledger: Ledger) -> None:
    raw = json.dumps({"command": command})
    for _ in range(2):
        with pytest.raises(Unjudgeable):
            _ = ToolCall(id="1", name="bash", raw=raw, ledger=ledger).actions


LINE = 'for f in src/*.py; do grep -c "def " "$f" >> out/{0}.txt || echo "none: $f"; done'
LINES = "\n".join(LINE.format(i) for i in range(240))  # 20 KB


@pytest.mark.parametrize(
    ("command", "path"),
    [
        pytest.param(LINES + "\ncat /tests/last", "/tests/last", id="statements"),
        pytest.param(
            "f() {\n" + LINES + "\ncat /tests/last\n}\nf", "/tests/last", id="one function"
        ),
        pytest.param(
            f"cat > a <<END\n$HOME\n{LINES * 10}\nEND\ncat /tests/last", "/tests/last", id="text"
        ),
        pytest.param(
            f"cat > a <<'END'\n{LINES * 6}\nEND\ncat /tests/last", "/tests/last", id="raw"
        ),
        pytest.param(
            LINES + "\nif true; then echo (\ncat /tests/last", "/tests/last", id="one mistake"
        ),
        pytest.param(
            "sudo nohup env A=1 timeout 5 nice setsid cat /tests/last", "/tests/last", id="starters"
        ),
    ],
)
def test_honest_programs_are_read_to_their_end(command: str, path: str, ledger: Ledger) -> None:
    call = ToolCall(id="1", name="bash", raw=json.dumps({"command": command}), ledger=ledger)
    assert path in {getattr(action, "path", "") for action in call.actions}


@pytest.mark.parametrize("comments", range(40, 72))
def test_what_the_grammar_does_not_know_keeps_no_program_from_being_read(
    comments: int, ledger: Ledger
) -> None:
    """It tells at the very end that it was lost, as in a script that comes with git."""
    filled = "# a comment that is long enough to fill the program\n" * comments
    known = "case $heads in\n*)\n  cat /tests/last\n"
    unknown = "\t\t;;\n# Reject if this is not an octopus\n?*' '?*)"
    program = filled + known + unknown
    call = ToolCall(id="1", name="bash", raw=json.dumps({"command": program}), ledger=ledger)
    assert "/tests/last" in {getattr(action, "path", "") for action in call.actions}


def test_the_ledger_stays_small() -> None:
    ledger = Ledger(TaskPolicy())
    for i in range(40):
        urls = " ".join(f"https://h{i}-{j}.example/ NAME_{i}_{j}" for j in range(1000))
        ledger.see_request(tools=None, new_messages=[{"role": "user", "content": urls}])
    assert len(ledger.hosts) <= 10_000 and len(ledger.named) <= 10_000


def test_functions_and_aliases_live_on_in_a_shell_that_goes_on() -> None:
    for persistent, reads in ((True, True), (False, False)):
        ledger = Ledger(TaskPolicy(), persistent_shell=persistent)
        for command in ("peek() { cat /tests/$1; }; alias look='cat /tests/b'",):
            raw = json.dumps({"command": command})
            ledger.commit(ToolCall(id="1", name="bash", raw=raw, ledger=ledger))
        call = ToolCall(id="2", name="bash", raw='{"command": "peek a; look"}', ledger=ledger)
        paths = {getattr(action, "path", "") for action in call.actions}
        assert ({"/tests/a", "/tests/b"} <= paths) is reads
