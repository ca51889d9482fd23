"""Programs that are given a program: shells, Python, and languages that no grammar here reads."""

from __future__ import annotations

import base64
import posixpath
import re
from collections.abc import Callable, Sequence

from harness_adapters.gateway.guard import programs
from harness_adapters.gateway.guard.lists import joined
from harness_adapters.gateway.guard.names import names
from harness_adapters.gateway.guard.other_code import follow_other_code
from harness_adapters.gateway.guard.pipe import Pipe
from harness_adapters.gateway.guard.programs.text_tools import edited
from harness_adapters.gateway.guard.programs.words import path_operands, run_program
from harness_adapters.gateway.guard.recorder import Recorder
from harness_adapters.gateway.guard.state import State

PYTHON = re.compile(r"(?:python|pypy|ipython|bpython|ptpython|pythonw|micropython)[0-9.]*[dmt]?\Z")
_SHELLS = names(
    """
    sh bash dash zsh ksh ksh93 ash mksh fish rbash yash pwsh powershell elvish nu xonsh
    """
)
# Interpreter -> option that takes a program.
_OTHERS = {
    "node": "-e", "nodejs": "-e", "ruby": "-e", "perl": "-e", "php": "-r", "lua": "-e",
    "luajit": "-e", "Rscript": "-e", "deno": "eval", "bun": "-e", "tclsh": "", "expect": "-c",
    "osascript": "-e", "groovy": "-e", "scala": "-e", "elixir": "-e", "julia": "-e", "guile": "-c",
    "sbcl": "--eval", "m4": "", "raku": "-e", "R": "-e", "octave": "--eval", "ts-node": "-e",
    "tsx": "-e", "jshell": "", "java": "", "kotlin": "-e", "erl": "-eval", "gforth": "-e",
    "ghc": "-e", "racket": "-e", "crystal": "eval", "dc": "-e", "jjs": "",
}  # fmt: skip
_PYTHON_MODULES = names(
    """
    pip uv pytest unittest http.server venv build black isort ruff autopep8 coverage tox nox
    """
)
_ENCODED = ("-encodedcommand", "-enc", "-ec", "-e")  # PowerShell's
# The project's name, asked of its own manifest: mostly that of its folder.
_OWN_NAME = re.compile(r"require\(['\"]\./package(?:\.json)?['\"]\)\.name\b")
_RUNS_SCRIPT = names("pdb cProfile profile trace timeit coverage runpy viztracer kernprof")


def _utf16(packed: str) -> str:
    try:
        return base64.b64decode(packed).decode("utf-16-le", "replace")
    except ValueError:
        return ""


def piped_program(rec: Recorder, pipe: Pipe | None) -> str | None:
    """The program that comes through standard input; one that no text tells is reported."""
    if pipe is None:
        return None
    if pipe.text is None and not pipe.source.startswith("< "):
        rec.unparsed(pipe.source, made=True)
    return pipe.text


def source(rec: Recorder, state: State, words: Sequence[str], pipe: Pipe | None) -> str | None:
    if len(words) < 2:
        return ""
    if words[1] in ("/dev/stdin", "-", "/proc/self/fd/0"):
        text = piped_program(rec, pipe)
    else:
        rec.read(state, words[1])
        text = state.text(state.path(words[1]))
    if text is None:
        return None
    own = ("BASH_SOURCE", "@") if len(words) > 2 else ("BASH_SOURCE",)
    before = {name: state.variables.get(name) for name in own}
    state.variables["BASH_SOURCE"] = words[1]
    if len(words) > 2:
        state.variables["@"] = joined(words[2:])
    out = run_program(rec, state, text, pipe)
    for name, value in before.items():
        if value is None:
            state.variables.pop(name, None)
        else:
            state.variables[name] = value
    return out


def shell(rec: Recorder, state: State, words: Sequence[str], pipe: Pipe | None) -> str | None:
    inner = state.fork()
    rest = list(words[1:])
    power = words[0].endswith(("pwsh", "powershell", "powershell.exe"))
    for name in ("BASH_ENV", "ENV"):
        if file := state.variables.get(name):
            source(rec, inner, ["source", file], None)
    while rest and rest[0].startswith(("-", "+")) and len(rest[0]) > 1:
        option = rest.pop(0)
        if option in ("-o", "+o", "-O", "+O", "--rcfile", "--init-file") and rest:
            if option in ("--rcfile", "--init-file"):
                source(rec, inner, ["source", rest[0]], None)
            rest.pop(0)
        elif option == "--":
            break
        elif "x" in option and (prompt := state.variables.get("PS4")):
            run_program(rec, inner.fork(), f': "{prompt}"')
        if power and option.lower() in _ENCODED and rest:
            return run_program(rec, inner, _utf16(rest[0]), pipe)
        if power and option.lower() == "-command":
            return run_program(rec, inner, " ".join(rest), pipe)
        if not option.startswith("--") and "c" in option and rest:
            inner.variables["0"] = rest[1] if len(rest) > 1 else words[0]
            inner.variables["@"] = joined(rest[2:])
            return run_program(rec, inner, rest[0], pipe)
        if not option.startswith("--") and "s" in option:
            given = rest[1:] if rest[:1] == ["-"] else rest
            inner.variables["@"] = joined(given)
            rest = []
    if not rest or rest[0] in ("-", "/dev/stdin", "/proc/self/fd/0", "/dev/fd/0"):
        text = piped_program(rec, pipe)
        return None if text is None else run_program(rec, inner, text)
    inner.variables["0"] = rest[0]
    inner.variables["@"] = joined(rest[1:])
    out = source(rec, inner, ["source", rest[0]], pipe)
    path_operands(rec, state, rest[1:])
    return out


