"""One command as it starts: shell built-ins, wrappers of other commands, interpreters of programs.

What plain programs do to files and hosts stands in ``commands.py``.
"""

from __future__ import annotations

import posixpath
import re
import shlex
from collections.abc import Callable, Sequence

from harness_adapters.gateway.guard import commands, filters
from harness_adapters.gateway.guard.errors import MAX_WORDS, Unjudgeable
from harness_adapters.gateway.guard.names import names
from harness_adapters.gateway.guard.other_code import follow_other_code
from harness_adapters.gateway.guard.pipe import Pipe
from harness_adapters.gateway.guard.recorder import Recorder
from harness_adapters.gateway.guard.state import State

_SHELLS = names(
    """
    sh bash dash zsh ksh ash mksh fish rbash
    """
)
_PYTHON = re.compile(r"(?:python|pypy|ipython)[0-9.]*\Z")
# Interpreters whose programs no grammar here reads: option that takes a program.
_OTHERS = {
    "node": "-e",
    "nodejs": "-e",
    "ruby": "-e",
    "perl": "-e",
    "php": "-r",
    "lua": "-e",
    "Rscript": "-e",
    "deno": "eval",
    "bun": "-e",
}
_ASSIGNMENT = re.compile(r"[A-Za-z_]\w*=")
# Wrapper -> options that take a value; the first operand that is none of these starts the command.
_WRAPPERS: dict[str, tuple[frozenset[str], int]] = {
    # name: (options with a value, operands before the command)
    "env": (frozenset(("-u", "-C", "--unset", "--chdir")), 0),
    "sudo": (frozenset(("-u", "-g", "-h", "-p", "-C", "-D", "--user", "--group")), 0),
    "doas": (frozenset(("-u", "-C")), 0),
    "timeout": (frozenset(("-s", "-k", "--signal", "--kill-after")), 1),
    "nice": (frozenset(("-n", "--adjustment")), 0),
    "ionice": (frozenset(("-c", "-n", "-p")), 0),
    "nohup": (frozenset(), 0),
    "setsid": (frozenset(), 0),
    "stdbuf": (frozenset(("-i", "-o", "-e")), 0),
    "time": (frozenset(("-f", "-o")), 0),
    "command": (frozenset(), 0),
    "builtin": (frozenset(), 0),
    "exec": (frozenset(("-a",)), 0),
    "coproc": (frozenset(), 0),
    "unbuffer": (frozenset(), 0),
    "strace": (frozenset(("-e", "-o", "-p", "-s")), 0),
    "chroot": (frozenset(), 1),
    "flock": (frozenset(("-w", "-E")), 1),
    "busybox": (frozenset(), 0),
    "caffeinate": (frozenset(("-t", "-w")), 0),
    "watch": (frozenset(("-n", "-d")), 0),
    "then": (frozenset(), 0),
}
_XARGS_VALUES = frozenset(
    (
        "-n",
        "-I",
        "-P",
        "-L",
        "-d",
        "-E",
        "-s",
        "-a",
        "--max-args",
        "--max-procs",
        "--delimiter",
        "--replace",
    )
)


def launch(rec: Recorder, state: State, words: Sequence[str], pipe: Pipe | None) -> str | None:
    """Follow one command; the state changes as the shell's would.

    :returns: its output, where that is known.
    :raises Unjudgeable: beyond a limit.
    """
    rec.step()
    if len(words) > MAX_WORDS:
        raise Unjudgeable(f"a command of more than {MAX_WORDS} words")
    rec.run(tuple(words))
    if state.functions and words[0] in state.functions and words[0] not in rec.calling:
        shell, body = state.functions[words[0]]
        rec.calling.add(words[0])
        try:
            return shell.call(body, state, words, pipe)  # type: ignore[no-any-return]
        finally:
            rec.calling.discard(words[0])
    elif state.definitions and words[0] in state.definitions and words[0] not in rec.calling:
        return _defined_before(rec, state, words, pipe)
    name = words[0].rpartition("/")[2]
    if handler := _HANDLERS.get(name):
        return handler(rec, state, words, pipe)
    if _PYTHON.match(name):
        return _python(rec, state, words, pipe)
    if "/" in words[0]:
        _program_file(rec, state, words, pipe)
    commands.follow(rec, state, name, words, pipe)
    return filters.output(state, name, words, pipe)


