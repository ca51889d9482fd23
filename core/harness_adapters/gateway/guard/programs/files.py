"""Programs that look at, make, copy and remove files."""

from __future__ import annotations

import posixpath
import re

from harness_adapters.gateway.guard.names import names
from harness_adapters.gateway.guard.paths import looks_like_path
from harness_adapters.gateway.guard.pipe import Pipe
from harness_adapters.gateway.guard.programs.words import (
    LEAVES_OUT,
    Handler,
    Words,
    operands,
    option_value,
    remote_of,
)
from harness_adapters.gateway.guard.recorder import Recorder
from harness_adapters.gateway.guard.state import State

_READERS = names(
    """
    cat less more head tail tac nl wc sort uniq cut od xxd hexdump strings file stat md5sum
    sha1sum sha224sum sha256sum sha512sum b2sum diff cmp comm paste base64 base32 zcat bzcat
    xzcat ls tree du realpath readlink column fold cksum rev fmt expand join bat
    batcat eza exa dir vdir lsattr getfacl test [ [[ open xdg-open nm objdump readelf iconv
    inotifywait fswatch zless pr split csplit shuf Get-Content Get-ChildItem Get-Item
    """
)
_OPTION_VALUES = {
    "head": ("-n", "-c"), "tail": ("-n", "-c"), "cut": ("-d", "-f", "-c", "-b"),
    "sort": ("-k", "-t", "-S", "-o"), "fold": ("-w",), "tree": ("-L", "-I", "-P", "-o"),
    "ls": ("-I",), "du": ("-d",), "xxd": ("-l", "-s", "-c"), "od": ("-A", "-t", "-N", "-j"),
    "stat": ("-c", "-f"), "touch": ("-d", "-t", "-r"), "truncate": ("-s", "-r"), "paste": ("-d",),
    "column": ("-s", "-o", "-N", "-c"), "mkdir": ("-m",), "shred": ("-n", "-s"),
    "fallocate": ("-l", "-o"),
    "iconv": ("-f", "-t", "-o"), "inotifywait": ("-e", "-t", "--format"), "split": ("-l", "-b"),
}  # fmt: skip
_MODE = re.compile(r"-[rwxXstugo]*+(?<=[wxXst])\Z|--reference=")
_KEEP_TEXT = frozenset(("touch", "chmod", "chown", "chgrp", "setfacl", "chattr"))
_RECURSIVE = re.compile(r"-[a-zA-Z]*[rR]|--recursive")
_HEAD_OPERAND = frozenset(("chmod", "chown", "chgrp", "chattr"))  # what to set comes first
_REMOVERS = frozenset(
    ("rm", "unlink", "shred", "rmdir", "trash", "srm", "wipe", "trash-put", "Remove-Item")
)
_WRITERS = names(
    """
    touch truncate chmod chown chgrp sponge dos2unix unix2dos setfacl chattr
    mkfifo mknod fallocate strip setfattr patchelf setcap Set-Content Add-Content Clear-Content
    Out-File New-Item
    """
)
_FORMATTERS = names(
    """
    black isort autopep8 yapf gofmt rustfmt autoflake ruff prettier eslint 2to3 pyupgrade
    clang-format shfmt biome gofumpt goimports autopep8 docformatter codespell rubocop
    """
)
_ASKED_TO_WRITE = names(
    """
    ruff prettier eslint 2to3 clang-format shfmt biome rubocop autopep8 yapf gofmt gofumpt goimports
    autoflake docformatter codespell
    """
)
_COPY_VALUES = ("-t", "-m", "-o", "-g", "-S", "--exclude", "--include", "-e", "--rsh", "-P", "-i")


def recursive_root(rec: Recorder, state: State, words: Words) -> None:
    """Reads everything there is, what must not be read included."""
    if any(state.path(word) == "/" for word in words):
        rec.read(state, "/**")


def is_recursive(words: Words) -> bool:
    return any(word[:1] == "-" and _RECURSIVE.match(word) for word in words[1:])


def _readers(rec: Recorder, state: State, words: Words, pipe: Pipe | None) -> None:
    name = posixpath.basename(words[0])
    for word in operands(words, _OPTION_VALUES.get(name, ())):
        if name not in ("test", "[", "[[") or looks_like_path(word):
            rec.read(state, word)
    if name in ("sort", "tree", "iconv", "shuf") and (
        target := option_value(words, "-o", "--output")
    ):
        rec.write(state, target)
    if name in ("uniq", "xxd", "split", "csplit"):
        for word in operands(words, _OPTION_VALUES.get(name, ()))[1:2]:
            rec.write(state, word)
    for word in words[1:]:  # ``--files0-from=LIST``
        option, equals, value = word.partition("=")
        if equals and option[:2] == "--" and option not in LEAVES_OUT and looks_like_path(value):
            rec.read(state, value)
    if name in ("inotifywait", "fswatch"):
        rec.wait()


def _removers(rec: Recorder, state: State, words: Words, pipe: Pipe | None) -> None:
    tree = words[0].endswith(("rm", "Item")) and (is_recursive(words) or "-Recurse" in words)
    for word in operands(words):
        rec.remove(state, word, tree=tree)


def _writers(rec: Recorder, state: State, words: Words, pipe: Pipe | None) -> None:
    name = posixpath.basename(words[0])
    said = any(_MODE.match(word) for word in words[1:])  # ``chmod -x FILE``
    for word in operands(words, _OPTION_VALUES.get(name, ()))[name in _HEAD_OPERAND and not said :]:
        if name in _KEEP_TEXT:
            rec.touch(state, f"{word.rstrip('/')}/**" if is_recursive(words) else word)
        else:
            rec.write(state, word, pipe.text if name == "sponge" and pipe else None)


