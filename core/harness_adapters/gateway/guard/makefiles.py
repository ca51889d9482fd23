"""Makefiles and justfiles, as far as what they hand to shells."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator

#: What make reads: the first that is there.
MAKEFILES = ("GNUmakefile", "makefile", "Makefile")
_VARIABLE = re.compile(r"(?<!\$)\$[({]([A-Z][A-Z0-9_]{3,60})[)}]")
# ``target: first others``, and what a recipe calls them; programs that make knows by a variable.
_RULE = re.compile(r"([^\s:=#][^:=#]{0,512}):(?!=)[ \t]*([^=]{0,4096})\Z")
_RECIPE_BESIDE = re.compile(r"(?m)^(\S[^:=\n]*:[^;=\n]*);")
_TARGET = re.compile(r"(?<!\$)\$(?:@|[({]@[DF]?[)}])")
_FIRST = re.compile(r"(?<!\$)\$(?:<|[({]<[DF]?[)}])")
_ALL = re.compile(r"(?<!\$)\$(?:[\^+?]|[({][\^+?][DF]?[)}])")
_PROGRAMS = {"CC": "cc", "CXX": "c++", "AR": "ar", "LD": "ld", "RM": "rm -f", "MAKE": "make"}
_ASSIGNMENT = re.compile(r"(?m)^(\w{1,64})[ \t]*[:?+]?=[ \t]*([^\n$]{1,512})$")
_SHELL = re.compile(r"\$\(shell ([^\n]{0,512})\)")
_MAX_ASSIGNMENTS = 16
_MAX_RECIPES = 128 * 1024  # characters of them, with what they make written out


def variables_of(text: str) -> list[str]:
    """The variables that it uses, which may come from the environment."""
    return _VARIABLE.findall(text)


def lines_run(
    text: str, *, folder: str = "", just: bool = False, targets: Collection[str] = ()
) -> list[str]:
    """The lines that it hands to shells, with what they make and what from by name.

    :param folder: where it stands, for ``$(CURDIR)``.
    :param just: it is a justfile.
    :param targets: only the recipes of these; otherwise all, and what is run when it is read.
    """
    text = text.replace("\\\n", " ")
    if folder:
        text = text.replace("$(CURDIR)", folder).replace("${CURDIR}", folder)
    lines = [line for target, line in _recipes(text, just=just) if target in (targets or (target,))]
    if not targets:
        lines += _SHELL.findall(text)
    said = _ASSIGNMENT.findall(text)[:_MAX_ASSIGNMENTS]
    program = "\n".join(lines)
    for name, value in (*said, *_PROGRAMS.items()):
        program = program.replace(f"$({name})", value).replace(f"${{{name}}}", value)
    return program.replace("$$", "$").split("\n")


def _recipes(text: str, *, just: bool) -> Iterator[tuple[str, str]]:
    """The lines of all recipes, each with its target."""
    target, needs = "", ""
    left = _MAX_RECIPES
    for line in _RECIPE_BESIDE.sub(r"\1\n\t", text).splitlines():
        if line[:1] == "\t" or "$(shell" in line or (just and line[:1] == " "):
            line = line.strip().lstrip("@-+")
            if target and not just and "$" in line:
                longest = max(len(target), len(needs))
                if line.count("$") * longest < _MAX_RECIPES:
                    line = _TARGET.sub(target, line)
                    line = _FIRST.sub(needs.partition(" ")[0], line)
                    line = _ALL.sub(needs, line)
            left -= len(line)
            yield target, line
            if left < 0:  # too long to be read: so is what it becomes
                return
        elif rule := _RULE.match(line):
            target, needs = (" ".join(one.replace("\\", "/").split()) for one in rule.group(1, 2))
            target = target.partition(" ")[0]