def _defined_before(
    rec: Recorder, state: State, words: Sequence[str], pipe: Pipe | None
) -> str | None:
    """A function or an alias of an earlier call, in a shell that goes on."""
    text = state.definitions[words[0]]
    if text.startswith("alias "):
        rec.calling.add(words[0])
        out = _program(rec, state, " ".join([text[6:], *map(shlex.quote, words[1:])]), pipe)
        rec.calling.discard(words[0])
        return out
    _program(rec, state, text, None)
    if words[0] not in state.functions:
        del state.definitions[words[0]]  # no definition after all
    return launch(rec, state, words, pipe)


def _alias(rec: Recorder, state: State, words: Sequence[str], pipe: Pipe | None) -> str | None:
    for word in words[1:]:
        name, equals, value = word.partition("=")
        if equals:
            state.definitions[name] = f"alias {value}"
    return ""


# --- built-ins ----------------------------------------------------------------------------------


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
    return ""


def _eval(rec: Recorder, state: State, words: Sequence[str], pipe: Pipe | None) -> str | None:
    return _program(rec, state, " ".join(words[1:]), pipe)


def _source(rec: Recorder, state: State, words: Sequence[str], pipe: Pipe | None) -> str | None:
    if len(words) < 2:
        return ""
    rec.read(state, words[1])
    text = state.text(state.path(words[1]))
    return None if text is None else _program(rec, state, text, pipe)


def _read(rec: Recorder, state: State, words: Sequence[str], pipe: Pipe | None) -> str | None:
    names = [word for word in words[1:] if not word.startswith("-")]
    lines = pipe.text.splitlines() if pipe and pipe.text else []
    fields = lines[0].split(None, max(len(names) - 1, 0)) if lines and names else []
    for name, value in zip(names, fields, strict=False):
        # Several lines: each turn of the loop around it gets one; unquoted use splits them.
        state.variables[name] = " ".join(lines) if len(names) == 1 else value
    return ""


def _set(rec: Recorder, state: State, words: Sequence[str], pipe: Pipe | None) -> str | None:
    if "--" in words:
        for i, word in enumerate(words[words.index("--") + 1 :][:9]):
            state.variables[str(i + 1)] = word
    return ""


def _trap(rec: Recorder, state: State, words: Sequence[str], pipe: Pipe | None) -> str | None:
    if len(words) > 2:
        _program(rec, state.fork(), words[1], None)
    return ""


# --- wrappers -----------------------------------------------------------------------------------


def _wrapper(rec: Recorder, state: State, words: Sequence[str], pipe: Pipe | None) -> str | None:
    name = posixpath.basename(words[0])
    with_value, skip = _WRAPPERS[name]
    inner = state if name in ("command", "builtin", "exec") else state.fork()
    rest = list(words[1:])
    while rest:
        word = rest[0]
        if word == "--":
            rest.pop(0)
            break
        if name == "env" and word in ("-S", "--split-string"):
            return _program(rec, inner, " ".join(rest[1:]), pipe)
        if name == "flock" and word == "-c" and len(rest) > 1:
            return _program(rec, inner, rest[1], pipe)
        if word.startswith("-") and len(word) > 1:
            del rest[: 2 if word in with_value else 1]
            if word in ("-C", "--chdir", "-D") and len(words) > 2 and name in ("env", "sudo"):
                inner.cwd = inner.path(words[list(words).index(word) + 1])
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
        return None
    if name == "watch":
        return _program(rec, inner, " ".join(rest), pipe)
    return launch(rec, inner, rest, pipe)


