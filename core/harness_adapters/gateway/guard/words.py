"""Shell words: quotes, variables, substitutions and braces resolved, as far as text tells."""

from __future__ import annotations

import re
from collections.abc import Callable
from fnmatch import translate
from typing import TYPE_CHECKING

from harness_adapters.gateway.guard.environment import ALL
from harness_adapters.gateway.guard.lists import (
    ELEMENT,
    element,
    elements,
    indices,
    joined,
    positional,
    values,
)
from harness_adapters.gateway.guard.names import names
from harness_adapters.gateway.guard.state import State

if TYPE_CHECKING:
    from tree_sitter import Node

# Private characters stand for what plain text cannot say until a word is whole.
_SPLIT = "\ue000"  # a field ends here
_HIDDEN = {"{": "\ue001", ",": "\ue002", "}": "\ue003"}  # quoted: no brace expansion
_NOTHING = "\ue007"  # an unquoted expansion to nothing: by itself no word at all
_EMPTY = "\ue008"  # an element of a list that is an empty word
_SHOWN = (*_HIDDEN.items(), (" ", ELEMENT), ("", _NOTHING), ("", _EMPTY))
_UNKNOWN = "\ue004"  # a variable of unknown value: its name, between two of these
_HOST = ("//", "@")  # what stands before a host
_UNKNOWN_NAME = re.compile(f"{_UNKNOWN}([^{_UNKNOWN}]*){_UNKNOWN}")
_ONE_UNKNOWN = re.compile(r"\$\([^()]*\)\Z")  # a substitution whose output nothing tells
_EXPANSIONS = names("simple_expansion expansion command_substitution arithmetic_expansion")
_MAX_FIELDS = 256
_MAX_FIELD = 64 * 1024

# Set in most environments, to something that no call tells.
_ENVIRONMENT = names(
    """
    PATH USER LOGNAME SHELL TMPDIR LANG TERM HOSTNAME EDITOR PAGER OLDPWD VIRTUAL_ENV
    CONDA_PREFIX PYTHONPATH NODE_PATH GOPATH CARGO_HOME JAVA_HOME XDG_CONFIG_HOME XDG_CACHE_HOME
    XDG_DATA_HOME XDG_RUNTIME_DIR RANDOM SECONDS LINENO UID EUID PPID BASHPID
    """
)

_BLANKS = re.compile(r"\s+")
_ESCAPED = re.compile(r"\\(.)", re.DOTALL)
_ESCAPED_IN_STRING = re.compile(r'\\(["$`\\\n])')
_ANSI = re.compile(
    r"\\(x[0-9a-fA-F]{1,2}|u[0-9a-fA-F]{1,4}|U[0-9a-fA-F]{1,8}|[0-7]{1,3}|c.|.)", re.DOTALL
)
_ANSI_PLAIN = {
    "n": "\n",
    "t": "\t",
    "r": "\r",
    "a": "\a",
    "b": "\b",
    "e": "\x1b",
    "E": "\x1b",
    "f": "\f",
    "v": "\v",
}
_BRACED = re.compile(
    r"\$\{([!#]?)([A-Za-z_]\w*+|[0-9]++|[@*#?$!_-])(?:\[([^\]]*)\])?(.*)\}\Z", re.DOTALL
)
_OPERATOR = re.compile(r":?[-=+]")
_CUT = re.compile(r":\s*(-?\d+)(?::\s*(-?\d+))?\Z")
_PLAIN_STRING = re.compile(r"\"(?:[^\"$`\\]|\$(?:[A-Za-z_]|[0-9]))*+\"\Z")
_NAMED = re.compile(r"\$([A-Za-z_][A-Za-z0-9_]*+|[0-9])")
_RANGE = re.compile(r"(-?\d+|[a-zA-Z])\.\.(-?\d+|[a-zA-Z])(?:\.\.-?\d+)?\Z")


