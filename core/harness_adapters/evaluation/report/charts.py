"""Charts as inline SVG, drawn by hand: a few lines and texts, with the page's own colours.

Colours are CSS classes of ``report.css``, so that a chart follows the reader's light or dark. Every
number of a chart stands in a table or in its text as well.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from html import escape

from harness_adapters.evaluation.report.document import Curve, Forest, HeatMap, Mark

_WIDTH = 800
_ROW = 28
_LEFT, _RIGHT = 250, 175  # for labels, for numbers
_TOP, _BOTTOM = 8, 46
_CURVE = 180  # height of a curve
_LONGEST = 30  # characters of a label
_TICKS = 6
_LARGEST_POWER = 300  # of ten: what lies beyond is drawn, without a tick
_MOST_COLUMNS = 12  # of a heat map at its usual width; with more, it is wider


def forest(chart: Forest) -> str:
    height = _TOP + _ROW * len(chart.marks) + _BOTTOM
    axis = _Axis(chart)
    bottom = _TOP + _ROW * len(chart.marks)
    parts = []
    for tick in axis.ticks:
        x = axis.x(tick)
        parts.append(_line(x, _TOP, x, bottom, "grid"))
        parts.append(_text(x, bottom + 16, f"{tick:g}", "tick", "middle"))
    if chart.null is not None:
        x = axis.x(chart.null)
        parts.append(_line(x, _TOP, x, bottom, "null"))
    middle = (_LEFT + _WIDTH - _RIGHT) / 2
    parts.append(_text(middle, bottom + 36, chart.axis, "tick", "middle"))
    for row, mark in enumerate(chart.marks):
        parts.append(_row(mark, _TOP + _ROW * (row + 0.5), axis))
    return _svg(_WIDTH, height, chart.title, parts)


def heat_map(chart: HeatMap) -> str:
    columns = max(1, len(chart.columns))
    cell = max(108.0, (_WIDTH - _LEFT) / min(columns, _MOST_COLUMNS))
    cell = min(cell, 200.0)
    row_height = 48
    top = 30
    width = math.ceil(_LEFT + cell * columns)
    parts = []
    for column, name in enumerate(chart.columns):
        parts.append(_label(_LEFT + cell * (column + 0.5), 20, name, "middle", longest=24))
    for row, name in enumerate(chart.rows):
        y = top + row_height * row
        parts.append(_label(_LEFT - 10, y + row_height / 2 + 4, name, "end"))
        for column, mark in enumerate(chart.marks[row]):
            parts.append(
                _heat(mark, chart.tones[row][column], _LEFT + cell * column, y, cell, row_height)
            )
    return _svg(width, top + row_height * len(chart.rows) + 4, chart.title, parts)


def curve(chart: Curve) -> str:
    """A line through the points, and where it begins and ends in numbers."""
    xs, ys = [x for x, _ in chart.points], [y for _, y in chart.points]
    low, high = min(ys), max(ys)
    margin = 0.08 * (high - low) or max(1.0, abs(high)) * 0.08
    low, high = low - margin, high + margin
    left, right, bottom = 70.0, _WIDTH - 70.0, float(_CURVE)

    def at(x: float, y: float) -> tuple[float, float]:
        across = (x - xs[0]) / ((xs[-1] - xs[0]) or 1.0)
        up = (y - low) / (high - low)
        return left + across * (right - left), bottom - up * (bottom - _TOP)

    step = _round_up((high - low) / 4)
    first, last = math.ceil(low / step), math.floor(high / step)
    parts = []
    for tick in (round(number * step, 10) for number in range(first, last + 1)):
        y = at(xs[0], tick)[1]
        parts.append(_line(left, y, right, y, "grid"))
        parts.append(_text(left - 8, y + 4, f"{tick:g}", "tick", "end"))
    places = [at(*point) for point in chart.points]
    if len(places) > 1:
        drawn = " ".join(f"{x:.1f},{y:.1f}" for x, y in places)
        parts.append(f'<polyline points="{drawn}" class="interval" fill="none"/>')
    for (x, y), point in zip(places, chart.points, strict=True):
        parts.append(
            f"<g><title>{point[0]:g}: {point[1]:.4g}</title>"
            f'<circle cx="{x:.1f}" cy="{y:.1f}" r="4" class="est"/></g>'
        )
    for x, anchor in ((xs[0], "start"), (xs[-1], "end")):
        parts.append(_text(at(x, low)[0], bottom + 16, f"{x:g}", "tick", anchor))
    parts.append(_text((left + right) / 2, bottom + 36, chart.axis, "tick", "middle"))
    parts.append(_text(right + 8, places[-1][1] + 4, f"{ys[-1]:.3g}", "value", "start"))
    return _svg(_WIDTH, _CURVE + _BOTTOM, chart.title, parts)


def _row(mark: Mark, y: float, axis: _Axis) -> str:
    parts = [f"<g><title>{escape(mark.label)}: {escape(mark.text)}</title>"]
    parts.append(_label(_LEFT - 12, y + 4, mark.label, "end"))
    if mark.lo is not None and mark.hi is not None:
        parts.append(_line(axis.x(mark.lo), y, axis.x(mark.hi), y, "interval"))
    if mark.est is not None:
        parts.append(f'<circle cx="{axis.x(mark.est):.1f}" cy="{y:.1f}" r="5" class="est"/>')
    parts.append(_text(_WIDTH - _RIGHT + 14, y + 4, mark.text, "value", "start"))
    return "".join([*parts, "</g>"])


def _heat(mark: Mark, tone: float | None, x: float, y: float, width: float, height: float) -> str:
    kind = "unknown" if tone is None else "better" if tone >= 0 else "worse"
    strength = 0 if tone is None else round(100 * min(1.0, abs(tone)))
    est, _, interval = mark.text.partition(" ")
    middle = x + width / 2
    return (
        f"<g><title>{escape(mark.label)}: {escape(mark.text)}</title>"
        f'<rect x="{x + 1:.1f}" y="{y + 1:.1f}" width="{width - 2:.1f}" height="{height - 2:.1f}"'
        f' rx="3" class="heat {kind}" style="--tone:{strength}%"/>'
        + _text(middle, y + height / 2 - 2, est, "value", "middle")
        + _text(middle, y + height / 2 + 14, interval, "small", "middle")
        + "</g>"
    )


class _Axis:
    """From values to places, over all estimates and intervals of a chart."""

    def __init__(self, chart: Forest) -> None:
        self._log = chart.log
        values = [v for m in chart.marks for v in (m.est, m.lo, m.hi) if v is not None]
        values += chart.limits
        if chart.null is not None:
            values.append(chart.null)
        placed = [self._place(value) for value in values if value > 0 or not chart.log]
        low, high = min(placed), max(placed)
        margin = 0.04 * (high - low) or 1.0
        self._low, self._high = low - margin, high + margin
        self.ticks = self._log_ticks() if chart.log else self._even_ticks()

    def x(self, value: float) -> float:
        if self._log and value <= 0:
            return float(_LEFT)
        share = (self._place(value) - self._low) / (self._high - self._low)
        return _LEFT + min(1.0, max(0.0, share)) * (_WIDTH - _LEFT - _RIGHT)

    def _place(self, value: float) -> float:
        return math.log(value) if self._log else value

    def _even_ticks(self) -> list[float]:
        step = _round_up((self._high - self._low) / _TICKS)
        first = math.ceil(self._low / step)
        last = math.floor(self._high / step)
        return [round(number * step, 10) for number in range(first, last + 1)]

    def _log_ticks(self) -> list[float]:
        first, last = (round(end / math.log(10)) for end in (self._low, self._high))
        powers = range(max(first - 1, -_LARGEST_POWER), min(last + 1, _LARGEST_POWER) + 1)
        for digits in ((1, 1.25, 1.5, 2, 3, 4, 5, 6, 8), (1, 2, 5), (1,)):
            ticks = [
                float(f"{digit * 10.0**power:.10g}")
                for power in powers
                for digit in digits
                if self._low <= math.log(digit * 10.0**power) <= self._high
            ]
            if len(ticks) <= 2 * _TICKS:
                break
        return ticks


def _round_up(step: float) -> float:
    """The next of 1, 2, 5 times a power of ten."""
    power = 10.0 ** math.floor(math.log10(step))
    return next(digit * power for digit in (1, 2, 5, 10) if digit * power >= step)


def _svg(width: int, height: float, title: str, parts: Sequence[str]) -> str:
    return (
        f'<svg viewBox="0 0 {width} {height:.0f}" width="{width}" role="img" '
        f'aria-label="{escape(title)}">{"".join(parts)}</svg>'
    )


def _label(x: float, y: float, text: str, anchor: str, *, longest: int = _LONGEST) -> str:
    if len(text) <= longest:
        return _text(x, y, text, "label", anchor)
    return (
        f"<g><title>{escape(text)}</title>"
        + _text(x, y, f"{text[: longest // 2 - 1]}…{text[-(longest // 2) :]}", "label", anchor)
        + "</g>"
    )


def _text(x: float, y: float, text: str, kind: str, anchor: str) -> str:
    return (
        f'<text x="{x:.1f}" y="{y:.1f}" class="{kind}" text-anchor="{anchor}">{escape(text)}</text>'
    )


def _line(x1: float, y1: float, x2: float, y2: float, kind: str) -> str:
    return f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" class="{kind}"/>'
