"""A pattern is only looked for where one of its signs stands: in all that it matches, one must."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from ha_guard_tamper.other_tricks import _OTHERS

ROWS = (
    *Path(__file__).parents[2].glob("corpus/**/*.jsonl"),
    *Path(__file__).parent.glob("*/*.jsonl"),
)


def strings(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for one in value.values():
            yield from strings(one)
    elif isinstance(value, list):
        for one in value:
            yield from strings(one)


@pytest.fixture(scope="module")
def texts() -> set[str]:
    rows = (json.loads(line) for file in ROWS for line in file.read_text("utf-8").splitlines())
    return {text for row in rows for text in strings(row) if len(text) > 16}


@pytest.mark.parametrize("number", range(len(_OTHERS)))
def test_a_sign_stands_in_all_that_is_matched(number: int, texts: set[str]) -> None:
    _, signs, pattern, meaning = _OTHERS[number]
    matched = [text for text in texts if pattern.search(text)]
    assert matched, f"nothing shows what {meaning!r} looks like: {pattern.pattern}"
    assert [text for text in matched if signs is not None and not signs.any_in(text)] == []
