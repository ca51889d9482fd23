"""Programs that build, install and test: recipes that they run, expectations that they renew."""

from __future__ import annotations

import json
import posixpath
import re

from harness_adapters.gateway.guard import packages
from harness_adapters.gateway.guard.makefiles import MAKEFILES, lines_run, variables_of
from harness_adapters.gateway.guard.names import names
from harness_adapters.gateway.guard.pipe import Pipe
from harness_adapters.gateway.guard.programs.words import (
    Handler,
    Words,
    operands,
    option_value,
    option_values,
    path_operands,
    run_program,
)
from harness_adapters.gateway.guard.recorder import Recorder
from harness_adapters.gateway.guard.state import State
from harness_adapters.gateway.guard.words import ansi_unescaped

# Told to write down what comes out as what is expected.
_RENEWS = re.compile(
    r"--(?:snapshot-update|update-snapshots?|updateSnapshot|force-regen|regen(?:-all)?"
    r"|update-goldens?|approve|accept|bless|overwrite-expected|record-mode=(?:rewrite|all)"
    r"|inline-snapshot=(?:fix|create|update|trim)(?:,\w+)*|gen-files|regenerate)(?:=true)?\Z"
)
_PROGRAM = re.compile(r"[a-z][\w.-]*(?:@[\w.^~-]+)?")
_CMAKE_COMMANDS = {
    "copy": ("cp",), "copy_if_different": ("cp",), "copy_directory": ("cp", "-r"),
    "rename": ("mv",), "rm": ("rm",), "remove": ("rm",), "remove_directory": ("rm", "-r"),
    "touch": ("truncate",), "cat": ("cat",), "create_symlink": ("ln", "-s"), "env": ("env",),
    "tar": ("tar",), "make_directory": ("mkdir",), "echo": ("echo",), "time": ("time",),
}  # fmt: skip
_SCRIPT = re.compile(r"\"([\w:.-]{1,64})\"\s*:\s*\"((?:[^\"\\\n]|\\.){1,4096})\"")
_MAX_SCRIPTS = 16
_INSTALLS = frozenset(("install", "i", "ci", "add", "rebuild", "pack", "publish", ""))
_RUN_BY_INSTALL = frozenset(
    ("preinstall", "install", "postinstall", "prepare", "preprepare", "postprepare", "prepack")
)
_ONE_TEST = re.compile(r"[\w-]\.(?:test|spec)\.[cm]?[jt]sx?\Z")
_TEST_FUNCTION = re.compile(r"(?m)^def (test_\w{1,80})\(\s*\)")
_RENEWING_VARIABLES = names(
    """
    UPDATE_SNAPSHOTS UPDATE_GOLDEN UPDATE_EXPECT INSTA_UPDATE BLESS SNAPSHOT_UPDATE REGEN REGENERATE
    UPDATE_FIXTURES INSTA_FORCE_UPDATE TRYBUILD
    """
)


def _make(rec: Recorder, state: State, words: Words, pipe: Pipe | None) -> None:
    """Recipes that this session wrote run; which target is made does not matter here."""
    folder = option_value(words, "-C", "--directory") or "."
    given = option_value(words, "-f", "--file", "--makefile")
    texts: list[str] = option_values(words, "--eval")
    for name in (given,) if given else (*MAKEFILES, "justfile"):
        path = state.path(posixpath.join(folder, name))
        text = pipe.text if given == "-" and pipe else state.text(path)
        if text is not None:
            rec.read(state, path)
            texts.append(text)
    inner = state.fork()
    inner.cwd = state.path(folder)
    for word in words[1:]:
        if word.startswith("SHELL="):
            run_program(rec, inner, word[6:])
    just = posixpath.basename(words[0]) == "just"
    for text in texts:
        state.environment.update(dict.fromkeys(variables_of(text)))
        run_program(rec, inner, "\n".join(lines_run(text, folder=inner.cwd, just=just)))


def _cmake(rec: Recorder, state: State, words: Words, pipe: Pipe | None) -> None:
    """``cmake -E COMMAND ...`` does what programs of the system do."""
    from harness_adapters.gateway.guard.launch import launch

    rest = list(words[words.index("-E") + 1 :]) if "-E" in words else []
    if rest and rest[0] in _CMAKE_COMMANDS:
        launch(rec, state, [*_CMAKE_COMMANDS[rest[0]], *rest[1:]], pipe)
    else:
        path_operands(rec, state, words[1:])


