"""Programs that start other programs: at once, for each of many words, elsewhere, or later."""

from __future__ import annotations

import posixpath
import re
import shlex
from collections.abc import Callable, Iterator, Sequence

from harness_adapters.gateway.guard.environment import LISTING
from harness_adapters.gateway.guard.pipe import Pipe
from harness_adapters.gateway.guard.programs.words import option_value, option_values, run_program
from harness_adapters.gateway.guard.recorder import Recorder
from harness_adapters.gateway.guard.state import State
from harness_adapters.gateway.guard.words import ansi_unescaped

_ASSIGNMENT = re.compile(r"[A-Za-z_]\w*=")
_FUNCTION = re.compile(r"BASH_FUNC_([\w.-]+)%%=(\(\).*)\Z", re.DOTALL)
# Wrapper -> (options that take a value, operands before the command).
_WRAPPERS: dict[str, tuple[frozenset[str], int]] = {
    "env": (frozenset(("-u", "-C", "--unset", "--chdir")), 0),
    "sudo": (frozenset(("-u", "-g", "-h", "-p", "-C", "-D", "--user", "--group")), 0),
    "doas": (frozenset(("-u", "-C")), 0),
    "timeout": (frozenset(("-s", "-k", "--signal", "--kill-after")), 1),
    "gtimeout": (frozenset(("-s", "-k")), 1),
    "nice": (frozenset(("-n", "--adjustment")), 0),
    "ionice": (frozenset(("-c", "-n", "-p")), 0),
    "chrt": (frozenset(), 1),
    "taskset": (frozenset(), 1),
    "cpulimit": (frozenset(("-l", "-p")), 0),
    "prlimit": (frozenset(("-p",)), 0),
    "nohup": (frozenset(), 0),
    "setsid": (frozenset(), 0),
    "daemonize": (frozenset(("-p", "-o", "-e", "-c", "-u")), 0),
    "stdbuf": (frozenset(("-i", "-o", "-e")), 0),
    "time": (frozenset(("-f", "-o")), 0),
    "command": (frozenset(), 0),
    "builtin": (frozenset(), 0),
    "exec": (frozenset(("-a",)), 0),
    "coproc": (frozenset(), 0),
    "unbuffer": (frozenset(), 0),
    "strace": (frozenset(("-e", "-o", "-p", "-s")), 0),
    "ltrace": (frozenset(("-e", "-o", "-p", "-s")), 0),
    "valgrind": (frozenset(), 0),
    "chroot": (frozenset(), 1),
    "flock": (frozenset(("-w", "-E")), 1),
    "busybox": (frozenset(), 0),
    "toybox": (frozenset(), 0),
    "caffeinate": (frozenset(("-t", "-w")), 0),
    "watch": (frozenset(("-n", "-d", "--interval")), 0),
    "unshare": (frozenset(), 0),
    "nsenter": (frozenset(("-t", "--target")), 0),
    "setpriv": (frozenset(), 0),
    "fakeroot": (frozenset(), 0),
    "runuser": (frozenset(("-u", "-g", "-G")), 0),
    "proot": (frozenset(("-r", "-b", "-w")), 0),
    "firejail": (frozenset(), 0),
    "faketime": (frozenset(("-f",)), 1),
    "proxychains": (frozenset(("-f",)), 0),
    "proxychains4": (frozenset(("-f",)), 0),
    "torsocks": (frozenset(), 0),
    "xvfb-run": (frozenset(("-s", "-n")), 0),
    "dbus-run-session": (frozenset(), 0),
    "systemd-run": (frozenset(("-p", "-u", "--unit", "-M", "--property")), 0),
    "hyperfine": (frozenset(("-r", "-w", "-n", "--runs", "--warmup")), 0),
    "entr": (frozenset(), 0),
    "perf": (frozenset(("-e", "-o")), 1),
    "then": (frozenset(), 0),
    "do": (frozenset(), 0),
}
# ``uv run X``: the word after which a program follows.
_RUNNERS = {
    "uv": ("run",), "poetry": ("run",), "pipenv": ("run",), "pdm": ("run",), "rye": ("run",),
    "hatch": ("run",), "conda": ("run",), "mamba": ("run",), "micromamba": ("run",),
    "bundle": ("exec",), "direnv": ("exec",), "pyenv": ("exec",), "asdf": ("exec",),
    "mise": ("exec", "x"), "dotenv": ("run",), "pixi": ("run",),
}  # fmt: skip
_RUNNER_VALUES = frozenset(
    ("-n", "-p", "--name", "--with", "--python", "--project", "--directory", "--extra", "--group")
)
_SHELL_STRINGS = frozenset(("watch", "hyperfine"))
_XARGS_VALUES = frozenset(
    (
        "-n", "-I", "-P", "-L", "-d", "-E", "-s", "-a", "-j", "--max-args", "--max-procs",
        "--delimiter", "--replace", "--jobs", "--arg-file",
    )
)  # fmt: skip
_CRON_LINE = re.compile(r"(?m)^[ \t]*(?:@\w+|(?:[\d*/,-]+[ \t]+){5})[ \t]*(.+)$")


