"""A shell program made ready for the grammar that we use.

It loses its way in what follows ``<<WORD`` on the same line, and bodies may be long. So each
``<<WORD`` becomes ``< WORD``, and its body is kept beside it; ``<<<`` becomes ``<`` too, since the
grammar does not take it after another redirect. It also takes ``/$a/$b/c`` for two words, what
stands between two substitutions in back quotes for one, a line that begins with an escape
(``\\rm``) for more of the line before, and a word that goes on in the next line for two: they
become ``/$a/${b}/c``, ``$(...)``, ``'r'm`` and one word. What it does not know at all, a coprocess
in braces and an escaped bracket in ``[``, becomes something that it knows.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from harness_adapters.gateway.guard.errors import (
    MAX_ALL_HEREDOCS,
    MAX_HEREDOCS,
    MAX_SHELL_MENDED,
    Unjudgeable,
)

# Amid a word: a variable that more of it follows; and one before an escape.
_NAME = r"(?:[A-Za-z_]\w*+|\d)"
_GOES_ON = r"(?=[^\s;&|<>()\"'`$}])"
_VARIABLE = rf"\$(?:(?<=[^\s;&|<>(\\]\$)|(?<=\\\s\$)){_NAME}{_GOES_ON}|\${_NAME}(?=\\[^\n])"
_COPROC = r"coproc[ \t]++(?:\w++[ \t]++)?(?=\{\s|\()"
_BRACKET = r"\[(?=[ \t][^\n\]]{0,120}\\\()"
_COMMAND = re.compile(
    r"\\.|'[^']*+'?|\"|\$'(?:[^'\\]++|\\.)*+'?|\$\(\(|\(\(|\$\(|\$\{|`|<<<|<<"
    rf"|(?<![^\s;&|()])(?:#[^\n]*|{_COPROC}|{_BRACKET})|[()}}\n]|{_VARIABLE}",
    re.DOTALL,
)
# What any of that may begin with; a quote before it is one that ends a string.
_GLUED = re.compile(
    rf"\$(?:(?<=[^\s;&|<>(\\\"'`)]\$)|(?<=[^\s;&|<>(=][\"'`)]\$)){_NAME}{_GOES_ON}"
    rf"|\${_NAME}\\|\\(?:(?<=[}})\"'`]\\)[^\n]|(?<=\n\\)[\s\S]|(?<=\S\\)\n|[ \t])"
)
_BACK_QUOTED = re.compile(r"`(?:[^`\\]|\\.){0,4096}+`", re.DOTALL)
_QUOTED = re.compile(r"\\.|\"|\$\(\(|\$\(|\$\{|`", re.DOTALL)
_WORD = re.compile(r"(-?)[ \t]*((?:\\.|'[^'\n]*'|\"[^\"\n]*\"|[^\s;&|<>()'\"\\`])+)")
_UNQUOTE = re.compile(r"\\(.)|['\"]")
_ENDS_PIECE = ("}", ")", '"', "'", "`", "\n")  # what an escape is not a part of
_TABS = re.compile(r"^\t+", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Heredoc:
    """``quoted``: the delimiter was quoted, so nothing in the body is expanded."""

    body: str
    quoted: bool


@dataclass(frozen=True, slots=True)
class Taken:
    """What is left of a program.

    :ivar text: without bodies.
    :ivar docs: where an operator ``<`` stands for a here-document -> that.
    :ivar strings: where an operator ``<`` stands for ``<<<``.
    :ivar shifts: from positions in ``text`` to the program's, see ``spans.Places``.
    """

    text: str
    docs: dict[int, Heredoc]
    strings: set[int]
    shifts: list[tuple[int, int]]


def take_out(program: str) -> Taken:
    """Take the here-documents out, and mend what the grammar would misread; linear in the
    program's length.

    :raises Unjudgeable: too many of either.
    """
    if (
        "<<" not in program
        and "`" not in program
        and _GLUED.search(program) is None
        and not ("\\(" in program and "[ " in program)
        and "coproc" not in program
    ):
        return Taken(program, {}, set(), [])
    out: list[str] = []
    length = 0
    copied = 0
    shifts: list[tuple[int, int]] = []
    docs: dict[int, Heredoc] = {}
    strings: set[int] = set()
    pending: list[tuple[int, str, bool, bool]] = []
    modes = ["("]
    piece = -1  # where a variable or an escape ends that became something else
    turned: list[int] = []  # how deep back quotes are open that became ``$(``
    at = 0

    def emit(text: str, start: int, end: int) -> int:
        """All up to ``start``, then ``text`` in place of what lies before ``end``."""
        nonlocal length, copied
        out.append(program[copied:start])
        length += start - copied
        where = length
        out.append(text)
        length += len(text)
        copied = end
        shifts.append((length, end))
        if len(shifts) > MAX_SHELL_MENDED:
            raise Unjudgeable(f"more than {MAX_SHELL_MENDED} words that the grammar misreads")
        return where

    while found := (_QUOTED if modes[-1] == '"' else _COMMAND).search(program, at):
        token, at = found.group(), found.end()
        mode = modes[-1]
        if token == "<<<" and mode in ("(", "`"):
            strings.add(emit("< ", found.start(), at))
        elif token == "<<" and mode in ("(", "`"):
            word = _WORD.match(program, at)
            if word is None:
                continue
            if len(pending) >= MAX_HEREDOCS:
                raise Unjudgeable(f"more than {MAX_HEREDOCS} here-documents on one line")
            at = word.end()
            where = emit("< HERE ", found.start(), at)
            raw = word.group(2)
            delimiter = _UNQUOTE.sub(lambda m: m.group(1) or "", raw)
            pending.append((where, delimiter, raw != delimiter, bool(word.group(1))))
        elif token[0] == "$" and token[1] not in "'({":
            if mode in ("(", "`"):
                emit(f"${{{token[1:]}}}", found.start(), at)
                piece = at
        elif token[0] in "c[":
            if mode in ("(", "`"):
                emit("" if token[0] == "c" else "test", found.start(), at)
        elif token == '\\"' and turned and modes[turned[-1] - 2] == '"':
            emit('"', found.start(), at)
            _follow(modes, '"')
        elif token[0] == "\\" and turned[-1:] == [len(modes)] and token[1] in "`\\$":
            emit(token[1], found.start(), at)  # what stands between back quotes is read twice
        elif token[0] == "\\" and mode in ("(", "`"):
            start = found.start()
            before = program[start - 1 : start]
            if token == "\\\n":
                if start == piece or before == "\n" or not before.isspace():
                    emit("", start, at)
            elif before in _ENDS_PIECE or start == piece or token[1] in " \t":
                emit(f"'{token[1]}'" if token[1] != "'" else '"\'"', start, at)
                piece = at
        elif token == "`" and mode == "`" and turned[-1:] == [len(modes)]:
            turned.pop()
            modes.pop()
            emit(")", found.start(), at)
        elif token == "`" and mode != "`" and _BACK_QUOTED.match(program, found.start()):
            modes.append("`")
            turned.append(len(modes))
            emit("$(", found.start(), at)
        elif token == "\n":
            if pending and mode in ("(", "`"):
                start = at
                for where, delimiter, quoted, dashed in pending:
                    end, after = _end_of_body(program, at, delimiter, dashed)
                    body = program[at:end]
                    if dashed:
                        body = _TABS.sub("", body)
                    docs[where] = Heredoc(body, quoted)
                    if len(docs) > MAX_ALL_HEREDOCS:
                        raise Unjudgeable(f"more than {MAX_ALL_HEREDOCS} here-documents")
                    at = after
                pending.clear()
                emit("", start, at)
        else:
            _follow(modes, token)
    docs.update((where, Heredoc("", quoted)) for where, _, quoted, _ in pending)
    out.append(program[copied:])
    return Taken("".join(out), docs, strings, shifts)


def _end_of_body(program: str, at: int, delimiter: str, dashed: bool) -> tuple[int, int]:
    """Where a body that begins at ``at`` ends, and where its last line does."""
    line = at  # where a line begins that may be the last
    while line < len(program):
        start = line
        while dashed and program.startswith("\t", start):
            start += 1
        stop = start + len(delimiter)
        if program.startswith(delimiter, start) and program[stop : stop + 1] in ("", "\n"):
            return line, min(stop + 1, len(program))
        line = program.find("\n" if dashed else f"\n{delimiter}", line) + 1 or len(program)
    return len(program), len(program)


def _follow(modes: list[str], token: str) -> None:
    """Keep track of what is open: ``(`` commands, ``"`` a string, ``{`` an expansion, ``+``
    arithmetic, a back quote."""
    mode = modes[-1]
    if token == '"':
        if mode == '"':
            modes.pop()
        else:
            modes.append('"')
    elif token == "`":
        if mode == "`":
            modes.pop()
        else:
            modes.append("`")
    elif token in ("$(", "("):
        modes.append("(")
    elif token in ("$((", "(("):
        modes += ["+", "+"]
    elif token == "${":
        modes.append("{")
    elif (token == ")" and mode in "(+" and len(modes) > 1) or (token == "}" and mode == "{"):
        modes.pop()
