"""The constant texts that the gateway itself says to a harness.

They are short and never vary, so that nothing about the rules can be learnt from them, and they
are never sampled ids: a notice stands in the next prompt, outside every loss span.
"""

from __future__ import annotations

BLOCKED = "This tool call was not run: it is not allowed here."
CUT_OFF = "This tool call was not run: it was cut off."
BUDGET = "The request budget of this session is used up. The session ends here."


def with_notice(text: str | None, notice: str) -> str:
    """The model's own text, if any, followed by the notice."""
    return f"{text}\n\n{notice}" if text else notice