def _wrapper(rec: Recorder, state: State, words: Sequence[str], pipe: Pipe | None) -> str | None:
    from harness_adapters.gateway.guard.launch import launch

    name = posixpath.basename(words[0])
    with_value, skip = _WRAPPERS[name]
    inner = state if name in ("command", "builtin", "exec") else state.fork()
    rest = list(words[1:])
    if name == "command" and rest[:1] and rest[0] in ("-v", "-V"):
        return f"/usr/bin/{rest[1]}\n" if len(rest) > 1 else None
    while rest:
        word = rest[0]
        if word == "--":
            rest.pop(0)
            break
        if name == "env" and word in ("-S", "--split-string"):
            return run_program(rec, inner, " ".join(rest[1:]), pipe)
        if name == "env" and word.startswith(("-S", "--split-string=")):
            text = word[2:] if word[1] == "S" else word.partition("=")[2]
            return run_program(rec, inner, " ".join([text, *rest[1:]]), pipe)
        if name in ("flock", "script", "unshare", "runuser") and word == "-c" and len(rest) > 1:
            return run_program(rec, inner, rest[1], pipe)
        if word.startswith("-") and len(word) > 1:
            if word in ("-C", "--chdir", "-D") and len(rest) > 1 and name in ("env", "sudo"):
                inner.cwd = inner.path(rest[1])
            del rest[: 2 if word in with_value else 1]
        elif name == "env" and (exported := _FUNCTION.match(word)):
            run_program(rec, inner, f"{exported.group(1)} {exported.group(2)}")
            rest.pop(0)
        elif _ASSIGNMENT.match(word) and name in ("env", "sudo", "doas"):
            key, _, value = word.partition("=")
            inner.variables[key] = value
            rest.pop(0)
        elif skip:
            if name in ("flock", "chroot"):
                rec.read(inner, word)
            skip -= 1
            rest.pop(0)
        else:
            break
    if not rest:
        return LISTING if name == "env" else None
    if name in ("nohup", "setsid", "daemonize", "systemd-run"):
        with rec.background():
            return launch(rec, inner, rest, pipe)
    if name == "watch":
        rec.wait()
    if name in _SHELL_STRINGS:
        return run_program(rec, inner, " ".join(rest), pipe)
    return launch(rec, inner, rest, pipe)


def _runner(rec: Recorder, state: State, words: Sequence[str], pipe: Pipe | None) -> str | None:
    """``uv run [options] COMMAND``; everything else that these do is their own business."""
    from harness_adapters.gateway.guard import programs
    from harness_adapters.gateway.guard.launch import launch

    name = posixpath.basename(words[0])
    verbs = _RUNNERS[name]
    at = next((i for i, word in enumerate(words[:6]) if word in verbs), 0)
    if not at:
        programs.follow(rec, state, name, words, pipe)
        return None
    rest = list(words[at + 1 :])
    if name == "direnv" and rest:
        rest.pop(0)
    while rest and rest[0].startswith("-"):
        if rest[0] in ("-m", "--module") and len(rest) > 1:
            rest[0:1] = ["python3", "-m"]
            break
        del rest[: 2 if rest[0] in _RUNNER_VALUES else 1]
    if not rest:
        return None
    if rest[0].endswith(".py"):
        rest.insert(0, "python3")
    return launch(rec, state.fork(), rest, pipe)


