"""``git``: files it changes, hosts it asks, and programs that it starts."""

from __future__ import annotations

import re

from harness_adapters.gateway.guard.hosts import host_of_operand, host_of_url, hosts_in
from harness_adapters.gateway.guard.patches import follow_patch
from harness_adapters.gateway.guard.pipe import Pipe
from harness_adapters.gateway.guard.programs.words import (
    Handler,
    Words,
    operands,
    option_value,
    option_values,
    run_program,
)
from harness_adapters.gateway.guard.recorder import Recorder
from harness_adapters.gateway.guard.state import State

_GLOBAL_VALUES = ("-C", "-c", "--git-dir", "--work-tree", "--exec-path", "--namespace")
_VALUES = ("-m", "-F", "-b", "-B", "-n", "--author", "--date", "-S", "-G", "--message", "-x")
_REMOTE = frozenset(("clone", "ls-remote", "fetch", "pull", "push", "remote", "submodule"))
# Variables and settings that name a program.
_PROGRAM_SETTING = re.compile(
    r"(?:alias\.\S+?|core\.(?:pager|editor|sshcommand|fsmonitor|askpass|hookspath)|pager\.\w+"
    r"|diff\.external|\w+\.\w+\.(?:cmd|textconv|command|driver|process|clean|smudge)"
    r"|sequence\.editor|credential\.helper|gpg\.program)=(.*)\Z",
    re.IGNORECASE | re.DOTALL,
)
_PROGRAM_VARIABLES = (
    "GIT_EDITOR", "GIT_SEQUENCE_EDITOR", "GIT_PAGER", "GIT_SSH_COMMAND", "GIT_EXTERNAL_DIFF",
    "GIT_ASKPASS", "GIT_PROXY_COMMAND",
)  # fmt: skip
_FILTERS = (
    "--tree-filter", "--index-filter", "--env-filter", "--msg-filter", "--commit-filter",
    "--exec", "-x", "--extcmd", "--upload-pack", "--receive-pack",
)  # fmt: skip


def _git(rec: Recorder, state: State, words: Words, pipe: Pipe | None) -> None:
    inner = state.fork()
    rest = list(words[1:])
    aliases: dict[str, str] = {}
    while rest and rest[0].startswith("-"):
        option = rest.pop(0)
        if option in _GLOBAL_VALUES and rest:
            value = rest.pop(0)
            if option == "-c":
                _setting(rec, state, value, aliases)
                continue
            rec.read(inner, value)
            if option in ("-C", "--work-tree"):
                inner.cwd = inner.path(value)
        elif option.startswith(("--git-dir=", "--work-tree=")):
            rec.read(inner, option.partition("=")[2])
    for name in _PROGRAM_VARIABLES:
        if program := state.variables.get(name):
            run_program(rec, state.fork(), program)
    if not rest:
        return
    command = rest[0]
    if command in aliases:
        run_program(rec, state.fork(), " ".join([aliases[command], *rest[1:]]))
        return
    for program in option_values(rest, *_FILTERS):
        run_program(rec, inner.fork(), program)
    found = operands(rest, _VALUES)
    if command in _REMOTE:
        _remote(rec, inner, command, rest, found)
    elif follow := _COMMANDS.get(command):
        follow(rec, inner, rest, pipe)
    else:
        for word in found:
            if word.startswith(("/", "~/", "../")):
                rec.read(inner, word)


def _setting(rec: Recorder, state: State, setting: str, aliases: dict[str, str]) -> None:
    """``-c NAME=VALUE`` where the value is a program."""
    if not (program := _PROGRAM_SETTING.match(setting)):
        return
    text = program.group(1)
    name = setting.partition("=")[0]
    if name.startswith("alias."):
        aliases[name[6:]] = text[1:] if text.startswith("!") else f"git {text}"
    else:
        run_program(rec, state.fork(), text.removeprefix("!"))


