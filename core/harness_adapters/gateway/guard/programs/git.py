"""``git``: files it changes, hosts it asks, and programs that it starts."""

from __future__ import annotations

import re

from harness_adapters.gateway.guard.hosts import host_of_operand, host_of_url, hosts_in
from harness_adapters.gateway.guard.patches import follow_patch, note_diffed
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
_SCP = re.compile(r"(?:[\w-]+\.)+[a-z]{2,}:(?!/)[\w~./-]+\Z")
# Programs of the repository that git runs by itself.
_HOOKS = {
    "commit": ("pre-commit", "prepare-commit-msg", "commit-msg", "post-commit"),
    "checkout": ("post-checkout",), "merge": ("pre-merge-commit", "post-merge"),
    "rebase": ("pre-rebase",), "am": ("applypatch-msg", "pre-applypatch", "post-applypatch"),
}  # fmt: skip
_ALIAS = re.compile(r"(?m)^\t([\w-]{1,64}) = (.{1,4096})$")
_FOREIGN = frozenset(
    ("svn", "lfs", "p4", "subtree", "http-fetch", "fetch-pack", "send-pack", "cvsimport")
)
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
_ADDRESS_SETTING = re.compile(
    r"(?:https?|remote)\..*?\.?(?:proxy|url|pushurl)\Z|core\.gitproxy\Z|lfs\.url\Z", re.IGNORECASE
)
# What makes git do something else than it does by itself.
_CHANGES_GIT = re.compile(
    r"core\.(?:hookspath|fsmonitor|attributesfile|excludesfile|worktree)=|init\.templatedir="
    r"|diff\.external=|(?:diff|merge|filter)\..+\.(?:textconv|command|driver|clean|smudge|process)=",
    re.IGNORECASE,
)
_FILTERS = (
    "--tree-filter", "--index-filter", "--env-filter", "--msg-filter", "--commit-filter",
    "--exec", "-x", "--extcmd", "--upload-pack", "--receive-pack", "--open-files-in-pager",
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
            if option.startswith("--work-tree="):
                inner.cwd = inner.path(option.partition("=")[2])
    for name in _PROGRAM_VARIABLES:
        if program := state.variables.get(name):
            run_program(rec, state.fork(), program)
    if not rest:
        return
    command = rest[0]
    if command not in _COMMANDS and state.known_any:
        for name, text in _ALIAS.findall(state.known(".git/config") or ""):
            aliases.setdefault(name, text[1:] if text.startswith("!") else f"git {text}")
    if command in aliases:
        run_program(rec, state.fork(), " ".join([aliases[command], *rest[1:]]))
        return
    for program in option_values(rest, *_FILTERS):
        run_program(rec, inner.fork(), program)
    for word in rest[1:] if command == "grep" else ():
        if word.startswith("-O") and len(word) > 2:
            run_program(rec, inner.fork(), word[2:])
    found = operands(rest, _VALUES)
    if command in _REMOTE:
        _remote(rec, inner, command, rest, found)
        state.variables.update(
            {k: v for k, v in inner.variables.items() if k.startswith("remote ")}
        )
    elif command in _FOREIGN:
        for word in found:
            rec.connect(host_of_url(word), address=word)
    elif follow := _COMMANDS.get(command):
        follow(rec, inner, rest, pipe)
        if state.known_any and "--no-verify" not in rest:
            for name in _HOOKS.get(command, ()):
                if text := inner.known(f".git/hooks/{name}"):
                    run_program(rec, inner.fork(), text)
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
    sends = command == "push" or (command == "remote" and "--push" in rest)
    if command == "remote" and {"add", "set-url"} & set(rest) and len(found) > 2:
        state.variables[f"remote {found[1]}"] = found[2]  # no variable of a shell is called so
    if command == "push":
        known = state.variables.get(f"remote {found[0] if found else 'origin'}")
        found = [*found, *([known] if known else [])]
    for word in found:
        if host := host_of_url(word) or (
            ("@" in word or _SCP.match(word)) and host_of_operand(word)
        ):
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
    if (
        pipe is not None and pipe.text is None and not checks
    ):  # ``git diff OTHER -- PATH | git apply``
        note_diffed(rec, state, pipe)
    for word in option_values(rest, "--include", "--directory"):
        rec.touch(state, word)


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
        if word.startswith((":!", ":^", ":(exclude")):
            continue
        if revision in (None, "HEAD", "@"):
            rec.read(state, word)
        else:
            whole = word in (".", "./", ":/")
            spared = [one for one in after if one.startswith((":!", ":^", ":(exclude"))]
            if not (whole and any("test" in one or "spec" in one for one in spared)):
                anywhere = word[:1] == "*" and "/" not in word  # a star of git's crosses folders
                folder = whole or "." not in word.rpartition("/")[2]
                name = f"**/{word}" if anywhere else word
                rec.write(state, f"{word.rstrip('/')}/**" if folder else name)


def _index(rec: Recorder, state: State, rest: Words, pipe: Pipe | None) -> None:
    """``update-index``: what git takes for unchanged, or puts in without the file."""
    changes = ("--skip-worktree", "--assume-unchanged", "--chmod", "--cacheinfo", "--force-remove")
    if any(word.startswith(changes) for word in rest):
        for word in operands(rest):
            for piece in word.split(","):
                rec.touch(state, piece)


def _clean(rec: Recorder, state: State, rest: Words, pipe: Pipe | None) -> None:
    """With ``-x`` files go away that git would have left alone."""
    options = "".join(word for word in rest[1:] if re.match(r"-\w+\Z", word))
    if "x" not in options or "n" in options or "--dry-run" in rest:
        return
    for word in operands(rest, ("-e", "--exclude")):
        rec.remove(state, word, tree=True)


def _sparse(rec: Recorder, state: State, rest: Words, pipe: Pipe | None) -> None:
    """All that is not named goes away."""
    if rest[1:2] and rest[1] in ("set", "init", "add"):
        rec.remove(state, ".", tree=True)


def _read_tree(rec: Recorder, state: State, rest: Words, pipe: Pipe | None) -> None:
    if any(word not in ("HEAD", "@") for word in operands(rest)):
        rec.remove(state, ".", tree=True)


def _commit(rec: Recorder, state: State, rest: Words, pipe: Pipe | None) -> None:
    said = option_values(rest, "-m", "--message", "-am", "-qam", "-qm")
    if said:
        state.files[state.path(".git/COMMIT_EDITMSG")] = "\n\n".join(said)
    if (message := option_value(rest, "-F", "--file", "--template", "-t")) is not None:
        rec.read(state, message)


def _bisect(rec: Recorder, state: State, rest: Words, pipe: Pipe | None) -> None:
    from harness_adapters.gateway.guard.launch import launch

    if len(rest) > 2 and rest[1] == "run":
        launch(rec, state.fork(), rest[2:], None)


def _config(rec: Recorder, state: State, rest: Words, pipe: Pipe | None) -> None:
    found = operands(rest, ("-f", "--file", "--type", "--default"))
    for word in found:
        for host in hosts_in(word) if word.startswith("url.") else ():
            rec.connect(host, address=word)  # ``url.X.insteadOf``: where addresses lead instead
    verb = ("set", "add", "get", "unset", "replace-all")
    key, *values = found[1:] if found[:1] and found[0] in verb else found or [""]
    if not values:
        return
    value = values[0]
    setting = f"{key}={value}"
    aliases: dict[str, str] = {}
    _setting(rec, state, setting, aliases)
    for program in aliases.values():  # whoever uses it later runs it
        run_program(rec, state.fork(), program)
    if aliases:
        place = state.path(".git/config")
        kept = state.known(".git/config") or ""
        state.files[place] = f"{kept}[alias]\n\t{key.partition('.')[2]} = {value}\n"
    if _ADDRESS_SETTING.match(key):
        rec.connect(host_of_operand(value), address=value)
    if _CHANGES_GIT.match(setting):
        everywhere = {"--global", "--system"} & set(rest)
        place = "~/.gitconfig" if "--global" in everywhere else "/etc/gitconfig"
        section, _, name = key.rpartition(".")
        rec.write(
            state, place if everywhere else ".git/config", f"[{section}]\n\t{name} = {value}\n"
        )


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
    "update-index": _index, "clean": _clean, "sparse-checkout": _sparse, "read-tree": _read_tree,
    "show": _show, "diff": _show, "log": _show,
}  # fmt: skip
HANDLERS: dict[str, Handler] = {"git": _git, "hub": _git}