class Words:
    """Expands the words of one program.

    :param text: the program as parsed.
    :param state: what variables are looked up in.
    :param charge: is told the length of every value, and stops what is too much.
    :param substitute: runs the statements of a substitution and gives their output, if known.
    """

    def __init__(
        self,
        text: str,
        state: State,
        substitute: Callable[[Node], str | None],
        charge: Callable[[int], None],
    ) -> None:
        self._text = text
        self.state = state
        self._substitute = substitute
        self._charge = charge

    def fields(self, node: Node) -> list[str]:
        """The words that a word of the program becomes."""
        raw = self._piece(node, quoted=False)
        if _SPLIT not in raw and "{" not in raw:
            word = _shown(raw)
            return [word] if word or _NOTHING not in raw else []
        found: list[str] = []
        for word in raw.split(_SPLIT):
            if not word or word == _NOTHING:
                continue
            many = _braces(word) if "{" in word and len(word) <= 4096 else [word]
            self._charge(256 * len(many))
            found += map(_shown, many)
        return found[:_MAX_FIELDS]

    def array(self, node: Node) -> str:
        """``(a "b c")`` as a variable keeps it."""
        return joined([w for one in node.named_children if _says(one) for w in self.fields(one)])

    def value(self, node: Node) -> str:
        """The one string that it becomes where words are not split."""
        return _shown(self._piece(node, quoted=False).replace(_SPLIT, " "))

    def quoted(self, inside: str) -> str:
        """What stands between double quotes, where there is nothing but text and ``$name``."""
        return _shown(self._named(inside) if "$" in inside else inside)

    def heredoc(self, body: Node) -> str:
        """The text of a here-document whose delimiter is not quoted."""
        return _shown(self._between(body, body.start_byte, body.end_byte).replace(_SPLIT, " "))

    def _named(self, inside: str) -> str:
        return _NAMED.sub(self._of_name, inside)

    def _of_name(self, found: re.Match[str]) -> str:
        """``$name`` between double quotes."""
        name = found[1]
        value = self.state.variables.get(name)
        if value is None or ELEMENT in value:
            return self._variable(name, quoted=True)
        self._charge(4 * len(value))
        return _hidden(value)

    def _piece(self, node: Node, *, quoted: bool) -> str:
        kind = node.type
        if kind == "string":
            raw = self._text[node.start_byte : node.end_byte]
            if _PLAIN_STRING.match(raw):  # without a look at its nodes
                return self._named(_hidden(raw[1:-1]))
            return self._between(node, node.start_byte + 1, node.end_byte - 1)
        raw = self._text[node.start_byte : node.end_byte]
        match kind:
            case "word":
                return _ESCAPED.sub(_unescaped, raw) if "\\" in raw else raw
            case "simple_expansion":
                bare = raw.lstrip()  # the grammar takes blanks before it for a part of it
                value = self._variable(bare[1:], quoted=quoted)
                return value if bare is raw else raw[: len(raw) - len(bare)] + value
            case "raw_string":
                return _hidden(raw[1:-1])
            case "ansi_c_string":
                return _hidden(_ANSI.sub(_ansi, raw[2:-1]))
            case "translated_string" | "concatenation" | "command_name":
                pieces = [self._piece(child, quoted=quoted) for child in node.children]
                return "".join(pieces if kind != "translated_string" else pieces[-1:])
            case "expansion":
                return self._braced(node, raw, quoted=quoted)
            case "command_substitution" | "process_substitution":
                out = self._substitute(node)
                if out is None:
                    return f"{_UNKNOWN}{raw}{_UNKNOWN}"
                out = out.rstrip("\n") if kind == "command_substitution" else out
                return _split(out, quoted=quoted, separators=self._separators())
            case "arithmetic_expansion":
                stack = list(node.named_children)
                while stack:
                    child = stack.pop()
                    if child.type in _EXPANSIONS:
                        self._piece(child, quoted=True)
                    else:
                        stack += child.named_children
                return raw
            case "binary_expression" | "unary_expression" | "parenthesized_expression":
                for child in node.named_children:
                    self._piece(child, quoted=True)
                return raw
            case _:
                return raw

    def _between(self, node: Node, at: int, end: int) -> str:
        """Text with expansions inside double quotes."""
        out: list[str] = []
        for child in node.named_children:
            if child.type in _EXPANSIONS:
                if at < child.start_byte:
                    out.append(_in_string(self._text[at : child.start_byte]))
                out.append(self._piece(child, quoted=True))
                at = child.end_byte
        if at < end:
            out.append(_in_string(self._text[at:end]))
        return "".join(out)

    def _separators(self) -> str:
        return self.state.variables.get("IFS", "")

    def _known(self, name: str) -> str | None:
        """What a variable holds; a list with its elements apart."""
        variables = self.state.variables
        value = variables.get("@" if name == "*" else name)
        if value is not None:
            return value
        if name in ("PWD", "HOME", "IFS"):
            return {"PWD": self.state.cwd, "HOME": self.state.home}.get(name, " ")
        if (name.isdecimal() or name == "#") and (given := variables.get("@")) is not None:
            return str(given.count(ELEMENT)) if name == "#" else positional(given, int(name[:4]))
        return None

    def _variable(self, name: str, *, quoted: bool) -> str:
        value = self._known(name)
        if value is None:
            self._charge(0)
            self.state.environment[name] = None
            return f"{_UNKNOWN}{name}{_UNKNOWN}"
        self._charge(4 * len(value))
        if name in ("@", "*") or ELEMENT in value:
            return self._list(elements(value), name, quoted=quoted)
        unknown = value.startswith("$(") and _ONE_UNKNOWN.match(value) is not None
        if quoted or unknown:  # one word, mostly
            return _hidden(value)
        return _split(value, quoted=False, separators=self._separators())

    def _list(self, found: list[str], item: str, *, quoted: bool) -> str:
        """Elements in a word; ``item`` is ``@``, ``*``, or a name, which stands for the first."""
        if not quoted:
            marks = self._separators()
            parts = [_split(one, quoted=False, separators=marks) for one in found]
            return _SPLIT.join(parts) or _NOTHING
        if item == "@":
            return _SPLIT.join([_hidden(one) or _EMPTY for one in found]) or _NOTHING
        if item == "*":
            return _hidden((self._separators()[:1] or " ").join(found))
        return _hidden(found[0])

    def _braced(self, node: Node, raw: str, *, quoted: bool) -> str:
        found = _BRACED.match(raw)
        if not found:
            return _hidden(raw)
        sign, name, item, rest = found.groups()
        if not (sign or item or rest):
            return self._variable(name, quoted=quoted)
        value = self._known(name)
        if value is None or name in ("PWD", "HOME"):
            self.state.environment[name] = None
        if name in ("@", "*"):
            item = name
        whole = item in ("@", "*")
        if item and not whole:
            self._charge(4 * len(value or ""))
            one = element(value or "", self._index(node, item))
            if value is not None:
                whole, value = one is None, value if one is None else one
        if sign == "!" and rest not in ("*", "@"):
            if whole:
                return _SPLIT.join(indices(value))
            if value is not None and value.isidentifier():
                return self._variable(value, quoted=quoted)
            if not item:  # whatever variable it is that nothing tells
                self.state.environment[ALL] = None
        operator = _OPERATOR.match(rest)
        if operator:
            others = node.named_children[1:]
            other = "".join(self._piece(child, quoted=quoted) for child in others)
            if "+" in operator.group():
                return other if value else _split("", quoted=quoted)
            if not value:
                if "=" in operator.group():
                    self.state.variables[name] = _shown(other.replace(_SPLIT, " "))
                return other or _split("", quoted=quoted)
            rest = ""
        elif sign == "#" and value is not None:
            return str(len(elements(value)) if whole else len(value))
        elif sign or value is None:
            return f"{_UNKNOWN}{name}{_UNKNOWN}"
        # A pattern is tried at every place of a short value.
        self._charge(len(value) * (64 if rest[:1] in ("#", "%") and len(value) <= 512 else 8))
        if not whole:
            value = value.partition(ELEMENT)[0]
            return _split(_altered(value, rest), quoted=quoted, separators=self._separators())
        many = values(value)
        if part := _CUT.match(rest):
            start, length = int(part[1]), part[2]
            start -= start > 0 and name in ("@", "*")  # ``${@:1}`` is all of them
            many = many[start:][: None if length is None else int(length)]
        elif rest:
            many = [_altered(one, rest) for one in many]
        return self._list(many, item if item in ("@", "*") else "@", quoted=quoted)

    def _index(self, node: Node, item: str) -> str:
        """What stands in the brackets of ``${A[...]}``, worked out."""
        subscript = node.named_children[0] if node.named_children else None
        index = subscript.child_by_field_name("index") if subscript is not None else None
        said = self.value(index) if index is not None else item
        return self.state.variables.get(said, said) if said.isidentifier() else said


