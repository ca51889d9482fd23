"""From the text of a template to pieces: literal text, outputs and tags."""

import re
from dataclasses import dataclass

from stencil.errors import TemplateError

_OPEN = re.compile(r"\{\{|\{%")
_CLOSE = {"{{": "}}", "{%": "%}"}
_KIND = {"{{": "output", "{%": "tag"}


@dataclass(frozen=True)
class Piece:
    kind: str  # text, output or tag
    content: str
    line: int


def pieces(text):
    """The pieces in order.

    :raises TemplateError: an output or tag is not closed.
    """
    found = []
    position, line = 0, 1
    while opening := _OPEN.search(text, position):
        if opening.start() > position:
            literal = text[position : opening.start()]
            found.append(Piece("text", literal, line))
            line += literal.count("\n")
        mark = opening.group()
        end = text.find(_CLOSE[mark], opening.end())
        if end < 0:
            raise TemplateError(f"{mark} is not closed", line)
        content = text[opening.end() : end]
        found.append(Piece(_KIND[mark], content.strip(), line))
        line += content.count("\n")
        position = end + 2
    if position < len(text):
        found.append(Piece("text", text[position:], line))
    return found
