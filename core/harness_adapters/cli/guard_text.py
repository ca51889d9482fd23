"""What models wrote, shown to a person: no control characters, the offending part marked."""

from __future__ import annotations

from rich.text import Text

from harness_adapters.cli.output import printable

_AROUND = 160  # characters shown on either side of a span
_WIDEST = 600  # characters shown of a span itself


def marked(text: str, start: int, end: int) -> Text:
    """A span in its surroundings, between ``>>>`` and ``<<<`` where there is no colour either."""
    before, behind = text[max(0, start - _AROUND) : start], text[end : end + _AROUND]
    inner = text[start:end]
    if len(inner) > _WIDEST:
        inner = f"{inner[: _WIDEST // 2]} ... {inner[-_WIDEST // 2 :]}"
    left = "..." if start > _AROUND else ""
    right = "..." if end + _AROUND < len(text) else ""
    return Text.assemble(
        "  ",
        (left + printable(before), "dim"),
        (f">>>{printable(inner)}<<<", "bold red"),
        (printable(behind) + right, "dim"),
    )