def _altered(value: str, rest: str) -> str:
    """``${X...}`` with the forms that cut, replace or change case."""
    if not rest:
        return value
    if part := _CUT.match(rest):
        start, length = int(part.group(1)), part.group(2)
        cut = value[start:]
        return cut if length is None else cut[: int(length)]
    if rest.startswith(("#", "%")) and len(value) <= 512:
        longest, pattern = rest[:2] in ("##", "%%"), rest.lstrip("#%")
        if not any(c in pattern for c in "*?["):
            plain = _ESCAPED.sub(r"\1", pattern).strip("'\"")
            return value.removeprefix(plain) if rest[0] == "#" else value.removesuffix(plain)
        if pattern.count("*") > 2:
            return value
        fits = re.compile(translate(pattern))
        cuts = range(len(value) + 1)
        if rest[0] == "#":
            for i in reversed(cuts) if longest else cuts:
                if fits.match(value[:i]):
                    return value[i:]
        else:
            for i in cuts if longest else reversed(cuts):
                if fits.match(value[i:]):
                    return value[:i]
        return value
    if rest.startswith("/"):
        old, _, new = rest.lstrip("/").partition("/")
        return value.replace(old, new, -1 if rest.startswith("//") else 1) if old else value
    match rest:
        case "^^":
            return value.upper()
        case ",,":
            return value.lower()
        case "^":
            return value[:1].upper() + value[1:]
        case ",":
            return value[:1].lower() + value[1:]
    return value