def _xargs(rec: Recorder, state: State, words: Sequence[str], pipe: Pipe | None) -> str | None:
    rest = list(words[1:])
    replace = ""
    files = ""
    while rest and rest[0].startswith("-"):
        option = rest.pop(0)
        if option in _XARGS_VALUES and rest:
            value = rest.pop(0)
            replace = value if option == "-I" else replace
            files = value if option == "-a" else files
        elif option.startswith("-I") and len(option) > 2:
            replace = option[2:]
    text = pipe.text if pipe else None
    if files:
        rec.read(state, files)
        text = state.text(state.path(files))
    given = text.replace("\0", " ").replace("'", "").replace('"', "").split()[:256] if text else []
    if not rest:
        return " ".join(given)
    if replace:
        lines = [
            line.strip() for line in (text or "").replace("\0", "\n").splitlines() if line.strip()
        ]
        for line in lines[:64]:
            launch(rec, state.fork(), [word.replace(replace, line) for word in rest], None)
        if lines:
            return None
    return launch(rec, state.fork(), [*rest, *given], None)


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
    names = [words[i + 1] for i in range(at, len(words) - 1) if words[i] in ("-name", "-iname")]
    whole = [words[i + 1] for i in range(at, len(words) - 1) if words[i] in ("-path", "-wholename")]
    found = [posixpath.join(start, "**", name) for start in starts for name in names or ["*"]]
    if whole and not names:
        found = [one.replace("*", "**", 1) if one.startswith("*/") else one for one in whole]
    i = at
    while i < len(words):
        if words[i] == "-delete":
            for one in found:
                rec.remove(state, one)
        elif words[i] in ("-fprint", "-fprintf", "-fls") and i + 1 < len(words):
            rec.write(state, words[i + 1])
        elif words[i] in ("-exec", "-execdir", "-ok", "-okdir"):
            end = i + 1
            while end < len(words) and words[end] not in (";", "+"):
                end += 1
            command = words[i + 1 : end]
            for one in found[:16]:
                if command:
                    launch(rec, state.fork(), [word.replace("{}", one) for word in command], None)
            i = end
        i += 1
    return "\n".join(found) + "\n"


# --- interpreters -------------------------------------------------------------------------------


def _program(rec: Recorder, state: State, text: str, pipe: Pipe | None) -> str | None:
    from harness_adapters.gateway.guard.shell import run_shell

    return run_shell(rec, state, text, pipe)


def _piped_program(rec: Recorder, pipe: Pipe | None) -> str | None:
    """The program that comes through standard input; one that no text tells is reported."""
    if pipe is None:
        return None
    if pipe.text is None and not pipe.source.startswith("< "):
        rec.unparsed(pipe.source)
    return pipe.text


def _shell(rec: Recorder, state: State, words: Sequence[str], pipe: Pipe | None) -> str | None:
    inner = state.fork()
    rest = list(words[1:])
    while rest and rest[0].startswith(("-", "+")) and len(rest[0]) > 1:
        option = rest.pop(0)
        if option in ("-o", "+o", "-O", "+O", "--rcfile", "--init-file") and rest:
            if option in ("--rcfile", "--init-file"):
                _source(rec, inner, ["source", rest[0]], None)
            rest.pop(0)
        elif option == "--":
            break
        elif not option.startswith("--") and "c" in option and rest:
            for i, word in enumerate(rest[1:10]):
                inner.variables[str(i)] = word
            return _program(rec, inner, rest[0], pipe)
        elif not option.startswith("--") and "s" in option:
            rest = []
    if not rest or rest[0] == "-" or rest[0] == "/dev/stdin":
        text = _piped_program(rec, pipe)
        return None if text is None else _program(rec, inner, text, None)
    for i, word in enumerate(rest[1:10]):
        inner.variables[str(i + 1)] = word
    inner.variables["@"] = " ".join(rest[1:])
    out = _source(rec, inner, ["source", rest[0]], pipe)
    commands.path_operands(rec, state, rest[1:])
    return out


