"""The output of programs that only say or turn text, as far as their input is known."""

from __future__ import annotations

import base64
import binascii
import bz2
import lzma
import posixpath
import re
import zlib
from collections.abc import Callable, Sequence

from harness_adapters.gateway.guard.environment import listing
from harness_adapters.gateway.guard.names import names
from harness_adapters.gateway.guard.pipe import Pipe
from harness_adapters.gateway.guard.programs.files import is_recursive
from harness_adapters.gateway.guard.programs.words import option_value, option_values
from harness_adapters.gateway.guard.state import State
from harness_adapters.gateway.guard.words import ansi_unescaped

_MAX_OUTPUT = 256 * 1024
_FILTERS = names(
    """
    cat tac head tail sort uniq tee rev base64 base32 basenc xxd tr hex2bin cut sed paste fold
    openssl xargs awk gawk mawk uudecode nl grep egrep fgrep rg ag column expand
    zcat gzcat gunzip gzip bunzip2 bzcat bzip2 xzcat unxz xz zlib-flate pigz
    """
)
_UNPACKERS = names("zcat gzcat gunzip gzip bunzip2 bzcat bzip2 xzcat unxz xz zlib-flate pigz")
# Of those, the ones whose output is also told by the text of a file that they name.
_READ_FILES = _UNPACKERS | names(
    """
    cat rev base64 base32 basenc xxd nl tac sort cut sed paste fold head tail openssl grep
    """
)
_PACKED = (b"\x1f\x8b", b"BZh", b"\xfd7zXZ", b"x\x9c", b"x\xda", b"x\x01", b"x^")
_SEARCHES = names("grep egrep fgrep rg ag")
_KEEPS_ALL = names("sort uniq tac nl grep column expand")
_ECHO_OPTION = re.compile(r"-[neE]+\Z")
_NAMES_FILES = re.compile(r"-[a-zA-Z]*[lL]|--files-with")
_SILENT = frozenset(
    (":", "true", "false", "sleep", "mkdir", "touch", "chmod", "rm", "cp", "mv", "ln", "test", "[")
)


def output(state: State, name: str, words: Sequence[str], pipe: Pipe | None) -> str | None:
    """What the command prints, or ``None`` where that is not known."""
    if name in _FILTERS:
        text = pipe.text if pipe else None
        return None if len(text or "") > _MAX_OUTPUT else _filter(state, name, words, text)
    if said := _SAY.get(name):
        try:
            return said(state, words)
        except (IndexError, ValueError):
            return None
    return "" if name in _SILENT else None


def as_text(raw: bytes) -> str:
    """Bytes that a program prints. What is packed keeps one character for each byte, so that it
    can be unpacked."""
    return raw.decode("latin-1" if raw.startswith(_PACKED) else "utf-8", errors="replace")


def unpacked(text: str) -> str | None:
    """What stands in packed text, whatever packed it."""
    raw = text.encode("latin-1", errors="replace")
    for unpack in (zlib.decompressobj(31), zlib.decompressobj(), bz2.BZ2Decompressor()):
        try:
            return as_text(unpack.decompress(raw, _MAX_OUTPUT))
        except (zlib.error, OSError, EOFError):
            continue
    try:
        return as_text(lzma.LZMADecompressor().decompress(raw, _MAX_OUTPUT))
    except (lzma.LZMAError, EOFError):
        return None


def _filter(state: State, name: str, words: Sequence[str], text: str | None) -> str | None:
    if name == "tee":
        return text
    if name in ("awk", "gawk", "mawk"):
        return _awk(words, text)
    if name in _SEARCHES and any(map(_NAMES_FILES.match, words[1:])):
        return _files_found(state, words)
    if text is None and (len(words) == 1 or name not in _READ_FILES):
        return None
    operands = [word for word in words[1:] if not word.startswith("-") or word == "-"]
    options = [word for word in words[1:] if word.startswith("-") and word != "-"]
    if name == "cat":
        pieces = [
            text if word == "-" else state.text(state.path(word)) for word in operands or ["-"]
        ]
        return None if any(piece is None for piece in pieces) else "".join(p or "" for p in pieces)
    if name in ("rev", "base64", "base32", "basenc", "xxd", "nl", "tac", "sort") and operands:
        text = state.text(state.path(operands[-1]))
        operands = []
    if name in ("cut", "sed", "paste", "fold", "head", "tail") and operands and text is None:
        text = state.text(state.path(operands[-1]))
        operands = operands[:-1]
    if name == "grep" and text is None and len(operands) > 1:
        text = state.text(state.path(operands[-1]))
    if name in _UNPACKERS:
        if operands and text is None:
            text = state.text(state.path(operands[-1]))
        return None if text is None else unpacked(text)
    if name == "openssl":
        return _openssl(state, words, text)
    if text is None:
        return None
    match name:
        case "rev":
            return "".join(f"{line[::-1]}\n" for line in text.splitlines())
        case "base64" | "base32" | "basenc":
            if any(o in ("-d", "-D", "--decode") or re.match(r"-[a-z]*d", o) for o in options):
                return _decoded("base32" if "32" in " ".join(words) else name, text)
            return base64.b64encode(text.encode(errors="replace")).decode() + "\n"
        case "xxd":
            return _unhexed(text) if any("r" in option for option in options) else None
        case "hex2bin":
            return _unhexed(text)
        case "tr":
            return _translated(options, operands, text)
        case "cut":
            return _cut(words, text)
        case "sed":
            return _substituted(words, text)
        case "fold":
            return text
        case "paste":
            return "".join(text.splitlines()) + "\n" if "-d" in "".join(options) else text
        case "head" | "tail":
            return _part(name, words, text)
        case _ if name in _KEEPS_ALL:
            if name == "grep" and any(re.match(r"-\w*o|--only", one) for one in options):
                return _matching(operands[0] if operands else "", text)
            return text if not operands or name == "grep" else None
        case _:
            return None


