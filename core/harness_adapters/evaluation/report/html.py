"""A report as one HTML file: no other file, no network, readable in light and dark.

Whatever stands in a document may come from a hostile task or model, so every text is escaped, and
the page's own policy lets nothing run but the one script below, known by its hash.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Sequence
from html import escape
from importlib.resources import files

from harness_adapters.evaluation.report.charts import curve, forest, heat_map
from harness_adapters.evaluation.report.document import (
    Block,
    Cell,
    Curve,
    Document,
    Forest,
    HeatMap,
    Section,
    Table,
)

_LISTED = 3  # sections from which on a list of them helps


def to_html(documents: Sequence[Document]) -> str:
    """One page with all the documents, one below the other."""
    script, style = _asset("report.js"), _asset("report.css")
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    policy = f"default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-{digest}'"
    title = escape("; ".join(document.title for document in documents))
    body = "\n".join(_document(one, number) for number, one in enumerate(documents))
    return (
        "<!DOCTYPE html>\n"
        '<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        '<meta name="color-scheme" content="light dark">\n'
        f"<title>{title}</title>\n<style>\n{style}</style>\n</head>\n"
        f"<body>\n{body}\n<script>{script}</script>\n</body>\n</html>\n"
    )


def _document(document: Document, number: int) -> str:
    parts = [f"<h1>{escape(document.title)}</h1>"]
    if document.subtitle:
        parts.append(f'<p class="subtitle">{escape(document.subtitle)}</p>')
    if len(document.sections) >= _LISTED:
        links = "".join(
            f'<li><a href="#{_anchor(number, index)}">{escape(section.title)}</a></li>'
            for index, section in enumerate(document.sections)
        )
        parts.append(f"<nav><ul>{links}</ul></nav>")
    parts += [
        _section(section, _anchor(number, index)) for index, section in enumerate(document.sections)
    ]
    return "\n".join(parts)


def _anchor(document: int, section: int) -> str:
    return f"s{document}-{section}"


def _section(section: Section, anchor: str) -> str:
    return "\n".join(
        [
            f'<section id="{anchor}">',
            f"<h2>{escape(section.title)}</h2>",
            *(f"<p>{escape(paragraph)}</p>" for paragraph in section.paragraphs),
            *map(_block, section.blocks),
            "</section>",
        ]
    )


def _block(block: Block) -> str:
    match block:
        case Table():
            content = _table(block)
        case Forest():
            content = forest(block)
        case HeatMap():
            content = heat_map(block)
        case Curve():
            content = curve(block)
    note = block.note if isinstance(block, Table) else ""
    below = f'<p class="note">{escape(note)}</p>' if note else ""
    return f'<h3>{escape(block.title)}</h3>\n<div class="wide">{content}</div>{below}'


def _table(table: Table) -> str:
    heads = "".join(
        f'<th scope="col"{_kind([row[column] for row in table.rows])}>'
        f'<button type="button">{escape(name) or "&nbsp;"}</button></th>'
        for column, name in enumerate(table.columns)
    )
    rows = "\n".join(f"<tr>{''.join(map(_cell, row))}</tr>" for row in table.rows)
    return f"<table>\n<thead><tr>{heads}</tr></thead>\n<tbody>\n{rows}\n</tbody>\n</table>"


def _cell(cell: Cell) -> str:
    sort = "" if cell.sort is None else f' data-sort="{cell.sort!r}"'
    note = f' title="{escape(cell.note)}"' if cell.note else ""
    return f"<td{_kind([cell])}{sort}{note}>{escape(cell.text)}</td>"


def _kind(cells: Sequence[Cell]) -> str:
    """Text stands to the left, numbers and gaps to the right."""
    is_text = any(cell.sort is None and cell.text not in ("", "-") for cell in cells)
    return ' class="text"' if is_text else ""


def _asset(name: str) -> str:
    return files(__package__).joinpath(name).read_text("utf-8")
