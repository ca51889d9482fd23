"""The part of ``docs/guards.md`` that is made from the rules themselves."""

from __future__ import annotations

from typing import TYPE_CHECKING

from harness_adapters.gateway.guard.checks import describe

if TYPE_CHECKING:
    from harness_adapters.plugins import Plugins

BEGIN = "<!-- made by scripts/guard_docs: begin -->"
END = "<!-- made by scripts/guard_docs: end -->"


def guard_reference(plugins: Plugins) -> str:
    """One section per built-in guard, in Markdown: what it catches, its options, its checks."""
    sections: list[str] = []
    for name in plugins.default_guards():
        told = describe(plugins.guards.create(name))
        text = told.text.partition(": ")[2]
        summary, _, rest = text.partition("\n\n")
        summary = _flowed(summary)
        rows = "\n".join(f"| `{name}.{check}` | {what} |" for check, what in told.checks.items())
        sections.append(
            f"## {name}\n\n{summary[:1].upper()}{summary[1:]}\n\n"
            f"{_flowed(rest)}\n\n"
            f"{_flowed(told.options)}\n\n| finding | what it is |\n|---|---|\n{rows}\n"
        )
    return "\n".join(sections)


def with_reference(document: str, reference: str) -> str:
    """The document with the generated part renewed.

    :raises ValueError: it lacks the two marks.
    """
    head, begin, rest = document.partition(BEGIN)
    _, end, tail = rest.partition(END)
    if not (begin and end):
        raise ValueError(f"the document lacks {BEGIN!r} or {END!r}")
    return f"{head}{BEGIN}\n\n{reference}\n{END}{tail}"


def _flowed(text: str) -> str:
    """One line, with code marked as Markdown does."""
    return " ".join(text.split()).replace("``", "`")