def _remote(rec: Recorder, state: State, command: str, rest: Words, found: list[str]) -> None:
    sends = command == "push"
    for word in found:
        if host := host_of_url(word) or ("@" in word and host_of_operand(word)):
            if command != "remote" or "add" in rest or "set-url" in rest:
                rec.connect(host, sends=sends)
        elif word.startswith(("/", "~")) or (command == "clone" and "/" in word):
            rec.read(state, word)
    if command == "clone" and len(found) > 1:
        rec.write(state, found[-1])
    if command == "submodule" and "foreach" in rest:
        at = list(rest).index("foreach") + 1
        run_program(rec, state.fork(), " ".join(w for w in rest[at:] if w != "--recursive"))


def _apply(rec: Recorder, state: State, rest: Words, pipe: Pipe | None) -> None:
    checks = bool({"--check", "--stat", "--numstat", "--summary"} & set(rest))
    texts = [pipe.text if pipe is not None else None]
    for word in operands(rest, _VALUES):
        rec.read(state, word)
        texts.append(state.text(state.path(word)))
    for text in texts:
        if text is not None and not checks:
            follow_patch(rec, state, text)


def _remove(rec: Recorder, state: State, rest: Words, pipe: Pipe | None) -> None:
    if "--cached" in rest:
        return
    found = operands(rest, _VALUES)
    for word in found:
        rec.remove(state, word, tree=bool({"-r", "-rf", "-fr"} & set(rest)))


def _checkout(rec: Recorder, state: State, rest: Words, pipe: Pipe | None) -> None:
    """From the index or HEAD a file comes back as it was; from elsewhere it changes."""
    command, found = rest[0], operands(rest, (*_VALUES, "-s", "--source"))
    after = list(rest[list(rest).index("--") + 1 :]) if "--" in rest else []
    source = option_value(rest, "--source", "-s")
    revision = source or (found[0] if after and found and found[0] not in after else None)
    if not after and command == "checkout" and len(found) > 1:
        revision, after = found[0], found[1:]
    for word in after or (found if source else []):
        if revision in (None, "HEAD", "@"):
            rec.read(state, word)
        else:
            rec.write(state, word)


def _commit(rec: Recorder, state: State, rest: Words, pipe: Pipe | None) -> None:
    if (message := option_value(rest, "-F", "--file", "--template", "-t")) is not None:
        rec.read(state, message)


def _bisect(rec: Recorder, state: State, rest: Words, pipe: Pipe | None) -> None:
    from harness_adapters.gateway.guard.launch import launch

    if len(rest) > 2 and rest[1] == "run":
        launch(rec, state.fork(), rest[2:], None)


def _config(rec: Recorder, state: State, rest: Words, pipe: Pipe | None) -> None:
    found = operands(rest, ("-f", "--file"))
    for word in found[1:]:
        for host in hosts_in(word) if word.startswith("url.") else ():
            rec.connect(host, address=word)  # ``url.X.insteadOf``: where addresses lead instead
    if len(found) > 2:
        _setting(rec, state, f"{found[1]}={found[2]}", {})


def _worktree(rec: Recorder, state: State, rest: Words, pipe: Pipe | None) -> None:
    found = operands(rest, _VALUES)
    if len(found) > 2 and found[1] == "add":
        rec.write(state, found[2])


def _show(rec: Recorder, state: State, rest: Words, pipe: Pipe | None) -> None:
    for word in operands(rest, _VALUES):
        if word.startswith(("/", "~/", "../")):
            rec.read(state, word)
    if (target := option_value(rest, "--output")) is not None:
        rec.write(state, target)


_COMMANDS: dict[str, Handler] = {
    "apply": _apply, "am": _apply, "rm": _remove, "mv": _remove,
    "checkout": _checkout, "restore": _checkout, "commit": _commit, "tag": _commit,
    "notes": _commit, "bisect": _bisect, "config": _config, "worktree": _worktree,
    "show": _show, "diff": _show, "log": _show,
}  # fmt: skip
HANDLERS: dict[str, Handler] = {"git": _git, "hub": _git}
