"""A report in the terminal: the same texts and tables as the page, without its charts."""

from __future__ import annotations

import sys

from rich.console import Console
from rich.table import Table as RichTable
from rich.text import Text

from harness_adapters.evaluation.report.document import Document, Section, Table

_PIPED_WIDTH = 1000  # a table takes what it needs: nothing is folded in a file
_LISTED = 40  # rows of one table


def print_document(document: Document) -> None:
    """To stdout."""
    width = None if sys.stdout.isatty() else _PIPED_WIDTH
    console = Console(highlight=False, width=width)
    console.print(document.title, style="bold", markup=False, soft_wrap=True)
    if document.subtitle:
        console.print(document.subtitle, style="dim", markup=False, soft_wrap=True)
    for section in document.sections:
        _print_section(console, section)


def _print_section(console: Console, section: Section) -> None:
    console.print()
    console.print(section.title, style="bold cyan", markup=False, soft_wrap=True)
    for paragraph in section.paragraphs:
        console.print(paragraph, markup=False, soft_wrap=True)
    for block in section.blocks:
        if isinstance(block, Table):
            _print_table(console, block)


def _print_table(console: Console, table: Table) -> None:
    shown = RichTable(title=Text(table.title), title_justify="left", box=None, title_style="bold")
    for number, name in enumerate(table.columns):
        shown.add_column(Text(name), justify="right" if number else "left")
    for row in table.rows[:_LISTED]:
        shown.add_row(*(Text(cell.text) for cell in row))
    console.print()
    console.print(shown)
    if len(table.rows) > _LISTED:
        console.print(f"... and {len(table.rows) - _LISTED} more rows", style="dim")