def _split(value: str, *, quoted: bool, separators: str = "") -> str:
    if quoted:
        return _hidden(value)
    hidden = _hidden(value) or _NOTHING
    if not separators.strip():
        return _BLANKS.sub(_SPLIT, hidden)
    return re.sub(rf"[\s{re.escape(_hidden(separators))}]+", _SPLIT, hidden)


def _hidden(text: str) -> str:
    """Quoted, as far as braces go."""
    if "{" in text or "," in text or "}" in text:
        for plain, hidden in _HIDDEN.items():  # a tenth of what ``translate`` takes
            text = text.replace(plain, hidden)
    return text


def _shown(word: str) -> str:
    if word.isascii():
        return word[:_MAX_FIELD]
    if _UNKNOWN in word:
        word = _UNKNOWN_NAME.sub(_unknown, word)
    for plain, hidden in _SHOWN:
        if hidden in word:
            word = word.replace(hidden, plain)
    return word[:_MAX_FIELD]


def _unknown(found: re.Match[str]) -> str:
    # A variable that nothing ever set is empty; at the front of a word that would turn
    # ``$PROJECT/tests`` into ``/tests``, so there, and where it is surely set, it keeps its name.
    name = found.group(1)
    if name.startswith(("$", "`", "<", ">")):
        return name  # a substitution whose output is not known
    if found.start() == 0 or name in _ENVIRONMENT or found.string.endswith(_HOST, 0, found.start()):
        return f"${name}"
    return ""


def _unescaped(found: re.Match[str]) -> str:
    character = found.group(1)
    return "" if character == "\n" else _HIDDEN.get(character, character)


def _in_string(text: str) -> str:
    if "\\" in text:
        text = _ESCAPED_IN_STRING.sub(lambda m: "" if m.group(1) == "\n" else m.group(1), text)
    return _hidden(text)


def _ansi(found: re.Match[str]) -> str:
    code = found.group(1)
    if code[0] in "xuU" and len(code) > 1:
        number = int(code[1:], 16)
        return chr(number) if number < 0xD800 or 0xE000 <= number < 0x110000 else ""
    if code[0] in "01234567":
        return chr(int(code, 8))
    return _ANSI_PLAIN.get(code, code)


def ansi_unescaped(text: str) -> str:
    """Backslash escapes as ``$'...'``, ``printf`` and ``echo -e`` read them."""
    return _ANSI.sub(_ansi, text)


def _braces(word: str) -> list[str]:
    """``{a,b}`` and ``{1..3}``, the innermost first, within bounds."""
    found = [word]
    for _ in range(8):
        new: list[str] = []
        changed = False
        for one in found:
            options = _innermost(one)
            changed = changed or options is not None
            new += [one] if options is None else options
            if len(new) > _MAX_FIELDS:
                break
        found = new[:_MAX_FIELDS]
        if not changed:
            break
    return found


def _says(node: Node) -> bool:
    return node.type not in ("comment", "ERROR")


def _innermost(word: str) -> list[str] | None:
    close = word.find("}")
    while close >= 0:
        start = word.rfind("{", 0, close)
        if start >= 0:
            inside = word[start + 1 : close]
            options: list[str] | None = None
            if "," in inside:
                options = inside.split(",")
            elif (
                (ends := _RANGE.match(inside))
                and ends.group(1).lstrip("-").isdigit()
                and ends.group(2).lstrip("-").isdigit()
            ):
                first, last = int(ends.group(1)[:7]), int(ends.group(2)[:7])
                step = 1 if last >= first else -1
                options = [str(n) for n in range(first, last + step, step)[:_MAX_FIELDS]]
            elif ends and ends.group(1).isalpha() and ends.group(2).isalpha():
                low, high = sorted((ord(ends.group(1)), ord(ends.group(2))))
                options = [chr(n) for n in range(low, high + 1)]
            if options is not None:
                return [word[:start] + option + word[close + 1 :] for option in options]
        close = word.find("}", close + 1)
    return None