def python(rec: Recorder, state: State, words: Sequence[str], pipe: Pipe | None) -> str | None:
    from harness_adapters.gateway.guard.python import run_python

    rest = list(words[1:])
    stdin = pipe.text if pipe else None
    for folder in state.variables.get("PYTHONPATH", "").split(":"):
        if "$" not in folder:
            rec.read(state, folder)
    if startup := state.variables.get("PYTHONSTARTUP"):
        source_text = state.text(state.path(startup))
        run_python(rec, state.fork(), source_text or "")
    if rest and rest[0] == "-m" and posixpath.basename(words[0]).startswith("ipython"):
        rest.pop(0)
    while rest and rest[0].startswith("-") and len(rest[0]) > 1:
        option = rest.pop(0)
        if option in ("-W", "-X") and rest:
            rest.pop(0)
        elif not option.startswith("--") and "c" in option:
            program = option.partition("c")[2] or (rest.pop(0) if rest else "")
            return run_python(rec, state.fork(), program, argv=["-c", *rest], stdin=stdin)
        elif not option.startswith("--") and "m" in option:
            module = option.partition("m")[2] or (rest.pop(0) if rest else "")
            return _module(rec, state, module, rest, pipe)
    if not rest or rest[0] in ("-", "/dev/stdin"):
        text = piped_program(rec, pipe)
        return None if text is None else run_python(rec, state.fork(), text, argv=rest or [""])
    return _python_file(rec, state, rest, stdin)


def _python_file(rec: Recorder, state: State, rest: Sequence[str], stdin: str | None) -> str | None:
    from harness_adapters.gateway.guard.python import run_python

    rec.read(state, rest[0])
    path_operands(rec, state, rest[1:])
    for name in (rest[0], posixpath.join(rest[0], "__main__.py")):
        if (text := state.text(state.path(name))) is not None:
            return run_python(rec, state.fork(), text, argv=rest, stdin=stdin)
    return None


def _module(
    rec: Recorder, state: State, module: str, rest: Sequence[str], pipe: Pipe | None
) -> str | None:
    from harness_adapters.gateway.guard import filters
    from harness_adapters.gateway.guard.python import run_python

    if module:
        rec.run((module, *rest))
    base = module.replace(".", "/")
    for name in (f"{base}.py", f"{base}/__main__.py"):
        text = state.text(state.path(name))
        if text is not None:
            rec.read(state, name)
            return run_python(rec, state.fork(), text, argv=[name, *rest])
    if module in _RUNS_SCRIPT:
        given = [w for w in rest if w != "run"]
        while given and given[0].startswith("-") and given[0] not in ("-c", "-m"):
            given.pop(0)
        if module == "timeit":
            for statement in given:
                run_python(rec, state.fork(), statement)
        elif given[:1] == ["-m"]:
            return _module(rec, state, given[1] if len(given) > 1 else "", given[2:], pipe)
        elif given:
            return _python_file(rec, state, given, None)
    elif module == "base64":
        return filters.output(state, "base64", ["base64", *rest], pipe)
    elif module in ("ftplib", "telnetlib", "smtplib", "poplib", "imaplib", "webbrowser"):
        programs.follow(rec, state, "telnet", ["telnet", *rest], pipe)
    elif module in ("code", "pty", "IPython") and pipe is not None and pipe.text:
        run_python(rec, state.fork(), pipe.text)
    elif module in _PYTHON_MODULES:
        programs.follow(rec, state, module, [module, *rest], pipe)
    elif module in ("zipfile", "tarfile") and len(rest) > 1:
        (rec.write if rest[0] in ("-e", "--extract") else rec.read)(state, rest[-1])
        rec.read(state, rest[1])
    else:
        programs.follow(rec, state, module.rpartition(".")[2], [module, *rest], pipe)
    return None


