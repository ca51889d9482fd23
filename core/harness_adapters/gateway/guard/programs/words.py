"""The words of a command: operands, options and their values."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from harness_adapters.gateway.guard.hosts import host_of_operand, host_of_url
from harness_adapters.gateway.guard.paths import looks_like_path
from harness_adapters.gateway.guard.pipe import Pipe
from harness_adapters.gateway.guard.recorder import Recorder
from harness_adapters.gateway.guard.state import State

_OUTPUTS = frozenset(
    ("-o", "-O", "--output", "--out", "--outfile", "--output-file", "--outdir", "--output-dir")
)
Words = Sequence[str]
Handler = Callable[[Recorder, State, Words, "Pipe | None"], None]


def operands(words: Words, with_value: Sequence[str] = ()) -> list[str]:
    """The words that are no options; ``with_value`` names options that take the next word."""
    found: list[str] = []
    only = False
    skip = False
    for word in words[1:]:
        if skip:
            skip = False
        elif only or word[:1] != "-" or word == "-":
            found.append(word)
        elif word == "--":
            only = True
        else:
            skip = word in with_value
    return found


def option_value(words: Words, *names: str) -> str | None:
    """The value of an option, given as the next word, after ``=``, or joined to a short one."""
    for i in range(1, len(words)):
        word = words[i]
        if word[:1] != "-":
            continue
        if word in names:
            return words[i + 1] if i + 1 < len(words) else None
        if len(word) < 3:  # nothing can be joined to it
            continue
        for name in names:
            if name.startswith("--") and word.startswith(name + "="):
                return word[len(name) + 1 :]
            if len(name) == 2 and not word.startswith("--") and word.startswith(name):
                return word[2:]
    return None


def option_values(words: Words, *names: str) -> list[str]:
    """All values of options that may be given several times."""
    found = [words[i + 1] for i, word in enumerate(words[:-1]) if word in names]
    long = tuple(f"{name}=" for name in names if name.startswith("--"))
    return found + [word.partition("=")[2] for word in words[1:] if long and word.startswith(long)]


#: Options that name what a program is to pass by.
LEAVES_OUT = frozenset(("--exclude", "--exclude-dir", "--exclude-path", "--ignore-dir"))


def path_operands(rec: Recorder, state: State, words: Words) -> None:
    """Whatever looks like a path or URL in the words of a program that nobody here knows."""
    writes = False
    for word in words:
        if word.startswith("-"):
            name, equals, word = word.partition("=")
            if name in LEAVES_OUT:
                continue
            writes = name in _OUTPUTS
            if writes and equals and looks_like_path(word):
                rec.write(state, word)
        elif writes and looks_like_path(word):
            rec.write(state, word)
            writes = False
            continue
        if host := host_of_url(word):
            rec.connect(host, address=word)
        elif looks_like_path(word):
            rec.read(state, word)


def remote_of(word: str) -> str | None:
    """The host of ``[user@]host:path``, as copies over the net name places; ``None`` for a path
    of this machine."""
    head, colon, _ = word.partition(":")
    if not colon or "/" in head or not head:
        return host_of_operand(word) if "://" in word else None
    return host_of_operand(word) or host_of_operand(head) or head.rpartition("@")[2]


def run_program(rec: Recorder, state: State, text: str, pipe: Pipe | None = None) -> str | None:
    """A shell program that a program starts."""
    from harness_adapters.gateway.guard.shell import run_shell

    return run_shell(rec, state, text, pipe)