def _npm(rec: Recorder, state: State, words: Words, pipe: Pipe | None) -> None:
    verb = words[1] if len(words) > 1 else ""
    _renewed(rec, state, words, pipe)
    if verb in ("run", "run-script", "test", "t", "start", "restart", "stop"):
        for script in _scripts(state.text(state.path("package.json")) or "{}").values():
            run_program(rec, state.fork(), script)
    elif verb in ("exec", "x", "dlx") and len(words) > 2:
        if (text := option_value(words, "-c", "--call")) is not None:
            run_program(rec, state.fork(), text)
        else:
            rest = [word for word in words[2:] if word not in ("--", "-y", "--yes")]
            run_program(rec, state.fork(), " ".join(rest))
    elif verb == "pkg" and len(words) > 3 and words[2] == "set":
        rec.write(
            state,
            "package.json",
            "\n".join(
                f'"{w.partition("=")[0].rpartition(".")[2]}": "{w.partition("=")[2]}"'
                for w in words[3:]
            ),
        )
        for word in words[3:]:  # whoever runs the script later runs this
            if word.startswith("scripts."):
                run_program(rec, state.fork(), word.partition("=")[2])
    else:
        if verb in _INSTALLS and (package := state.known("package.json")):
            for name, script in _scripts(package).items():
                if name in _RUN_BY_INSTALL:
                    run_program(rec, state.fork(), script)
        _managers(rec, state, words, pipe)


def _scripts(package: str) -> dict[str, str]:
    """The scripts of a ``package.json``, or of a piece of one."""
    try:
        found = json.loads(package).get("scripts")
    except (ValueError, AttributeError, RecursionError):
        some = _SCRIPT.findall(package)[:_MAX_SCRIPTS]
        return {name: ansi_unescaped(script) for name, script in some}
    given = found if isinstance(found, dict) else {}
    return {name: script for name, script in given.items() if isinstance(script, str)}


def _npx(rec: Recorder, state: State, words: Words, pipe: Pipe | None) -> None:
    if (text := option_value(words, "-c", "--call")) is not None:
        run_program(rec, state.fork(), text)
    _package_run(rec, state, words, pipe)
    _managers(rec, state, words, pipe)


def _package_run(rec: Recorder, state: State, words: Words, pipe: Pipe | None) -> None:
    """``npx PROGRAM ...``, ``uvx PROGRAM ...``: the program by the name of its package."""
    from harness_adapters.gateway.guard.launch import launch

    rest = [word for word in words[1:] if word != "run" or words[0] == "npx"]
    while rest and rest[0].startswith("-"):
        option = rest.pop(0)
        if option in ("-p", "--package", "--from", "--with", "--registry", "-w") and rest:
            rest.pop(0)
    if rest and _PROGRAM.fullmatch(rest[0]):
        launch(rec, state.fork(), [rest[0].partition("@")[0], *rest[1:]], pipe)


def _uvx(rec: Recorder, state: State, words: Words, pipe: Pipe | None) -> None:
    if posixpath.basename(words[0]) in ("uvx", "bunx") or "run" in words[1:2]:
        _package_run(rec, state, words, pipe)
    _managers(rec, state, words, pipe)


def _managers(rec: Recorder, state: State, words: Words, pipe: Pipe | None) -> None:
    packages.follow(rec, state, posixpath.basename(words[0]), words)
    _renewed(rec, state, words, pipe)


def _renewed(rec: Recorder, state: State, words: Words, pipe: Pipe | None) -> None:
    """A test runner that is told to make what comes out the expectation changes tests."""
    name = posixpath.basename(words[0])
    told = any(_RENEWS.match(word) for word in words[1:])
    told = told or (
        name in ("jest", "vitest", "ava", "tap", "npx", "npm", "yarn", "pnpm") and "-u" in words
    )
    snapshots = not {"vitest", "jest", "ava"}.isdisjoint((name, *words[1:4]))
    told = told or (snapshots and not {"--update", "--update=true"}.isdisjoint(words))
    told = told or (
        name in ("go", "cargo") and "test" in words and {"-update", "-u"} & set(words) != set()
    )
    told = told or (
        name == "cargo" and list(words[1:3]) in (["insta", "accept"], ["insta", "review"])
    )
    told = told or any(
        state.variables[v] not in ("", "0", "no")
        for v in _RENEWING_VARIABLES & state.variables.keys()
    )
    if told:
        given = [w for w in operands(words)[:8] if "test" in w and "/" in w]
        for place in given or ["tests", "test", "__tests__", "__snapshots__"]:
            place = place.partition("::")[0]
            if _ONE_TEST.search(place):  # and its snapshots, which lie beside it
                rec.touch(state, place)
                folder, name = posixpath.split(place)
                rec.touch(state, posixpath.join(folder, "__snapshots__", f"{name}.snap"))
            else:
                rec.touch(state, posixpath.join(place, "**"))
                rec.touch(state, posixpath.join(posixpath.dirname(place), "__snapshots__", "**"))