def _given_text(rec: Recorder, state: State, words: Sequence[str], pipe: Pipe | None) -> str | None:
    """``su -c TEXT``, ``script -c TEXT``, ``nix-shell --run TEXT``."""
    text = option_value(words, "-c", "--command", "--run", "--exec", "--session-command", "-P")
    for i, word in enumerate(words[:-1]):
        if re.match(r"-[a-z]+c\Z", word):  # ``script -qc TEXT``
            text = words[i + 1]
    return None if text is None else run_program(rec, state.fork(), text, pipe)


def _stdin_shell(
    rec: Recorder, state: State, words: Sequence[str], pipe: Pipe | None
) -> str | None:
    """``newgrp``: a shell that reads on."""
    return None if pipe is None else run_program(rec, state.fork(), pipe.text or "")


def _debugger(rec: Recorder, state: State, words: Sequence[str], pipe: Pipe | None) -> str | None:
    from harness_adapters.gateway.guard.launch import launch

    texts = option_values(words, "-ex", "-iex", "--eval-command", "-o", "-O")
    for text in [*texts, *(pipe.text or "" if pipe else "").splitlines()]:
        found = re.match(
            r"\s*(?:shell|!|make|platform shell|call\s+(?:\(\w+\))?system\(\")\s*(.+)", text
        )
        if found:
            run_program(rec, state.fork(), found.group(1).removesuffix('")'))
        if found := re.match(r"\s*(?:python|py|script|pi)\s+(.+)", text):
            launch(rec, state.fork(), ["python3", "-c", found.group(1)], None)
    if "--args" in words:
        return launch(rec, state.fork(), words[list(words).index("--args") + 1 :], pipe)
    return None


def _later(rec: Recorder, state: State, words: Sequence[str], pipe: Pipe | None) -> str | None:
    """``at``, ``batch``, ``crontab``: what they are given runs when the call is over."""
    name = posixpath.basename(words[0])
    operands = [word for word in words[1:] if not word.startswith("-") or word == "-"]
    text = pipe.text if pipe else None
    file = option_value(words, "-f", "--file") or (
        operands[0] if name == "crontab" and operands else None
    )
    if file is not None and file != "-":
        rec.read(state, file)
        text = state.text(state.path(file))
    with rec.background(waits=True):
        for program in _CRON_LINE.findall(text or "") if name == "crontab" else [text or ""]:
            run_program(rec, state.fork(), program)
    return ""


def _terminal(rec: Recorder, state: State, words: Sequence[str], pipe: Pipe | None) -> str | None:
    """``tmux`` and ``screen``: programs that go on in a terminal of their own."""
    from harness_adapters.gateway.guard.launch import launch

    name = posixpath.basename(words[0])
    rest = list(words[1:])
    with rec.background():
        if name == "screen":
            while rest and rest[0].startswith("-"):
                option = rest.pop(0)
                if option[-1] in "Spcth" and rest:
                    rest.pop(0)
            if rest[:1] == ["stuff"]:
                run_program(rec, state.fork(), " ".join(rest[1:]))
            elif rest:
                launch(rec, state.fork(), rest, pipe)
            return ""
        for text in rest:
            if " " in text.strip() or "/" in text:
                run_program(rec, state.fork(), text)
        if "send-keys" not in rest and (words_of := _after_options(rest)):
            launch(rec, state.fork(), words_of, pipe)
    return ""


def _after_options(rest: list[str]) -> list[str]:
    """The command words of ``tmux new-session -d -s NAME COMMAND ...``."""
    found = list(rest[1:])
    while found and found[0].startswith("-"):
        option = found.pop(0)
        if option[-1] in "sncxytFef" and found:
            found.pop(0)
    return found if len(found) > 1 else []


def _daemon(rec: Recorder, state: State, words: Sequence[str], pipe: Pipe | None) -> str | None:
    from harness_adapters.gateway.guard.launch import launch

    program = option_value(words, "-x", "--exec", "-a", "--startas")
    rest = list(words[list(words).index("--") + 1 :]) if "--" in words else []
    if program is not None:
        with rec.background():
            launch(rec, state.fork(), [program, *rest], pipe)
    return ""


