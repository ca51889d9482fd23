"""The output of programs that only say or turn text, as far as their input is known."""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Sequence

from harness_adapters.gateway.guard.names import names
from harness_adapters.gateway.guard.pipe import Pipe
from harness_adapters.gateway.guard.state import State
from harness_adapters.gateway.guard.words import ansi_unescaped

_MAX_OUTPUT = 256 * 1024
_FILTERS = names(
    """
    cat tac head tail sort uniq tee rev base64 base32 xxd tr hex2bin
    """
)
_SILENT = frozenset(
    (":", "true", "false", "sleep", "mkdir", "touch", "chmod", "rm", "cp", "mv", "ln", "test", "[")
)


def output(state: State, name: str, words: Sequence[str], pipe: Pipe | None) -> str | None:
    """What the command prints, or ``None`` where that is not known."""
    if name in _FILTERS:
        text = pipe.text if pipe else None
        return None if len(text or "") > _MAX_OUTPUT else _filter(state, name, words, text)
    match name:
        case "echo":
            return _echo(words[1:])
        case "printf":
            return _printf(words[1:])
        case "pwd":
            return state.cwd + "\n"
        case _:
            return "" if name in _SILENT else None


def _filter(state: State, name: str, words: Sequence[str], text: str | None) -> str | None:
    if name == "tee":
        return text
    if text is None and len(words) == 1:
        return None
    operands = [word for word in words[1:] if not word.startswith("-") or word == "-"]
    options = [word for word in words[1:] if word.startswith("-") and word != "-"]
    if name == "cat":
        pieces = [
            text if word == "-" else state.text(state.path(word)) for word in operands or ["-"]
        ]
        return None if any(piece is None for piece in pieces) else "".join(p or "" for p in pieces)
    if name in ("rev", "base64", "base32") and operands and name != "tr":
        text = state.text(state.path(operands[-1]))
    if text is None:
        return None
    match name:
        case "rev":
            return "".join(f"{line[::-1]}\n" for line in text.splitlines())
        case "base64" | "base32":
            if any(o in ("-d", "-D", "--decode") or re.match(r"-[a-z]*d", o) for o in options):
                return _decoded(name, text)
            return base64.b64encode(text.encode(errors="replace")).decode() + "\n"
        case "xxd":
            return _unhexed(text) if any("r" in option for option in options) else None
        case "hex2bin":
            return _unhexed(text)
        case "tr":
            return _translated(options, operands, text)
        case "sort" | "uniq" | "head" | "tail" | "tac":
            return text if not operands else None  # lines and their order do not matter here
        case _:
            return None


def _echo(words: Sequence[str]) -> str:
    escapes = False
    end = "\n"
    rest = list(words)
    while rest and re.match(r"-[neE]+\Z", rest[0]):
        option = rest.pop(0)
        escapes = escapes or "e" in option
        end = "" if "n" in option else end
    text = " ".join(rest)
    return (ansi_unescaped(text) if escapes else text) + end


def _printf(words: Sequence[str]) -> str | None:
    rest = list(words)
    if rest and rest[0] == "--":
        rest.pop(0)
    if not rest or rest[0] == "-v":
        return None
    form, values = ansi_unescaped(rest[0]), rest[1:]
    holes = len(re.findall(r"%[^%]", form.replace("%%", "")))
    out: list[str] = []
    while True:
        taken = iter(values[:holes])

        def fill(found: re.Match[str], taken: object = taken) -> str:
            kind = found.group(1)
            if kind == "%":
                return "%"
            value = next(taken, "")  # type: ignore[call-overload]
            return ansi_unescaped(value) if kind == "b" else str(value)

        out.append(re.sub(r"%[-+ #0-9.]*([a-zA-Z%])", fill, form))
        values = values[holes:]
        if not values or not holes or len(out) > 256:
            return "".join(out)


def _decoded(name: str, text: str) -> str | None:
    packed = "".join(text.split())
    try:
        if name == "base32":
            raw = base64.b32decode(packed + "=" * (-len(packed) % 8))
        else:
            raw = base64.b64decode(packed + "=" * (-len(packed) % 4))
    except (binascii.Error, ValueError):
        return None
    return raw.decode("utf-8", errors="replace")


def _unhexed(text: str) -> str | None:
    digits = re.sub(r"[^0-9a-fA-F]", "", text)
    return bytes.fromhex(digits[: len(digits) // 2 * 2]).decode("utf-8", errors="replace")


def _translated(options: Sequence[str], operands: Sequence[str], text: str) -> str | None:
    if not operands:
        return None
    old = _tr_set(operands[0])
    if any("d" in option for option in options):
        return text.translate({ord(c): None for c in old})
    if len(operands) < 2 or options:
        return None
    new = _tr_set(operands[1])
    if not new:
        return None
    new += new[-1] * (len(old) - len(new))
    return text.translate({ord(a): b for a, b in zip(old, new, strict=False)})


def _tr_set(text: str) -> str:
    text = ansi_unescaped(text)
    text = (
        text.replace("[:upper:]", "A-Z").replace("[:lower:]", "a-z").replace("[:space:]", " \t\n")
    )

    def span(found: re.Match[str]) -> str:
        low, high = ord(found.group(1)), ord(found.group(2))
        return "".join(map(chr, range(low, min(high, low + 512) + 1)))

    return re.sub(r"(.)-(.)", span, text, flags=re.DOTALL)