def _files_found(state: State, words: Sequence[str]) -> str | None:
    """What ``grep -l`` may print: names of the files, or patterns of them, that it looks into."""
    given = [word for word in words[1:] if word[:1] != "-"][1:]
    if words[0] not in ("rg", "ag") and not is_recursive(words):
        return "".join(f"{word}\n" for word in given)
    if any(word.startswith("--exclude") for word in words):
        return None
    names = option_values(words, "--include")
    if not names:  # of all of a project nobody knows which; folders by name are meant
        return "".join(
            f"{word.rstrip('/')}/**\n"
            for word in given
            if word.strip("./*") and state.path(word) != state.workdir
        )
    return "".join(
        f"{posixpath.join(word, '**', name)}\n" for word in given or ["."] for name in names
    )


def _matching(pattern: str, text: str) -> str:
    """What ``grep -o`` may find: words, from where they hold what the pattern begins with."""
    begins = re.match(r"[\w:/@-]*", pattern)
    head = begins.group() if begins else ""
    words = [word for word in text.split() if head in word]
    return "".join(f"{word[word.find(head) :]}\n" for word in words)


def _part(name: str, words: Sequence[str], text: str) -> str:
    """Lines and their order do not matter here; characters do."""
    joined = " ".join(words[1:])
    if count := re.search(r"-c\s*(\d{1,6})\b", joined):
        n = int(count.group(1))
        return text[:n] if name == "head" else text[len(text) - n :]
    return text


def _cut(words: Sequence[str], text: str) -> str | None:
    joined = " ".join(words[1:])
    chosen = re.search(r"-([cbf])\s*+(\d{0,6})(-?)(\d{0,6})(?:\s|\Z)", joined)
    if not chosen:
        return None
    low = int(chosen.group(2) or 1) - 1
    high = int(chosen.group(4)) if chosen.group(4) else None if chosen.group(3) else low + 1
    if chosen.group(1) != "f":
        return "".join(f"{line[low:high]}\n" for line in text.splitlines())
    mark = re.search(r"-d\s*(\S|\s(?=\s))", joined)
    sign = mark.group(1) if mark else "\t"
    return "".join(f"{sign.join(line.split(sign)[low:high])}\n" for line in text.splitlines())


_SUBSTITUTE = re.compile(
    r"s([/|#,@!:~%])((?:\\.|(?!\1)[^\\])*)\1((?:\\.|(?!\1)[^\\])*)\1([gIip0-9]*+)\s*+;?+\s*+\Z"
)


def _substituted(words: Sequence[str], text: str) -> str | None:
    """``sed s/literal/other/``; what is beyond that is not known."""
    scripts = [word for word in words[1:] if not word.startswith("-")]
    for script in scripts:
        found = _SUBSTITUTE.match(script)
        if not found:
            return None
        _, old, new, flags = found.groups()
        if not re.fullmatch(r"(?:[^\\.*\[\]^$+?(){}|]|\\[./|#,@!:~%-])+", old):
            return None
        plain, put = re.sub(r"\\(.)", r"\1", old), re.sub(r"\\(.)", r"\1", new)
        if len(text) * (1 + len(put)) > 16 * _MAX_OUTPUT:
            return None
        text = (
            text.replace(plain, put)
            if "g" in flags
            else "".join(line.replace(plain, put, 1) for line in text.splitlines(keepends=True))
        )
    return text if scripts else None


