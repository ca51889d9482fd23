"""What a report is made of. Every text in it is plain text: whoever renders it escapes it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Cell:
    """:param sort: what the column is sorted by, where the text does not do.
    :param note: why the cell is as it is; shown on demand."""

    text: str
    sort: float | None = None
    note: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """:param rows: as long as ``columns`` each."""

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]
    note: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Mark:
    """A labelled number with its interval, as a chart shows it; ``None`` where there is none."""

    label: str
    est: float | None
    lo: float | None
    hi: float | None
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Forest:
    """Numbers with intervals, one below the other.

    :param null: where a line says "no change"; ``None`` for no line.
    :param log: on a logarithmic axis, for ratios.
    :param limits: the axis goes at least this far.
    """

    title: str
    axis: str
    marks: tuple[Mark, ...]
    null: float | None = None
    log: bool = False
    limits: tuple[float, float] = (0.0, 0.0)


@dataclass(frozen=True, slots=True, kw_only=True)
class HeatMap:
    """:param tones: of each cell, -1 (worse) to 1 (better); ``None`` where nothing is known.
    :param marks: ``marks[i][j]`` is row i in column j; its label is for the reader's pointer."""

    title: str
    rows: tuple[str, ...]
    columns: tuple[str, ...]
    marks: tuple[tuple[Mark, ...], ...]
    tones: tuple[tuple[float | None, ...], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Curve:
    """One number over the course of something.

    :param points: ``(x, y)``, at least one, x growing; a gap in x is bridged.
    """

    title: str
    axis: str
    points: tuple[tuple[float, float], ...]


Block = Table | Forest | HeatMap | Curve


@dataclass(frozen=True, slots=True, kw_only=True)
class Section:
    title: str
    paragraphs: tuple[str, ...] = ()
    blocks: tuple[Block, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Document:
    title: str
    subtitle: str = ""
    sections: tuple[Section, ...] = ()
