"""Compiling a template into nodes, and rendering these."""

import re

from stencil.errors import TemplateError
from stencil.filters import FILTERS
from stencil.lexer import pieces
from stencil.scope import Scope

_NAME = r"[A-Za-z_]\w*"
_FOR = re.compile(rf"for\s+({_NAME})\s+in\s+(.+)")
_IF = re.compile(r"if\s+(not\s+)?(.+)")
_SET = re.compile(rf"set\s+({_NAME})\s*=\s*(.+)")
_PATH = re.compile(rf"{_NAME}(?:\.\w+)*")
_NUMBER = re.compile(r"-?\d+(\.\d+)?")


def render(text, **values):
    """Render a template once."""
    return Template(text).render(**values)


class Template:
    """A compiled template.

    :raises TemplateError: a tag is unknown, misplaced or not ended.
    """

    def __init__(self, text):
        self._pieces = pieces(text)
        self._position = 0
        self._nodes, closing = self._block(())
        assert closing is None

    def render(self, **values):
        """The text for these values.

        :raises TemplateError: a name is not defined, or a filter fails.
        """
        out = []
        self._write(self._nodes, Scope(values), out)
        return "".join(out)

    def _block(self, closers, opened_at=0):
        """Nodes up to one of the closing tags, and that tag."""
        nodes = []
        while self._position < len(self._pieces):
            piece = self._pieces[self._position]
            self._position += 1
            if piece.kind != "tag":
                nodes.append((piece.kind, piece.content, piece.line))
            elif piece.content in closers:
                return nodes, piece.content
            else:
                nodes.append(self._tag(piece))
        if closers:
            raise TemplateError("block is not ended", opened_at)
        return nodes, None

    def _tag(self, piece):
        if found := _FOR.fullmatch(piece.content):
            body, _ = self._block(("end",), piece.line)
            return ("for", found[1], found[2], body, piece.line)
        if found := _SET.fullmatch(piece.content):
            return ("set", found[1], found[2], piece.line)
        if found := _IF.fullmatch(piece.content):
            body, closing = self._block(("else", "end"), piece.line)
            other = self._block(("end",), piece.line)[0] if closing == "else" else []
            return ("if", bool(found[1]), found[2], body, other, piece.line)
        raise TemplateError(f"unknown or misplaced tag {piece.content!r}", piece.line)

    def _write(self, nodes, scope, out):
        for node in nodes:
            match node:
                case ("text", content, _):
                    out.append(content)
                case ("output", expression, line):
                    out.append(str(_evaluate(expression, scope, line)))
                case ("set", name, expression, line):
                    scope.define(name, _evaluate(expression, scope, line))
                case ("if", negated, expression, body, other, line):
                    truth = bool(_evaluate(expression, scope, line)) != negated
                    with scope.block():
                        self._write(body if truth else other, scope, out)
                case ("for", name, expression, body, line):
                    self._loop(name, list(_evaluate(expression, scope, line)), body, scope, out)

    def _loop(self, name, items, body, scope, out):
        for index, item in enumerate(items, 1):
            with scope.block():
                scope.define(name, item)
                scope.define(
                    "loop",
                    {"index": index, "first": index == 1, "last": index == len(items)},
                )
                self._write(body, scope, out)


def _evaluate(expression, scope, line):
    first, *steps = (part.strip() for part in _split(expression, "|"))
    value = _operand(first, scope, line)
    for step in steps:
        name, *arguments = _split(step, ":")
        if name not in FILTERS:
            raise TemplateError(f"no filter {name!r}", line)
        try:
            value = FILTERS[name](value, *(_operand(a.strip(), scope, line) for a in arguments))
        except (TypeError, ValueError) as error:
            raise TemplateError(f"filter {name!r}: {error}", line) from None
    return value


def _operand(text, scope, line):
    if len(text) >= 2 and text[0] == text[-1] == '"':
        return text[1:-1]
    if found := _NUMBER.fullmatch(text):
        return float(text) if found[1] else int(text)
    if not _PATH.fullmatch(text):
        raise TemplateError(f"not an expression: {text!r}", line)
    try:
        return scope.lookup(text)
    except KeyError as missing:
        raise TemplateError(f"nothing is called {missing.args[0]!r}", line) from None


def _split(text, separator):
    """Split at a separator outside quotes."""
    return re.split(rf'\{separator}(?=(?:[^"]*"[^"]*")*[^"]*$)', text)