def _formatters(rec: Recorder, state: State, words: Words, pipe: Pipe | None) -> None:
    name = posixpath.basename(words[0])
    changes = "-w" in words or {"--diff", "-l", "-d", "--list-different"}.isdisjoint(words)
    changes = changes and not any(word.startswith("--check") for word in words)
    changes = changes and not (name == "isort" and "-c" in words)
    if name in _ASKED_TO_WRITE:
        asked = {
            "--in-place",
            "--inplace",
            "--fix",
            "-w",
            "--write",
            "-i",
            "format",
            "--fix-only",
            "-a",
            "-A",
        }
        changes = changes and not asked.isdisjoint(words)
    rule = name == "gofmt" and "-r" in words  # which changes what is said, not how it looks
    for word in operands(words, ("--line-length", "-l", "-c", "--config", "-r" if rule else "")):
        if changes and word not in ("format", "check"):
            all_below = rule and not word.endswith(".go")
            rec.touch(state, f"{word.rstrip('/')}/**" if all_below else word)
        elif looks_like_path(word):
            rec.read(state, word)


def _copy(rec: Recorder, state: State, words: Words, pipe: Pipe | None) -> None:
    name = posixpath.basename(words[0])
    found = operands(words, _COPY_VALUES)
    folder = option_value(words, "-t", "--target-directory")
    if folder is not None:
        sources, target = found, folder
    elif name == "install" and "-d" in words:
        for word in found:
            rec.read(state, word)
        return
    elif name == "ln" and len(found) == 1:
        sources, target = found, "."
    elif len(found) < 2:
        return
    else:
        sources, target = found[:-1], found[-1]
    into = (
        folder is not None or len(sources) > 1 or target.endswith("/") or target in (".", "..", "~")
    )
    if name in ("cp", "rsync"):
        recursive_root(rec, state, sources)
    remote = remote_of(target) if name in ("rsync", "scp", "rcp") else None
    if remote:
        rec.connect(remote, sends=True)
    for source in sources:
        if name in ("rsync", "scp", "rcp") and (host := remote_of(source)):
            rec.connect(host)
            if not remote:
                rec.write(state, target)
            continue
        rec.read(state, source)
        if remote:
            continue
        text = state.text(state.path(source))
        if name == "mv":
            rec.remove(state, source)
        base = posixpath.basename(source.rstrip("/"))
        place = posixpath.join(target, base) if into else target
        if name in ("ln", "link"):
            _link(rec, state, words, source, place)
        else:
            whole = source.endswith(("/", "/.")) or (name == "rsync" and is_recursive(words))
            rec.write(state, f"{target.rstrip('/')}/**" if whole else place, text)
    if name == "rsync" and "--delete" in words and not remote:
        rec.remove(state, target, tree=True)


def _link(rec: Recorder, state: State, words: Words, source: str, place: str) -> None:
    link = state.path(place)
    rec.write(state, place)
    symbolic = "s" in "".join(word for word in words[1:] if word.startswith("-"))
    aim = source
    if not source.startswith(("/", "~")):
        aim = posixpath.join(posixpath.dirname(link) if symbolic else state.cwd, source)
    state.links[link] = state.path(aim)


def _tee(rec: Recorder, state: State, words: Words, pipe: Pipe | None) -> None:
    text = pipe.text if pipe else None
    append = "-a" in words or "--append" in words
    for word in operands(words):
        old = state.text(state.path(word)) if append else None
        rec.write(state, word, text if text is None else (old or "") + text)


def _dd(rec: Recorder, state: State, words: Words, pipe: Pipe | None) -> None:
    for word in words[1:]:
        if word.startswith("if="):
            rec.read(state, word[3:])
        elif word.startswith("of="):
            rec.write(state, word[3:], pipe.text if pipe else None)


def _mkdir(rec: Recorder, state: State, words: Words, pipe: Pipe | None) -> None:
    # A folder that is made changes no file; that it is touched is enough for verifier roots.
    for word in operands(words, ("-m", "--mode")):
        rec.read(state, word)


def _mount(rec: Recorder, state: State, words: Words, pipe: Pipe | None) -> None:
    """What is mounted over a folder stands there from then on."""
    found = operands(words, ("-t", "-o", "-L", "-U"))
    if len(found) > 1:
        if host := remote_of(found[0].removeprefix("//").replace("/", ":", found[0][:2] == "//")):
            rec.connect(host)
        else:
            rec.read(state, found[0])
    for word in found[-1:]:
        rec.write(state, f"{word.rstrip('/')}/**")
    if len(found) > 1 and "bind" in " ".join(words):
        state.links[state.path(found[1])] = state.path(found[0])


def _sleep(rec: Recorder, state: State, words: Words, pipe: Pipe | None) -> None:
    rec.wait()


HANDLERS: dict[str, Handler] = {
    **dict.fromkeys(_READERS, _readers),
    **dict.fromkeys(_REMOVERS, _removers),
    **dict.fromkeys(_WRITERS, _writers),
    **dict.fromkeys(_FORMATTERS, _formatters),
    **dict.fromkeys(
        ("cp", "mv", "ln", "link", "install", "rsync", "scp", "rcp", "Copy-Item", "Move-Item"),
        _copy,
    ),
    "tee": _tee, "dd": _dd, "mkdir": _mkdir, "mount": _mount, "umount": _mount,
    "sleep": _sleep, "usleep": _sleep,
}  # fmt: skip
