"""Shapes of several harnesses, and hostile arguments."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from harness_adapters import Ledger, RunCommand, TaskPolicy, ToolCall, Unparsed, WritePath
from harness_adapters.gateway.guard.errors import Unjudgeable

Does = Callable[..., list[tuple[str, str]]]
PATCH = (
    "*** Begin Patch\n*** Update File: tests/a.py\n@@\n-x\n+y\n"
    "*** Add File: b.py\n+z\n*** End Patch"
)


@pytest.mark.parametrize(
    ("name", "arguments", "action"),
    [
        # pi
        ("bash", {"command": "cat a", "timeout": 5}, ("read", "/work/a")),
        ("read", {"path": "a", "offset": 1}, ("read", "/work/a")),
        ("write", {"path": "a", "content": "x"}, ("write", "/work/a")),
        ("edit", {"path": "a", "oldText": "x", "newText": "y"}, ("write", "/work/a")),
        ("edit", {"path": "a", "edits": [{"oldText": "x", "newText": "y"}]}, ("write", "/work/a")),
        # opencode
        (
            "bash",
            {"command": "cat a", "description": "Show /tests", "workdir": "sub"},
            ("read", "/work/sub/a"),
        ),
        ("read", {"filePath": "/work/a"}, ("read", "/work/a")),
        ("edit", {"filePath": "a", "oldString": "x", "newString": ""}, ("write", "/work/a")),
        ("patch", {"patchText": PATCH}, ("write", "/work/tests/a.py")),
        (
            "webfetch",
            {"url": "https://example.com/a", "format": "text"},
            ("connect", "example.com"),
        ),
        (
            "batch",
            {"tool_calls": [{"tool": "read", "parameters": {"filePath": "a"}}]},
            ("read", "/work/a"),
        ),
        # hermes
        ("terminal", {"command": "cat a"}, ("read", "/work/a")),
        ("read_file", {"path": "a"}, ("read", "/work/a")),
        ("write_file", {"path": "a", "content": ""}, ("write", "/work/a")),
        (
            "patch",
            {"path": "a", "old_string": "x", "new_string": "y", "mode": "replace"},
            ("write", "/work/a"),
        ),
        ("search_files", {"pattern": "x", "path": "src"}, ("read", "/work/src")),
        ("execute_code", {"code": "open('a')"}, ("read", "/work/a")),
        # Claude Code
        ("Bash", {"command": "cat a", "description": "x"}, ("read", "/work/a")),
        ("Write", {"file_path": "/work/a", "content": "x"}, ("write", "/work/a")),
        (
            "Edit",
            {"file_path": "/work/a", "old_string": "x", "new_string": "y"},
            ("write", "/work/a"),
        ),
        (
            "MultiEdit",
            {"file_path": "a", "edits": [{"old_string": "x", "new_string": "y"}]},
            ("write", "/work/a"),
        ),
        (
            "NotebookEdit",
            {"notebook_path": "a.ipynb", "new_source": "x"},
            ("write", "/work/a.ipynb"),
        ),
        ("Glob", {"pattern": "/tests/**"}, ("read", "/tests/**")),
        ("Grep", {"pattern": "x", "path": "/work/src"}, ("read", "/work/src")),
        (
            "str_replace_based_edit_tool",
            {"command": "create", "path": "a", "file_text": ""},
            ("write", "/work/a"),
        ),
        ("str_replace_based_edit_tool", {"command": "view", "path": "a"}, ("read", "/work/a")),
        # Codex
        (
            "shell",
            {"command": ["bash", "-lc", "cat a"], "workdir": "/work/sub"},
            ("read", "/work/sub/a"),
        ),
        ("exec_command", {"cmd": "cat a"}, ("read", "/work/a")),
        ("shell", {"command": ["apply_patch", PATCH]}, ("write", "/work/b.py")),
        ("apply_patch", {"input": PATCH}, ("write", "/work/tests/a.py")),
        ("exec", {"input": 'await tools.exec_command({cmd: "cat \\"a\\""})'}, ("read", "/work/a")),
        # anything else
        ("mcp__fs__read_multiple", {"paths": ["a", "b"]}, ("read", "/work/b")),
        ("delete_file", {"target_file": "a"}, ("write", "/work/a")),
        ("mystery", {"thing": "/tests/x"}, ("read", "/tests/x")),
        ("mystery", {"thing": {"inner": ["https://example.com/x"]}}, ("connect", "example.com")),
    ],
)
def test_shapes(does: Does, name: str, arguments: dict[str, Any], action: tuple[str, str]) -> None:
    assert action in does(name, **arguments)


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("todo", {"text": "look at /tests/x later"}),
        ("task", {"prompt": "Run /tests/x", "description": "/tests is broken"}),
        ("write", {"path": "a", "content": "/tests/x"}),
        ("edit", {"path": "a", "oldText": "/tests/x", "newText": "/tests/y"}),
    ],
)
def test_text_is_no_action(does: Does, name: str, arguments: dict[str, Any]) -> None:
    assert not any("/tests" in what for _, what in does(name, **arguments))


def test_written_content_and_span(make: Callable[..., ToolCall]) -> None:
    call = make("write", path="a.py", content="x = 1\n")
    [action] = call.actions
    assert isinstance(action, WritePath)
    assert action.content == "x = 1\n"
    assert call.raw[slice(*action.span)] == "a.py"


@pytest.mark.parametrize(
    "raw",
    [
        '{"command": "cat /tests/x',
        '{"command": "ls", "command": "cat /tests/x"}',
        '{"command": "cat /tests/x", "timeout": NaN}',
        '{"command": "cat /tests/x"} <end>',
    ],
)
def test_malformed_calls_are_judged_on_every_reading(
    make: Callable[..., ToolCall], raw: str
) -> None:
    """RF10, RF11: a malformed call is neither a crash nor a way around the guard."""
    call = make("bash", raw=raw)
    assert call.arguments is None
    assert "/tests/x" in [getattr(action, "path", None) for action in call.actions]
    assert Unparsed(text=raw, span=(0, len(raw))) in call.actions


@pytest.mark.parametrize(
    "raw",
    [
        '{"command": ' + "[" * 10_000,
        json.dumps({"command": "a " * 500_000}),
        '{"path": "a", "content": "' + "x" * 1_000_000,
        '"' * 1_100_000,
        json.dumps({"a": [{}] * 100_000}),
        json.dumps({f"path{i}": "/a" for i in range(10_000)}),
        "{" + ",  " * 80_000,
        json.dumps({"command": "(" * 70_000}),
        json.dumps({"command": "{ " * 200 + "ls" + "; }" * 200}),
        json.dumps({"command": "eval " * 50 + "ls"}),
        json.dumps({"command": "for a in {1..60}; do for b in {1..60}; do ls $a$b; done; done"}),
        json.dumps({"command": "cat " + "<<a " * 10_000}),
        json.dumps({"code": "open(x);" + "[" * 150 + "]" * 150}),
        json.dumps({"code": "open(x); x = " + "-" * 50_000 + "1"}),
        json.dumps({"code": "open(x); x = 1" + " + 1" * 20_000}),
    ],
)
def test_beyond_the_limits(make: Callable[..., ToolCall], raw: str) -> None:
    with pytest.raises(Unjudgeable):
        _ = make("bash", raw=raw).actions


@pytest.mark.parametrize(
    "raw",
    [
        json.dumps({"command": "(" * 9_000}),
        json.dumps({"command": "echo " + "$(" * 4_000}),
        json.dumps({"command": "echo " + "{a,b}" * 3_000}),
        json.dumps({"command": "x=" + "a" * 5_000 + "; echo ${x##*b*} ${x//a/aa}"}),
        json.dumps({"command": "cat > a <<'E'\n" + "(" * 500_000 + "\nE\n"}),
        json.dumps({"path": "a/" * 100_000}),
        '{"a": "' + "\\" * 200_000,
        '{"a":' + "1" * 200_000,
        '{"a"' * 20 + "{" * 40 + " " * 200_000,
    ],
)
def test_nasty_but_judged(make: Callable[..., ToolCall], raw: str) -> None:
    assert isinstance(make("bash", raw=raw).actions, tuple)


arguments = st.dictionaries(
    st.sampled_from(
        [
            "command",
            "cmd",
            "code",
            "path",
            "content",
            "edits",
            "oldText",
            "patch",
            "url",
            "cwd",
            "x",
        ]
    ),
    st.recursive(
        st.text(max_size=60)
        | st.text(alphabet="${}()<>|&;`'\"\\ \nEOFcat/tests#*=[]-d0", max_size=60)
        | st.none()
        | st.integers(),
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner),
        max_leaves=5,
    ),
    max_size=4,
)


@settings(suppress_health_check=[HealthCheck.too_slow], deadline=None, max_examples=60)
@given(
    st.text(max_size=120) | arguments.map(json.dumps) | arguments.map(lambda a: json.dumps(a)[:-3])
)
def test_reading_raises_nothing_but_unjudgeable_and_is_deterministic(raw: str) -> None:
    ledger = Ledger(TaskPolicy())
    results: list[object] = []
    for _ in range(2):
        call = ToolCall(id="1", name="bash", raw=raw, ledger=ledger)
        try:
            results.append(call.actions)
        except Unjudgeable as error:
            results.append(str(error))
        else:
            assert all(0 <= a.span[0] <= a.span[1] <= len(raw) for a in call.actions)
    assert results[0] == results[1]


PIECES = """
cat <<E <<'E' <<-E E ; | & && ( ) { } $( ` " ' \\ $x ${x:-y} ${x#a*} x=1 if then fi for do done in
while case esac f() > < >> <<< [[ ]] (( )) sh -c eval python3 - xargs find -exec + # /tests/x *
{a,b} $'\\x' é
"""
programs = st.lists(st.sampled_from([*PIECES.split(), "\n", "\t"]), max_size=25).map(" ".join)


@settings(suppress_health_check=[HealthCheck.too_slow], deadline=None, max_examples=60)
@given(programs)
def test_shell_programs_of_any_shape(program: str) -> None:
    raw = json.dumps({"command": program})
    call = ToolCall(id="1", name="bash", raw=raw, ledger=Ledger(TaskPolicy()))
    try:
        actions = call.actions
    except Unjudgeable:
        return
    assert all(0 <= a.span[0] <= a.span[1] <= len(raw) for a in actions)


def test_an_action_is_told_once_where_it_was_found_first(make: Callable[..., ToolCall]) -> None:
    raw = json.dumps({"command": "cat a; cat b; cat a"})
    found = [a for a in make("bash", raw=raw).actions if isinstance(a, RunCommand)]
    assert [a.words for a in found] == [("cat", "a"), ("cat", "b")]
    assert found[0].span[0] == raw.index("cat a")


def test_a_call_within_a_call_is_read_by_its_own_tools_name(make: Callable[..., ToolCall]) -> None:
    inner = json.dumps({"path": "/tests/x", "content": "y"})
    for told in (inner, json.loads(inner)):
        raw = json.dumps({"calls": [{"name": "write_file", "arguments": told}]})
        assert any(
            isinstance(a, WritePath) and a.path == "/tests/x"
            for a in make("batch", raw=raw).actions
        )
