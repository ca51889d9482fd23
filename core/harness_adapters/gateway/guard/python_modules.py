"""Modules of the session's own making: which a program imports, and where they stand."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Sequence

from harness_adapters.gateway.guard.state import State

_IMPORTED = re.compile(
    r"^[ \t]*+(?:from[ \t]++([\w.]++)[ \t]++import[ \t]*+\(?([\w,\s]*+)"
    r"|import[ \t]++([\w., \t]++))",
    re.MULTILINE,
)


def imports_written(state: State, program: str, argv: Sequence[str]) -> bool:
    """Whether it imports a module that this session wrote."""
    if not state.wrote_python:
        return False
    folders = search_path(state, argv)
    for found in _IMPORTED.finditer(program):
        package, members, modules = found.groups()
        names = re.split(r"[\s,]+", modules or members)
        if package:
            names = [package, *(f"{package}.{name}" for name in names if name)]
        if any(module_file(state, name, folders) for name in names):
            return True
    return False


def search_path(state: State, argv: Sequence[str]) -> list[str]:
    """The folders in which a program finds modules, as far as the session tells."""
    folders = [posixpath.dirname(argv[0]) or "."] if argv else ["."]
    return folders + [one for one in state.variables.get("PYTHONPATH", "").split(":") if one]


def module_file(state: State, module: str, folders: Sequence[str]) -> tuple[str, str] | None:
    """Path and text of a module of the session's own making."""
    if not module or module[0] == ".":
        return None
    base = module.replace(".", "/")
    for folder in folders:
        for name in (f"{base}.py", f"{base}/__init__.py"):
            path = state.path(posixpath.join(folder, name))
            if (text := state.text(path)) is not None:
                return path, text
    return None
