"""Sessions as text, split into what the model reads and what it writes."""

from __future__ import annotations

import json
import random
from functools import cache
from pathlib import Path
from typing import Any

import jinja2.sandbox
from harness_prompts import Prompt
from sessions import Session

from harness_adapters.tasks.questions import Question

TEMPLATE = Path(__file__).with_name("chat_template.jinja")
Piece = tuple[str, bool]
"""A text, and whether the model writes it."""


@cache
def _template() -> Any:
    environment = jinja2.sandbox.ImmutableSandboxedEnvironment(trim_blocks=True, lstrip_blocks=True)
    environment.filters["tojson"] = lambda value: json.dumps(value, ensure_ascii=False)
    return environment.from_string(TEMPLATE.read_text("utf-8"))


def render(messages: list[dict[str, Any]], tools: list[dict[str, Any]], generate: bool) -> str:
    """The text a server makes of a request."""
    rendered = _template().render(messages=messages, tools=tools, add_generation_prompt=generate)
    return str(rendered)


def pieces(
    prompt: Prompt, question: Question, session: Session, dice: random.Random
) -> list[Piece]:
    """The session from its first prompt to its last answer, alternating.

    Put together they are what :func:`render` makes of the whole conversation.
    """
    opening = [
        {"role": "system", "content": prompt.filled(dice)},
        {"role": "user", "content": prompt.instruction(question.instruction)},
    ]
    read = render(opening, prompt.tools, True)
    found: list[Piece] = []
    for call in session.calls:
        name, arguments, result = prompt.call(call)
        tool_call = {"function": {"name": name, "arguments": arguments}}
        written = _reply({"role": "assistant", "content": None, "tool_calls": [tool_call]})
        found += [(read, False), (written, True)]
        read = "\n" + render([{"role": "tool", "content": result}], [], True)
    final = _reply({"role": "assistant", "content": session.final})
    return [*found, (read, False), (final, True)]


def _reply(message: dict[str, Any]) -> str:
    """What the model writes: without the opening it is given, up to the mark that ends it."""
    text = render([message], [], False)
    return text.removeprefix("<|im_start|>assistant\n").removesuffix("\n")