def _python(rec: Recorder, state: State, words: Sequence[str], pipe: Pipe | None) -> str | None:
    from harness_adapters.gateway.guard.python import run_python

    rest = list(words[1:])
    for folder in state.variables.get("PYTHONPATH", "").split(":"):
        if "$" not in folder:
            rec.read(state, folder)
    if rest and rest[0] == "-m" and posixpath.basename(words[0]).startswith("ipython"):
        rest.pop(0)
    while rest and rest[0].startswith("-") and len(rest[0]) > 1:
        option = rest.pop(0)
        if option in ("-W", "-X") and rest:
            rest.pop(0)
        elif not option.startswith("--") and "c" in option:
            program = option.partition("c")[2] or (rest.pop(0) if rest else "")
            run_python(rec, state.fork(), program, argv=["-c", *rest])
            return None
        elif not option.startswith("--") and "m" in option:
            module = option.partition("m")[2] or (rest.pop(0) if rest else "")
            _module(rec, state, module, rest, pipe)
            return None
    if not rest or rest[0] in ("-", "/dev/stdin"):
        text = _piped_program(rec, pipe)
        if text is not None:
            run_python(rec, state.fork(), text, argv=rest or [""])
        return None
    rec.read(state, rest[0])
    commands.path_operands(rec, state, rest[1:])
    text = state.text(state.path(rest[0]))
    if text is not None:
        run_python(rec, state.fork(), text, argv=rest)
    return None


def _module(
    rec: Recorder, state: State, module: str, rest: Sequence[str], pipe: Pipe | None
) -> None:
    from harness_adapters.gateway.guard.python import run_python

    base = module.replace(".", "/")
    for name in (f"{base}.py", f"{base}/__main__.py"):
        text = state.text(state.path(name))
        if text is not None:
            rec.read(state, name)
            run_python(rec, state.fork(), text, argv=[name, *rest])
            return
    if module in ("pip", "uv", "pytest", "unittest", "http.server", "venv", "build"):
        commands.follow(rec, state, module, [module, *rest], pipe)
    else:
        commands.path_operands(rec, state, rest)


def _other(rec: Recorder, state: State, words: Sequence[str], pipe: Pipe | None) -> str | None:
    program_option = _OTHERS[posixpath.basename(words[0])]
    rest = list(words[1:])
    in_place = False
    given = False
    while rest and (rest[0].startswith("-") or rest[0] == program_option):
        option = rest.pop(0)
        in_place = in_place or bool(re.match(r"-[pnla0]*i", option))
        inline = option == program_option or (
            not option.startswith("--") and option[-1:] in "eE" and program_option == "-e"
        )
        printing = option in ("--eval", "--print") or (option == "-p" and words[0].endswith("node"))
        if rest and (inline or printing):
            follow_other_code(rec, state.fork(), rest.pop(0))
            given = True
    if not given and rest:
        rec.read(state, rest[0])
        if (text := state.text(state.path(rest[0]))) is not None:
            follow_other_code(rec, state.fork(), text)
        rest = rest[1:]
    elif not given and (text := _piped_program(rec, pipe)) is not None:
        follow_other_code(rec, state.fork(), text)
    for word in rest:
        if in_place:
            rec.write(state, word)
        elif not word.startswith("-"):
            commands.path_operands(rec, state, [word])
    return None


def _program_file(rec: Recorder, state: State, words: Sequence[str], pipe: Pipe | None) -> None:
    """``./run.sh``: a file that this session wrote runs by its first line."""
    rec.read(state, words[0])
    text = state.text(state.path(words[0]))
    if text is None:
        return
    first = text.partition("\n")[0]
    if first.startswith("#!") and "python" in first:
        _python(rec, state, ["python", *words], pipe)
    elif first.startswith("#!") and not any(f"/{s}" in first or f" {s}" in first for s in _SHELLS):
        follow_other_code(rec, state.fork(), text)
    else:
        _shell(rec, state, ["sh", *words], pipe)


Handler = Callable[[Recorder, State, Sequence[str], "Pipe | None"], "str | None"]
_HANDLERS: dict[str, Handler] = {
    "alias": _alias, "cd": _cd, "pushd": _cd, "popd": _cd,
    "export": _export, "declare": _export, "local": _export, "typeset": _export,
    "readonly": _export,
    "eval": _eval, "source": _source, ".": _source,
    "read": _read, "mapfile": _read, "readarray": _read, "set": _set, "trap": _trap,
    "xargs": _xargs, "parallel": _xargs, "find": _find,
    **dict.fromkeys(_SHELLS, _shell), **dict.fromkeys(_OTHERS, _other),
    **dict.fromkeys(_WRAPPERS, _wrapper),
}  # fmt: skip
