"""Numbers as a person reads them: always with their interval, or with the reason for none."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from harness_adapters.evaluation.report.document import Cell, Mark

Value = Mapping[str, Any]
"""A dict with ``est``, ``lo`` and ``hi``, and perhaps ``reason``."""

INTERVAL = "95% interval in brackets"


def percent(value: Value, *, signed: bool = False) -> Cell:
    """A share as percent, or a difference of shares as points."""
    return _cell(_scaled(value, 100), 1, "+" if signed else "")


def ratio(value: Value) -> Cell:
    return _cell(value, 2)


def amount(value: Value) -> Cell:
    return _cell(value, 1)


def count(value: int) -> Cell:
    return Cell(str(value), float(value))


def text(value: object) -> Cell:
    return Cell(str(value))


def points_mark(label: str, value: Value, *, signed: bool = True) -> Mark:
    return _mark(label, _scaled(value, 100), percent(value, signed=signed).text)


def ratio_mark(label: str, value: Value) -> Mark:
    return _mark(label, value, ratio(value).text)


def _mark(label: str, value: Value, said: str) -> Mark:
    return Mark(label=label, est=value["est"], lo=value["lo"], hi=value["hi"], text=said)


def _scaled(value: Value, factor: float) -> dict[str, Any]:
    scaled = {
        name: None if value[name] is None else factor * value[name] for name in ("est", "lo", "hi")
    }
    return {**value, **scaled}


def _cell(value: Value, digits: int, sign: str = "") -> Cell:
    est, lo, hi = value["est"], value["lo"], value["hi"]
    note = str(value.get("reason", ""))
    if est is None:
        return Cell("-", None, note)
    said = f"{est:{sign}.{digits}f}"
    if lo is not None:
        said += f" [{lo:{sign}.{digits}f}, {hi:{sign}.{digits}f}]"
    return Cell(said, est, note)
