"""Strict JSON from a sandbox: bounded, finite, no name twice."""

from __future__ import annotations

import json
from typing import Any, NoReturn


def strict_loads(data: bytes) -> Any:
    """Parse JSON text.

    :raises ValueError: no JSON, no UTF-8, ``NaN`` or an infinity in any spelling, a name twice in
        one object, or nested too deep.
    """
    try:
        return json.loads(
            data.decode(),
            parse_constant=_no_constant,
            parse_float=_finite,
            object_pairs_hook=_no_twins,
        )
    except RecursionError:
        raise ValueError("nested too deep") from None


def _no_constant(text: str) -> NoReturn:
    raise ValueError(f"{text} is no JSON number")


def _finite(text: str) -> float:
    number = float(text)
    if number in (float("inf"), float("-inf")):
        raise ValueError(f"{text} is out of range")
    return number


def _no_twins(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("a name stands twice in one object")
    return found
