"""Programs that pack and unpack."""

from __future__ import annotations

import posixpath
import re

from harness_adapters.gateway.guard.pipe import Pipe
from harness_adapters.gateway.guard.programs.files import recursive_root
from harness_adapters.gateway.guard.programs.words import (
    Handler,
    Words,
    operands,
    option_value,
    run_program,
)
from harness_adapters.gateway.guard.recorder import Recorder
from harness_adapters.gateway.guard.state import State

_TAR_VALUES = frozenset(
    (
        "-C", "-f", "-T", "-X", "-b", "-I", "--directory", "--file", "--files-from", "--exclude",
        "--transform", "--to-command", "--checkpoint-action", "--checkpoint", "--owner", "--group",
    )
)  # fmt: skip
_RUNS = re.compile(r"(?:--checkpoint-action=exec=|--to-command=|-I=?|--use-compress-program=)(.+)")


def _tar(rec: Recorder, state: State, words: Words, pipe: Pipe | None) -> None:
    """``-C`` counts for the operands after it."""
    inner = state.fork()
    first = words[1] if len(words) > 1 else ""
    bundled = bool(first) and not first.startswith("-")
    letters = first if bundled else "".join(w for w in words[1:] if re.match(r"-[a-zA-Z]+\Z", w))
    longs = {word.partition("=")[0] for word in words[1:]}
    making = bool(set("cru") & set(letters)) or bool(longs & {"--create", "--append", "--update"})
    listing = "t" in letters or "--list" in longs
    rest = list(words[2:] if bundled else words[1:])
    archive = rest.pop(0) if bundled and "f" in letters and rest else None
    chosen: list[str] = []
    while rest:
        word = rest.pop(0)
        if found := _RUNS.match(word):
            run_program(rec, state.fork(), found.group(1))
            continue
        name, equals, value = word.partition("=")
        if word.startswith("-") and not equals:
            name = word if word.startswith("--") else f"-{word[-1]}"
            value = rest.pop(0) if name in _TAR_VALUES and rest else ""
        if not word.startswith("-"):
            chosen.append(word)
            if making:
                rec.read(inner, word)
                if "--remove-files" in longs:
                    rec.remove(inner, word, tree=True)
        elif name in ("-C", "--directory"):
            inner.cwd = inner.path(value)
            rec.read(state, inner.cwd)
        elif name in ("-f", "--file"):
            archive = value
        elif name in ("-T", "--files-from"):
            rec.read(state, value)
        elif name in ("--to-command", "-I"):
            run_program(rec, state.fork(), value)
    if archive is not None:
        (rec.write if making else rec.read)(state, archive)
    if making:
        recursive_root(rec, inner, chosen)
    elif not listing:
        if state.made(archive) if archive else pipe is not None:
            state.files[inner.path("**")] = None  # of its own making, too
        for word in chosen or (["**"] if inner.cwd not in (state.cwd, state.workdir) else []):
            rec.touch(inner, word)


def _zip(rec: Recorder, state: State, words: Words, pipe: Pipe | None) -> None:
    found = operands(words, ("-x", "-P", "-TT", "-b"))
    for word in found[:1]:
        rec.write(state, word)
    for word in found[1:]:
        rec.read(state, word)
    recursive_root(rec, state, found[1:])
    for word in found[1:] if any(re.match(r"-\w*m|--move", word) for word in words[1:]) else ():
        rec.remove(state, word, tree=True)
    if (test := option_value(words, "-TT", "--unzip-command")) is not None:
        run_program(rec, state.fork(), test)


def _unpack(rec: Recorder, state: State, words: Words, pipe: Pipe | None) -> None:
    name = posixpath.basename(words[0])
    if name in ("7z", "7za") and words[1:2] and words[1] in ("a", "u"):
        _zip(rec, state, [name, *words[2:]], pipe)
        return
    if name == "unzip" and "-x" in words:  # what follows is left out
        at = list(words).index("-x")
        after = list(words[at:])
        words = [*words[:at], *(after[after.index("-d") :] if "-d" in after else [])]
    found = operands(words, ("-d", "-x", "-P", "-D", "-o") if name != "unzip" else ("-d", "-P"))
    if name == "cpio" and found and "p" in "".join(words[1:2]):
        rec.write(state, f"{found[-1].rstrip('/')}/**")
    if name == "cpio" and pipe is not None and pipe.text and "o" in "".join(words[1:2]):
        for word in pipe.text.split()[:64]:
            rec.read(state, word)
    folder = option_value(words, "-d", "-D", "--directory")
    joined = next((word[2:] for word in words[1:] if name == "7z" and word[:2] == "-o"), None)
    inner = state.fork()
    if folder or joined:
        inner.cwd = inner.path(folder or joined or ".")
    looks = any(re.match(r"-[a-zA-Z]*[lptvZ]", word) for word in words[1:]) and name == "unzip"
    if inner.cwd != state.workdir and name != "dpkg-deb" and not looks:
        rec.touch(inner, "**")
    for word in found[:2] if name in ("7z", "7za") else found[:1]:
        rec.read(state, word)
        if state.made(word):
            state.files[inner.path("**")] = None
    for word in found[1:] if name == "unzip" else ():
        rec.write(inner, word)


def _one_file(rec: Recorder, state: State, words: Words, pipe: Pipe | None) -> None:
    """``gzip FILE`` and its like put one file in place of another."""
    stays = any("c" in word or "k" in word or "l" in word for word in words[1:] if word[:1] == "-")
    for word in operands(words):
        rec.read(state, word)
        if not stays:
            rec.remove(state, word)


HANDLERS: dict[str, Handler] = {
    "tar": _tar, "bsdtar": _tar, "gtar": _tar, "zip": _zip,
    **dict.fromkeys(("unzip", "7z", "7za", "cpio", "unrar", "dpkg-deb"), _unpack),
    **dict.fromkeys(("gzip", "gunzip", "bzip2", "bunzip2", "xz", "unxz", "zstd"), _one_file),
}  # fmt: skip