def _xargs(rec: Recorder, state: State, words: Sequence[str], pipe: Pipe | None) -> str | None:
    from harness_adapters.gateway.guard.launch import launch

    parallel = words[0].endswith("parallel")
    rest = list(words[1:])
    replace = "{}" if parallel else ""
    files = ""
    while rest and rest[0].startswith("-"):
        option = rest.pop(0)
        if option in _XARGS_VALUES and rest:
            value = rest.pop(0)
            replace = value if option == "-I" else replace
            files = value if option in ("-a", "--arg-file") else files
        elif option.startswith("-I") and len(option) > 2:
            replace = option[2:]
        elif option in ("-i", "--replace"):
            replace = "{}"
    text = pipe.text if pipe else None
    if files:
        rec.read(state, files)
        text = state.text(state.path(files))
    if ":::" in rest:
        at = rest.index(":::")
        text = "\n".join(rest[at + 1 :])
        rest = rest[:at]
    given = _separated(text or "", words, rest)
    if not rest:
        if parallel and text:
            return run_program(rec, state.fork(), text)
        return " ".join(given)
    if replace and any(replace in word for word in rest):
        lines = [
            line.strip() for line in (text or "").replace("\0", "\n").splitlines() if line.strip()
        ]
        for line in lines[:64]:
            filled = [word.replace(replace, line) for word in rest]
            if parallel:
                run_program(rec, state.fork(), " ".join(filled))
            else:
                launch(rec, state.fork(), filled, None)
        if lines:
            return None
    return launch(rec, state.fork(), [*rest, *given], None)


def _separated(text: str, words: Sequence[str], rest: Sequence[str]) -> list[str]:
    """What ``xargs`` makes of its input: words with their quotes taken off, unless it is told what
    separates them."""
    options = words[1 : len(words) - len(rest)]
    if {"-0", "--null"} & set(options) or any(re.match(r"-\w*0\w*\Z", one) for one in options):
        return [one for one in text.split("\0") if one][:256]
    separator = option_value([words[0], *options], "-d", "--delimiter")
    if separator:
        return [one for one in text.split(ansi_unescaped(separator)) if one][:256]
    try:
        return shlex.split(text)[:256]
    except ValueError:
        return text.replace("'", "").replace('"', "").split()[:256]


_TESTS = re.compile(r"(?<![a-z])(?:[Tt]ests?|[Ss]pecs?)(?![a-z])")


def _find(rec: Recorder, state: State, words: Sequence[str], pipe: Pipe | None) -> str | None:
    starts: list[str] = []
    at = 1
    while at < len(words) and words[at] in ("-L", "-H", "-P"):
        at += 1
    while at < len(words) and not words[at].startswith(("-", "(", "!")):
        starts.append(words[at])
        at += 1
    starts = starts or ["."]
    for start in starts:
        rec.read(state, start)
    branches = list(_branches(words[at:]))
    left_out = [
        word
        for branch in branches
        for word in (branch if _is_left_out(branch) else _denied(branch))
    ]
    printed: list[str] = []
    for branch in branches:
        if not _is_left_out(branch) or len(branches) == 1:
            found = _found(branch, starts, left_out)
            _act_on_found(rec, state, branch, found)
            printed += found
    mark = "\0" if "-print0" in words else "\n"
    return mark.join(printed) + mark


def _branches(words: Sequence[str]) -> Iterator[list[str]]:
    """The parts of ``find``'s expression of which the first that holds acts: apart by ``-o``."""
    branch: list[str] = []
    depth, command = 0, False
    for word in words:
        if command:
            command = word not in (";", "+")
        elif word in _RUNS_FOUND:
            command = True
        elif word in ("(", ")"):
            depth += 1 if word == "(" else -1
        elif word in ("-o", "-or", ",") and depth <= 0:
            yield branch
            branch = []
            continue
        branch.append(word)
    yield branch


_RUNS_FOUND = frozenset(("-exec", "-execdir", "-ok", "-okdir"))
_ACTS = _RUNS_FOUND | {
    "-delete",
    "-print",
    "-print0",
    "-printf",
    "-fprint",
    "-fprintf",
    "-ls",
    "-fls",
}