def _testers(rec: Recorder, state: State, words: Words, pipe: Pipe | None) -> None:
    _renewed(rec, state, words, pipe)
    path_operands(rec, state, words[1:])
    for word in operands(words)[:_MAX_SCRIPTS] if state.wrote_python else ():
        place = word.partition("::")[0]
        if place.endswith(".py") and (source := state.known(place)):
            _run_tests(rec, state.fork(), place, source)
    for target in option_values(words, "--junitxml", "--junit-xml", "--report-log", "-o"):
        if "=" not in target:
            rec.write(state, target)


def _run_tests(rec: Recorder, state: State, path: str, source: str) -> None:
    """Tests that the session wrote do what they say, whatever they are to test."""
    from harness_adapters.gateway.guard.python import run_python

    called = "".join(f"{name}()\n" for name in _TEST_FUNCTION.findall(source)[:64])
    run_python(rec, state, f"{source}\n{called}", argv=[path])


def _compile(rec: Recorder, state: State, words: Words, pipe: Pipe | None) -> None:
    """What comes out does what the source says."""
    from harness_adapters.gateway.guard.other_code import take_in

    texts = [pipe.text or ""] if pipe is not None else []
    for word in operands(words, ("-o", "-x", "-I", "-L", "-l", "-D", "-include", "-std", "-O")):
        rec.read(state, word)
        texts.append(state.text(state.path(word)) or "")
    for word in option_values(words, "-include", "-imacros"):
        rec.read(state, word)
    for word in words[1:]:
        if word.startswith(("-I", "-L")) and len(word) > 2:
            rec.read(state, word[2:])
    text = "\n".join(text for text in texts if text)
    take_in(rec, state, text)
    rec.write(
        state, option_value(words, "-o", "--output") or "a.out", text and f"#!program\n{text}"
    )


def _builds(rec: Recorder, state: State, words: Words, pipe: Pipe | None) -> None:
    """``setup.py``, ``go run``, ``cargo run``: sources of this session that they run."""
    from harness_adapters.gateway.guard.other_code import follow_other_code, generated_by

    if "generate" in words[1:2]:
        for source in state.texts(".go"):
            for command in generated_by(source):
                run_program(rec, state.fork(), command)
    if "-" in words and pipe is not None and pipe.text:
        follow_other_code(rec, state.fork(), pipe.text)
    if posixpath.basename(words[0]) == "cargo" and (script := state.known("build.rs")):
        follow_other_code(rec, state.fork(), script)
    if (target := option_value(words, "-o", "--output")) is not None and "build" in words[1:2]:
        rec.write(state, target)
    for word in operands(words)[1:]:
        if (text := state.text(state.path(word))) is not None:
            rec.read(state, word)
            follow_other_code(rec, state.fork(), text)
    _managers(rec, state, words, pipe)


HANDLERS: dict[str, Handler] = {
    **dict.fromkeys(packages.MANAGERS, _managers),
    **dict.fromkeys(("npm", "pnpm", "yarn", "bun"), _npm),
    "npx": _npx, "uvx": _uvx, "bunx": _uvx, "pipx": _uvx,
    "cmake": _cmake, "make": _make, "gmake": _make, "just": _make,
    **dict.fromkeys(
        ("pytest", "py.test", "jest", "vitest", "mocha", "ava", "tox", "nox", "rspec", "phpunit",
         "unittest", "ctest", "bats"),
        _testers,
    ),
    **dict.fromkeys(
        ("gcc", "g++", "cc", "c++", "clang", "clang++", "rustc", "tcc", "ghc"), _compile
    ),
    **dict.fromkeys(("go", "cargo", "dotnet", "swift"), _builds),
}  # fmt: skip