_ARGUMENT = re.compile(
    r"(?<![\w.$>&])shift\b(?!\s*\(?\s*@(?!ARGV))(?:\s*\(?\s*@ARGV\b\s*\)?)?"
    r"|@ARGV\b|\$?\bARGV(?:\[(\d)\]|\.shift\b|\.first\b)|\$argv\[(\d)\]|\bprocess\.argv\[(\d)\]"
)


def _with_arguments(name: str, program: str, given: Sequence[str]) -> str:
    """A program of one line with what it is given in the place of ``shift``, ``ARGV[0]`` ..."""
    given = given[1:] if given[:1] == ["--"] else given
    taken = iter(given)

    def value(found: re.Match[str]) -> str:
        if found.group() == "@ARGV":
            whole = [one for one in given if not set(one) & set("'\"\n")]
            return ", ".join(f"'{one}'" for one in whole) or found.group()
        from_0, *from_1 = found.groups()
        if (number := from_0 or "".join(filter(None, from_1))) == "":
            if name not in ("perl", "raku", "ruby"):
                return found.group()  # of some list
            one = next(taken, None)
        else:
            at = int(number) - (from_0 is None)
            one = given[at] if 0 <= at < len(given) else None
        return found.group() if one is None or set(one) & set("'\"\n") else f"'{one}'"

    return _ARGUMENT.sub(value, program) if given else program


def other(rec: Recorder, state: State, words: Sequence[str], pipe: Pipe | None) -> str | None:
    name = posixpath.basename(words[0])
    program_option = _OTHERS[name]
    rest = list(words[1:])
    in_place = False
    given = False
    scripts: list[str] = []
    out: str | None = None
    while rest and (rest[0].startswith("-") or rest[0] in (program_option, "run")):
        option = rest.pop(0)
        in_place = in_place or (name in ("perl", "ruby") and bool(re.match(r"-[pnla0]*i", option)))
        if name in ("perl", "ruby") and (joined := re.match(r"-[pnlaw0-9]*e(.+)", option)):
            scripts.append(joined.group(1))
            out = follow_other_code(rec, state.fork(), joined.group(1))
            given = True
            continue
        inline = option == program_option or (
            option[:2] not in ("-M", "-I", "-m")
            and not option.startswith("--")
            and option[-1:] in "eE"
            and program_option == "-e"
        )
        printing = option in ("--eval", "--print", "--code") or (option == "-p" and name == "node")
        if option.startswith(("--eval=", "--print=", "--code=")):
            out = follow_other_code(rec, state.fork(), option.partition("=")[2])
            given = True
        elif option in ("-r", "--require", "-l", "-I") and rest and program_option != option:
            required = rest.pop(0)
            rec.read(state, required)
            path = state.path(required)
            if (text := state.text(path)) is not None:
                follow_other_code(rec, state.fork(), text, folder=posixpath.dirname(path))
        elif rest and (inline or printing):
            scripts.append(rest[0])
            modules = " ".join(word for word in words if word.startswith(("-M", "-r")))
            program = _with_arguments(name, rest.pop(0), rest)
            out = follow_other_code(rec, state.fork(), f"{modules}\n{program}".lstrip())
            if out is None and _OWN_NAME.search(program):
                out = posixpath.basename(state.workdir) + "\n"
            given = True
    if not given and rest and rest[0] != "-":
        path_operands(rec, state, rest[:1])
        if "://" not in rest[0]:
            rec.read(state, rest[0])
        path = state.path(rest[0])
        if (text := state.text(path)) is not None:
            out = follow_other_code(rec, state.fork(), text, folder=posixpath.dirname(path))
        rest = rest[1:]
    elif not given and (text := piped_program(rec, pipe)) is not None:
        out = follow_other_code(rec, state.fork(), text)
    for word in rest:
        if in_place:
            rec.write(state, word, edited(state, word, scripts))
        elif not word.startswith("-"):
            if name in ("perl", "ruby") and "/" not in word and "." in word:
                rec.read(state, word)
            path_operands(rec, state, [word])
    return out


def program_file(rec: Recorder, state: State, words: Sequence[str], pipe: Pipe | None) -> None:
    """``./run.sh``: a file that this session wrote runs by its first line."""
    rec.read(state, words[0])
    text = state.text(state.path(words[0]))
    if text is None:
        return
    first = text.partition("\n")[0]
    if first.startswith("#!") and "python" in first:
        python(rec, state, ["python", *words], pipe)
    elif first.startswith("#!") and not any(f"/{s}" in first or f" {s}" in first for s in _SHELLS):
        folder = posixpath.dirname(state.path(words[0]))
        follow_other_code(rec, state.fork(), text, folder=folder)
    else:
        shell(rec, state, ["sh", *words], pipe)


Handler = Callable[[Recorder, State, Sequence[str], "Pipe | None"], "str | None"]
HANDLERS: dict[str, Handler] = {
    **dict.fromkeys(_SHELLS, shell), **dict.fromkeys(_OTHERS, other),
    "source": source, ".": source,
}  # fmt: skip