def _awk(words: Sequence[str], text: str | None) -> str | None:
    """A program that prints literals, or the lines it is given."""
    program = next((word for word in words[1:] if "{" in word), "")
    if found := re.match(
        r"\s*+BEGIN\s*+\{\s*+printf?+\s*+\(?+((?:\s*+\"(?:[^\"\\]|\\.)*+\"\s*+,?+)++)\)?+\s*+;?+\s*+\}\s*+\Z",
        program,
    ):
        return ansi_unescaped("".join(re.findall(r"\"((?:[^\"\\]|\\.)*)\"", found.group(1)))) + "\n"
    if re.match(r"\s*+\{\s*+print\s*+(?:\$0)?+\s*+;?+\s*+\}\s*+\Z", program):
        return text
    return None


def _openssl(state: State, words: Sequence[str], text: str | None) -> str | None:
    for i, word in enumerate(words[:-1]):
        if word == "-in":
            text = state.text(state.path(words[i + 1]))
    if text is None or "-d" not in words or not {"base64", "-base64", "-a"} & set(words):
        return None
    return _decoded("base64", text)


def _mktemp(state: State, words: Sequence[str]) -> str:
    """A name that nothing else has."""
    given = [word for word in words[1:] if not word.startswith("-")]
    name = re.sub(r"X{3,}", "made", given[-1]) if given else "tmp.made"
    folder = option_value(words, "-p", "--tmpdir") or (
        "" if given and "-t" not in words else "/tmp"
    )
    return posixpath.join(folder, name) + "\n"


def _watched(state: State, words: Sequence[str]) -> str | None:
    """The files whose changes it tells of."""
    found = [word for word in words[1:] if not word.startswith("-") and "." in word]
    return "".join(f"{word}\n" for word in found) or None


def _which(state: State, words: Sequence[str]) -> str:
    return "".join(f"/usr/bin/{word}\n" for word in words[1:] if word[:1] != "-")


def _dirname(state: State, words: Sequence[str]) -> str:
    return (posixpath.dirname(words[1].rstrip("/")) or ".") + "\n"


def _basename(state: State, words: Sequence[str]) -> str:
    name = posixpath.basename(words[1].rstrip("/"))
    return (name.removesuffix(words[2]) if len(words) > 2 else name) + "\n"


def _real(state: State, words: Sequence[str]) -> str:
    return "".join(f"{state.path(word)}\n" for word in words[1:] if word[:1] != "-")


def _seq(state: State, words: Sequence[str]) -> str:
    ends = [int(word[:6]) for word in words[1:] if word.removeprefix("-").isdecimal()]
    low, high = (1, ends[0]) if len(ends) == 1 else (ends[0], ends[-1])
    return "".join(f"{n}\n" for n in range(low, high + 1)[:64])


def _printenv(state: State, words: Sequence[str]) -> str | None:
    if (listed := listing(words)) is not None:
        return listed
    values = [state.variables.get(word) for word in words[1:]]
    return None if not values or None in values else "".join(f"{value}\n" for value in values)


def _echo(words: Sequence[str]) -> str:
    escapes = False
    end = "\n"
    rest = list(words)
    while rest and _ECHO_OPTION.match(rest[0]):
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
    return as_text(raw)


def _unhexed(text: str) -> str | None:
    digits = re.sub(r"[^0-9a-fA-F]", "", text)
    return as_text(bytes.fromhex(digits[: len(digits) // 2 * 2]))


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


def _ls(state: State, words: Sequence[str]) -> str:
    """A folder's own names are not known: ``*``. Where names are given, these."""
    found = [word for word in words[1:] if not word.startswith("-")]
    return "".join(
        f"{word if '*' in word or '.' in word[1:] else '*'}\n" for word in found or ["*"]
    )


def _git(state: State, words: Sequence[str]) -> str | None:
    if not {"log", "show"}.isdisjoint(words[1:3]):  # what was committed before it, if anything
        return state.text(state.path(".git/COMMIT_EDITMSG"))
    if "ls-files" not in words:
        return None
    found = [word for word in words[words.index("ls-files") + 1 :] if not word.startswith("-")]
    return "".join(
        f"{word if '*' in word or '.' in word[1:] else word + '/**'}\n" for word in found
    )


_SAY: dict[str, Callable[[State, Sequence[str]], str | None]] = {
    "echo": lambda state, words: _echo(words[1:]),
    "printf": lambda state, words: _printf(words[1:]),
    "pwd": lambda state, words: state.cwd + "\n",
    "which": _which, "type": _which, "whereis": _which,
    "dirname": _dirname, "basename": _basename,
    "ls": _ls, "git": _git, "realpath": _real, "readlink": _real,
    "seq": _seq, "printenv": _printenv, "mktemp": _mktemp,
    **dict.fromkeys(("inotifywait", "fswatch"), _watched),
}  # fmt: skip
