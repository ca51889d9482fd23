"""One command as it starts: functions, shell built-ins, wrappers, interpreters, plain programs."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Sequence
from itertools import pairwise

from harness_adapters.gateway.guard import filters, interpreters, programs, wrappers
from harness_adapters.gateway.guard.environment import SIFT_OR_CARRY, listing, note_listing
from harness_adapters.gateway.guard.lists import elements, joined
from harness_adapters.gateway.guard.pipe import Pipe
from harness_adapters.gateway.guard.programs.words import run_program
from harness_adapters.gateway.guard.recorder import Recorder
from harness_adapters.gateway.guard.state import State

# ``$PIP install x`` is what its name says; a variable of another name is mostly set nowhere, and
# then what follows is the command.
_UNTOLD = re.compile(r"\$[A-Za-z_]\w*\Z")
_MAY_RUN = re.compile(r"[A-Za-z_][\w+-]*\Z|\$\w+\Z|/(?:usr/)?s?bin/")
_TO_ARRAY = re.compile(r"-[a-zA-Z]*a\Z")  # ``read -ra NAME``


def launch(rec: Recorder, state: State, words: Sequence[str], pipe: Pipe | None) -> str | None:
    """Follow one command; the state changes as the shell's would.

    :returns: its output, where that is known.
    :raises Unjudgeable: beyond a limit.
    """
    rec.start(words)
    out = _launched(rec, state, words, pipe)
    rec.end()  # not after an error, which ends all of the call
    return out


def _launched(rec: Recorder, state: State, words: Sequence[str], pipe: Pipe | None) -> str | None:
    first = words[0]
    if state.functions and first in state.functions and first not in rec.calling:
        shell, body = state.functions[first]
        rec.calling.add(first)
        try:
            return shell.call(body, state, words, pipe)  # type: ignore[no-any-return]
        finally:
            rec.calling.discard(first)
    elif state.definitions and first in state.definitions and first not in rec.calling:
        return _defined_before(rec, state, words, pipe)
    name = first.rpartition("/")[2]
    if handler := _HANDLERS.get(name):
        return handler(rec, state, words, pipe)
    if interpreters.PYTHON.match(name):
        return interpreters.python(rec, state, words, pipe)
    if first[:1] == "$" and len(words) > 1 and _UNTOLD.match(first):
        named = first[1:].casefold()
        if named in _HANDLERS or programs.knows(named) or interpreters.PYTHON.match(named):
            launch(rec, state, [named, *words[1:]], pipe)
        elif _MAY_RUN.match(words[1]):
            launch(rec, state, words[1:], pipe)
    if "/" in first:
        interpreters.program_file(rec, state, words, pipe)
    if name in SIFT_OR_CARRY:
        note_listing(state, name, words, pipe)
    programs.follow(rec, state, name, words, pipe)
    return filters.output(state, name, words, pipe)


def _defined_before(
    rec: Recorder, state: State, words: Sequence[str], pipe: Pipe | None
) -> str | None:
    """A function or an alias of an earlier call, in a shell that goes on."""
    text = state.definitions[words[0]]
    if text.startswith("alias "):
        rec.calling.add(words[0])
        out = run_program(rec, state, " ".join([text[6:], *map(shlex.quote, words[1:])]), pipe)
        rec.calling.discard(words[0])
        return out
    run_program(rec, state, text)
    if words[0] not in state.functions:
        del state.definitions[words[0]]  # no definition after all
    return launch(rec, state, words, pipe)


# --- built-ins ----------------------------------------------------------------------------------


def _alias(rec: Recorder, state: State, words: Sequence[str], pipe: Pipe | None) -> str | None:
    for word in words[1:]:
        name, equals, value = word.partition("=")
        if equals:
            state.definitions[name] = f"alias {value}"
    return ""


def _cd(rec: Recorder, state: State, words: Sequence[str], pipe: Pipe | None) -> str | None:
    operands = [word for word in words[1:] if not word.startswith("-") or word == "-"]
    target = operands[0] if operands else "~"
    if words[0] == "popd" or target == "-":
        target = state.variables.get("OLDPWD", state.cwd)
    rec.read(state, target)
    state.variables["OLDPWD"] = state.cwd
    state.cwd = state.path(target)
    return ""


def _export(rec: Recorder, state: State, words: Sequence[str], pipe: Pipe | None) -> str | None:
    for word in words[1:]:
        name, equals, value = word.partition("=")
        if equals:
            state.variables[name] = value
        index_runs(rec, state, word)
    return listing(words) or ""


def _eval(rec: Recorder, state: State, words: Sequence[str], pipe: Pipe | None) -> str | None:
    return run_program(rec, state, " ".join(words[1:]), pipe)


def _read(rec: Recorder, state: State, words: Sequence[str], pipe: Pipe | None) -> str | None:
    names = [word for word in words[1:] if not word.startswith("-")]
    lines = pipe.text.splitlines() if pipe and pipe.text else []
    marks = state.variables.get("IFS", "").strip()
    if words[0] != "read":  # ``mapfile``
        if "-C" in words:
            run_program(rec, state.fork(), words[list(words).index("-C") + 1])
        if lines and names:
            state.variables[names[-1]] = joined(lines)
        names = []
    elif lines and marks:
        lines = [re.sub(f"[{re.escape(marks)}]", " ", line) for line in lines]
    if lines and names and any(_TO_ARRAY.match(word) for word in words[1:]):
        state.variables[names[0]] = joined(" ".join(lines).split())
        names = []
    fields = lines[0].split(None, max(len(names) - 1, 0)) if lines and names else []
    fields += [""] * (len(names) - len(fields) if fields else 0)
    for name, value in zip(names, fields, strict=False):
        # Several lines: each turn of the loop around it gets one; unquoted use splits them.
        state.variables[name] = " ".join(lines) if len(names) == 1 else value
    for word in words[1:]:
        index_runs(rec, state, word)
    return ""


def _set(rec: Recorder, state: State, words: Sequence[str], pipe: Pipe | None) -> str | None:
    rest = list(words[1:])
    while rest and rest[0] != "--" and rest[0][:1] in ("-", "+"):
        rest = rest[2:] if rest[0][1:].endswith("o") else rest[1:]
    if rest:
        state.variables["@"] = joined(rest[rest[0] == "--" :])
    return listing(words) or ""


def _shift(rec: Recorder, state: State, words: Sequence[str], pipe: Pipe | None) -> str | None:
    given = state.variables.get("@")
    if given is not None:
        rec.value(8 * len(given))
        places = int(words[1][:4]) if len(words) > 1 and words[1].isdecimal() else 1
        state.variables["@"] = joined(elements(given)[places:])
    return ""


def _trap(rec: Recorder, state: State, words: Sequence[str], pipe: Pipe | None) -> str | None:
    if len(words) > 2:
        run_program(rec, state.fork(), words[1])
    return ""


def index_runs(rec: Recorder, state: State, word: str) -> None:
    """The index of an array is worked out where its name is used, substitutions in it included."""
    if "[" in word and ("$(" in word or "`" in word):
        run_program(rec, state.fork(), f': "{word.partition("[")[2]}"')


def _index(rec: Recorder, state: State, words: Sequence[str], pipe: Pipe | None) -> str | None:
    for word in words[1:]:
        index_runs(rec, state, word)
    name = words[0].rpartition("/")[2]
    programs.follow(rec, state, name, words, pipe)
    return filters.output(state, name, words, pipe)


def _completion(rec: Recorder, state: State, words: Sequence[str], pipe: Pipe | None) -> str | None:
    """``complete -C COMMAND``, ``bind -x '"KEY":COMMAND'``: commands for the shell to run."""
    for before, word in pairwise(words):
        if before == "-C":
            run_program(rec, state.fork(), word)
        elif before == "-x":
            run_program(rec, state.fork(), word.partition(":")[2])
        elif before in ("-f", "-d", "-G"):  # names of files that there are
            rec.read(state, word)
    return None


def _printf(rec: Recorder, state: State, words: Sequence[str], pipe: Pipe | None) -> str | None:
    if len(words) > 3 and words[1] == "-v":
        index_runs(rec, state, words[2])
        out = filters.output(state, "printf", ["printf", *words[3:]], None)
        if out is not None:
            state.variables[words[2]] = out
        return ""
    return filters.output(state, "printf", words, pipe)


Handler = Callable[[Recorder, State, Sequence[str], "Pipe | None"], "str | None"]
_HANDLERS: dict[str, Handler] = {
    "alias": _alias, "cd": _cd, "pushd": _cd, "popd": _cd,
    "export": _export, "declare": _export, "local": _export, "typeset": _export,
    "readonly": _export, "eval": _eval, "printf": _printf,
    **dict.fromkeys(("test", "[", "[[", "let", "unset"), _index),
    **dict.fromkeys(("complete", "compgen", "bind"), _completion),
    "read": _read, "mapfile": _read, "readarray": _read,
    "set": _set, "shift": _shift, "trap": _trap,
    **dict.fromkeys(("$SHELL", "$BASH", "$0"), interpreters.shell),
    **interpreters.HANDLERS, **wrappers.HANDLERS,
}  # fmt: skip