def _is_left_out(branch: Sequence[str]) -> bool:
    """``-path ./tests -prune``, and nothing is done with that."""
    return "-prune" in branch and _ACTS.isdisjoint(branch)


def _denied(branch: Sequence[str]) -> list[str]:
    return [two for one, _, two in _triples(branch) if one in ("!", "-not")]


def _found(branch: Sequence[str], starts: Sequence[str], left_out: Sequence[str]) -> list[str]:
    """Patterns of the paths that a branch holds for."""
    names = [
        two
        for before, one, two in _triples(branch)
        if one in ("-name", "-iname") and before not in ("!", "-not")
    ]
    whole = [
        two.removeprefix("./")
        for before, one, two in _triples(branch)
        if one in ("-path", "-wholename") and before not in ("!", "-not")
    ]
    found = [posixpath.join(start, "**", name) for start in starts for name in names or ["*"]]
    if whole and not names:
        found = [
            one if one.startswith("/") else posixpath.join(start, "**", one.removeprefix("*/"))
            for start in starts
            for one in whole
        ]
    if any(map(_TESTS.search, left_out)) and not any(map(_TESTS.search, [*starts, *names, *whole])):
        # What is left out is in none of them, but a file by its name may well be.
        found = [
            one if "*" not in posixpath.basename(one) else posixpath.join(start, "$found")
            for start in starts
            for one in found
        ]
    return found


def _act_on_found(rec: Recorder, state: State, branch: Sequence[str], found: Sequence[str]) -> None:
    from harness_adapters.gateway.guard.launch import launch

    i = 0
    while i < len(branch):
        if branch[i] == "-delete":
            for one in found:
                rec.remove(state, one)
        elif branch[i] in ("-fprint", "-fprintf", "-fls") and i + 1 < len(branch):
            rec.write(state, branch[i + 1])
        elif branch[i] in _RUNS_FOUND:
            end = i + 1
            while end < len(branch) and branch[end] not in (";", "+"):
                end += 1
            command = branch[i + 1 : end]
            for one in found[:16]:
                if command:
                    launch(rec, state.fork(), [word.replace("{}", one) for word in command], None)
            i = end
        i += 1


def _triples(words: Sequence[str]) -> Iterator[tuple[str, str, str]]:
    """Each word with the one before it, if any, and the one after it."""
    return zip(("", *words), words, words[1:], strict=False)


def _fd(rec: Recorder, state: State, words: Sequence[str], pipe: Pipe | None) -> str | None:
    """``fd PATTERN PATH -x COMMAND``."""
    from harness_adapters.gateway.guard.launch import launch

    at = next((i for i, w in enumerate(words) if w in ("-x", "-X", "--exec", "--exec-batch")), None)
    plain = [word for word in words[1:at] if not word.startswith("-")]
    for folder in plain[1:]:
        rec.read(state, folder)
    if at is not None:
        for folder in plain[1:] or ["."]:
            found = posixpath.join(folder, "**", f"*{plain[0]}*" if plain else "*")
            command = [word.replace("{}", found) for word in words[at + 1 :]]
            launch(rec, state.fork(), command if found in command else [*command, found], None)
    return None


Handler = Callable[[Recorder, State, Sequence[str], "Pipe | None"], "str | None"]
HANDLERS: dict[str, Handler] = {
    **dict.fromkeys(_WRAPPERS, _wrapper), **dict.fromkeys(_RUNNERS, _runner),
    **dict.fromkeys(("su", "script", "nix-shell", "capsh"), _given_text), "newgrp": _stdin_shell,
    **dict.fromkeys(("watchexec", "nodemon", "man"), _given_text),
    **dict.fromkeys(("gdb", "lldb"), _debugger),
    **dict.fromkeys(("at", "batch", "crontab"), _later),
    **dict.fromkeys(("tmux", "screen"), _terminal), "start-stop-daemon": _daemon,
    "xargs": _xargs, "parallel": _xargs, "find": _find, "fd": _fd, "fdfind": _fd,
}  # fmt: skip
