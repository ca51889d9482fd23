from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from harness_adapters.gateway.guard.errors import MAX_NESTING, MAX_RAW
from harness_adapters.gateway.guard.spans import locate, places_in_string
from harness_adapters.gateway.guard.strict_json import repairs, strict_object

# Other work on the machine must not fail a test.
calm = settings(deadline=None, max_examples=60)

json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(st.characters(exclude_categories=["Cs"])),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text("abc\"'\\ ", max_size=4), inner)
    ),
    max_leaves=12,
)


@calm
@given(st.dictionaries(st.text(st.characters(exclude_categories=["Cs"])), json_values))
def test_every_object_is_read_as_it_is(value: dict[str, Any]) -> None:
    assert strict_object(json.dumps(value)) == value
    assert strict_object(json.dumps(value, ensure_ascii=False, indent=1)) == value


@pytest.mark.parametrize(
    "raw",
    [
        "",
        "null",
        "[]",
        '"text"',
        '{"a": 1',
        '{"a": 1} trailing',
        '{"a": 1}{"a": 2}',
        '{"a": 1, "a": 2}',
        '{"b": {"a": 1, "a": 2}}',
        '{"a": NaN}',
        '{"a": -Infinity}',
        '{"a": 1e999}',
        '{"a": "\\ud800"}',
        '{"a": "line\nbreak"}',
        "{'a': 1}",
        '{"a": 1,}',
        '{"a": ' + "9" * 5000 + "}",
        '{"a": ' + "[" * MAX_NESTING + "]" * MAX_NESTING + "}",
        '{"a": "' + "x" * MAX_RAW + '"}',
    ],
)
def test_what_clients_read_differently_is_not_strict(raw: str) -> None:
    assert strict_object(raw) is None


def test_brackets_in_strings_are_no_nesting() -> None:
    text = "[" * 1000 + "{" * 1000
    assert strict_object(json.dumps({"content": text})) == {"content": text}


@pytest.mark.parametrize(
    ("raw", "reading"),
    [
        ("", {}),
        ('{"command": "cat /tests/x', {"command": "cat /tests/x"}),
        ('{"command": "cat /tests/x\\', {"command": "cat /tests/x"}),
        ('{"command": "cat /tests/x\\u00', {"command": "cat /tests/x"}),
        ('{"command": "cat \\\\', {"command": "cat \\"}),
        ('{"command": "cat /tests/x"', {"command": "cat /tests/x"}),
        ('{"command": "cat /tests/x", "time', {"command": "cat /tests/x"}),
        ('{"command": "cat /tests/x", "timeout":', {"command": "cat /tests/x"}),
        ('{"command": "cat /tests/x", "timeout": 1', {"command": "cat /tests/x", "timeout": 1}),
        (
            '{"edits": [{"oldText": "a", "newText": "b"}',
            {"edits": [{"oldText": "a", "newText": "b"}]},
        ),
        ('{"command": "ls"} and more', {"command": "ls"}),
        ('{"command": "ls"}{"command": "cat /tests/x"}', {"command": "ls"}),
        ('{"command": "ls"}{"command": "cat /tests/x"}', {"command": "cat /tests/x"}),
        ('{"command": "ls", "command": "cat /tests/x"}', {"command": "cat /tests/x"}),
        ('{"command": "cat /tests/x", "command": "ls"}', {"command": "cat /tests/x"}),
        ('{"command": "ls\ncat /tests/x"}', {"command": "ls\ncat /tests/x"}),
        ('{"command": "grep \\d /tests/x"}', {"command": "grep \\d /tests/x"}),
        ('{"command": "ls",}', {"command": "ls"}),
        ("{'command': 'ls'}", {"command": "ls"}),
        ('"{\\"command\\": \\"ls\\"}"', {"command": "ls"}),
        ('```json\n{"command": "ls"}\n```', {"command": "ls"}),
        ('{"command": "ls", "timeout": NaN}', None),
    ],
)
def test_readings_that_lax_clients_make(raw: str, reading: dict[str, Any] | None) -> None:
    """RF10: truncated JSON, NaN and duplicate keys are all read, none crashes."""
    assert strict_object(raw) is None
    if reading is None:
        assert any(found["command"] == "ls" for found in repairs(raw))
    else:
        assert reading in repairs(raw)


@calm
@given(st.text(alphabet='{}[]",:\\ abun01/\n', max_size=80))
def test_repairs_of_anything_are_objects(raw: str) -> None:
    assert all(isinstance(found, dict) for found in repairs(raw))


@calm
@given(st.dictionaries(st.text("abc", min_size=1), st.text('abc"\\\n', max_size=10), min_size=1))
def test_every_truncation_is_repaired_to_a_prefix(value: dict[str, str]) -> None:
    raw = json.dumps(value)
    for end in range(1, len(raw)):
        assert any(
            all(
                value[k].startswith(v)
                for k, v in found.items()
                if k in value and isinstance(v, str)
            )
            for found in repairs(raw[:end])
        )


@calm
@given(
    st.dictionaries(st.text("ab", min_size=1), st.text(max_size=20) | st.lists(st.text(max_size=5)))
)
def test_strings_are_found_where_they_stand(value: dict[str, Any]) -> None:
    raw = json.dumps(value)
    where = locate(raw)
    for key, text in value.items():
        if isinstance(text, str):
            start, end = where[(key,)]
            assert json.loads(f'"{raw[start:end]}"') == text
        else:
            for i, one in enumerate(text):
                start, end = where[(key, i)]
                assert json.loads(f'"{raw[start:end]}"') == one


@calm
@given(st.text(st.characters(exclude_categories=["Cs"]), max_size=30), st.data())
def test_positions_in_strings_map_to_the_raw_text(text: str, data: st.DataObject) -> None:
    raw = json.dumps({"a": text})
    at = data.draw(st.integers(0, len(text)))
    place = places_in_string(raw, locate(raw)[("a",)])
    assert json.loads(f'"{raw[place(0) : place(at)]}"') == text[:at]
