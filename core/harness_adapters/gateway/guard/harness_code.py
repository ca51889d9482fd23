"""Code that is given to a harness rather than to a program of the machine: what calls its tools,
and cells of notebooks with their magic lines."""

from __future__ import annotations

import re

from harness_adapters.gateway.guard.names import names
from harness_adapters.gateway.guard.other_code import follow_other_code
from harness_adapters.gateway.guard.patches import follow_patch
from harness_adapters.gateway.guard.recorder import Recorder
from harness_adapters.gateway.guard.shell import run_shell
from harness_adapters.gateway.guard.state import State
from harness_adapters.gateway.guard.tool_shapes import WRITING_NAME
from harness_adapters.gateway.guard.words import ansi_unescaped

# The harness's own shell tool is called: ``exec_command({cmd: "ls"})``.
_COMMAND = re.compile(
    r"""\b(?:cmd|command)["']?\s*:\s*(["'`])((?:\\.|(?!\1)[^\\]){1,4096})\1""", re.DOTALL
)
_TOOL = re.compile(r"\b(\w{1,64})\s*\(\s*\{([^{}]{1,4096})")
_FILE = re.compile(
    r"(?:path|file\w*|target\w*)[\"']?\s*:\s*[\"'`]([^\"'`\n]{1,4096})", re.IGNORECASE
)
_BEGIN, _END = "*** Begin Patch", "*** End Patch"
# Magic lines that are programs of the shell, and those that are given one.
_PROGRAMS = names("cd pip rm mv cp mkdir rmdir cat less more ls ll man conda uv")
_GIVEN = names("run sx system load sc")
_WRITES_CELL = ("%%writefile", "%%file")
_SHELL_CELL = ("%%bash", "%%sh", "%%script", "%%system", "%%!")
_SAVES = names("save logstart edit store notebook history")
_ASSIGNED = re.compile(r"[\w\s,.\[\]'\"]*=\s*(?:!|%sx\s|%system\s)(.*)")


def run_tool_code(rec: Recorder, state: State, code: str) -> None:
    """A program in a language of its own, and what it gives to the harness's tools."""
    follow_other_code(rec, state, code)
    for _, command in _COMMAND.findall(code):
        run_shell(rec, state.fork(), ansi_unescaped(command))
    for tool, given in _TOOL.findall(code):
        for path in _FILE.findall(given) if WRITING_NAME.search(tool) else ():
            rec.write(state, path)
    if (at := code.find(_BEGIN)) >= 0:
        follow_patch(rec, state, code[at:].partition(_END)[0] + _END)


def without_magics(rec: Recorder, state: State, code: str) -> str:
    """A cell's code without ``!command`` and ``%magic`` lines; the commands are followed."""
    if "!" not in code and "%" not in code:
        return code
    first, _, rest = code.lstrip().partition("\n")
    if first.startswith(_WRITES_CELL):
        rec.write(state, first.split()[-1], rest)
        return ""
    if first.startswith(_SHELL_CELL):
        run_shell(rec, state, rest)
        return ""
    kept: list[str] = []
    for line in code.split("\n"):
        bare = line.lstrip()
        if bare.startswith("!"):
            run_shell(rec, state, bare[1:].lstrip("!"))
        elif bare.startswith("%"):
            _magic(rec, state, bare.lstrip("%"))
        elif "!" in bare and (found := _ASSIGNED.match(bare)):
            run_shell(rec, state, found.group(1))
        else:
            kept.append(line)
            continue
        kept.append(f"{line[: len(line) - len(bare)]}pass")
    return "\n".join(kept)


def _magic(rec: Recorder, state: State, line: str) -> None:
    words = line.split(None, 1)
    if not words:
        return
    if words[0] in _PROGRAMS:
        run_shell(rec, state, line)
    elif words[0] in _GIVEN and len(words) > 1:
        run_shell(rec, state, words[1])
    elif words[0] in _SAVES and len(words) > 1:
        for word in words[1].split():
            if "." in word and word[:1] != "-":
                rec.write(state, word)
