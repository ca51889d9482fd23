"""Paths as programs name them, and glob patterns over whole paths."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable
from fnmatch import fnmatchcase

_SPACE = re.compile(r"\s")
_WILD = re.compile(r"[*?\[]")
_PROC_ROOT = re.compile(r"\A/proc/(?:self|thread-self|\d+|\$\$?|\$(?:PPID|BASHPID))/root(?=/|\Z)")
_PROC_CWD = re.compile(r"\A/proc/(?:self|thread-self|\d+|\$\$?|\$BASHPID)/cwd(?=/|\Z)")

Parts = tuple[str, ...]


def absolute(path: str, *, cwd: str, home: str) -> str:
    """Absolute and without ``.``, ``..``, doubled slashes, ``~`` and ``/proc/self`` detours."""
    if _is_tidy(path) and not cwd.startswith("/proc"):
        return path if path[0] == "/" else f"{cwd}/{path}" if cwd != "/" else f"/{path}"
    if path == "~" or path.startswith("~/"):
        path = home + path[1:]
    elif path.startswith("~"):  # somebody else's
        name, slash, rest = path[1:].partition("/")
        path = f"/root{slash}{rest}" if name == "root" else f"/home/{name}{slash}{rest}"
    path = posixpath.normpath(posixpath.join(cwd, path))
    if path.startswith("//"):
        path = path[1:]
    if path.startswith("/proc/"):
        path = posixpath.normpath(_PROC_ROOT.sub("/", _PROC_CWD.sub(lambda _: cwd, path)))
        path = path[1:] if path.startswith("//") else path
    return path


def _is_tidy(path: str) -> bool:
    """Whether nothing is to be resolved: no ``~`` in front, no empty, ``.`` or ``..`` component."""
    return (
        path != ""
        and path[0] not in "~."
        and path[-1] != "/"
        and "/." not in path
        and "//" not in path
        and "\0" not in path
        and not path.startswith(("/proc/", "proc/", "/~"))
    )


def looks_like_path(word: str) -> bool:
    """Whether a word that could mean anything is most likely a path."""
    if "/" not in word or word[0] == "-" or len(word) > 4096:
        return False
    return "://" not in word and _SPACE.search(word) is None


def is_wild(path: str) -> bool:
    return _WILD.search(path) is not None


def parts(path: str) -> Parts:
    """Components of an absolute path or a relative pattern; empty for ``/``."""
    return tuple(part for part in path.split("/") if part)


def component_fits(one: str, other: str) -> bool:
    """Whether some name fits two patterns (or names). Two real patterns are compared by their
    fixed beginnings and ends only, so the answer may be yes too often, never no."""
    if one == other:
        return True
    one_wild, other_wild = _WILD.search(one), _WILD.search(other)
    if one_wild and other_wild:
        head_one, head_other = one[: one_wild.start()], other[: other_wild.start()]
        tail_one, tail_other = re.split(r"[*?\]]", one)[-1], re.split(r"[*?\]]", other)[-1]
        return (head_one.startswith(head_other) or head_other.startswith(head_one)) and (
            tail_one.endswith(tail_other) or tail_other.endswith(tail_one)
        )
    if one_wild:
        return fnmatchcase(other, one)
    return bool(other_wild) and fnmatchcase(one, other)


def overlap(path: Parts, pattern: Parts) -> bool:
    """Whether some file fits both. ``**`` stands for any number of components on either side; a
    pattern that ends in ``**`` also fits the folder itself. O(len(path) * len(pattern))."""
    for part, piece in zip(path, pattern, strict=False):  # most differ in a plain component
        if _WILD.search(part) or _WILD.search(piece):
            break
        if part != piece:
            return False
    row = [True] + [False] * len(pattern)  # row[j]: path[:i] can be pattern[:j]
    for j, piece in enumerate(pattern):
        row[j + 1] = row[j] and piece == "**"
    for part in path:
        anything = part == "**"
        new = [row[0] and anything] + [False] * len(pattern)
        for j, piece in enumerate(pattern):
            if piece == "**" or anything:
                new[j + 1] = row[j + 1] or new[j] or row[j]
            else:
                new[j + 1] = row[j] and component_fits(part, piece)
        row = new
        if not any(row):
            return False
    return row[-1]


def matches(path: Parts, pattern: Parts, *, fits: Callable[[str, str], bool] = fnmatchcase) -> bool:
    """Whether every file that ``path`` stands for fits the pattern (wildcards in ``path`` count as
    plain characters).

    :param fits: whether one component fits another one that is not ``**``.
    """
    for i, piece in enumerate(pattern):  # most differ in a plain component
        if _WILD.search(piece):
            if piece == "**" and i == len(pattern) - 1:
                return True
            break
        if i == len(path) or path[i] != piece:
            return False
    row = [True] + [False] * len(pattern)
    for j, piece in enumerate(pattern):
        row[j + 1] = row[j] and piece == "**"
    for part in path:
        new = [False] * (len(pattern) + 1)
        for j, piece in enumerate(pattern):
            if piece == "**":
                new[j + 1] = row[j + 1] or new[j]
            else:
                new[j + 1] = row[j] and fits(part, piece)
        row = new
    return row[-1]


def narrower(one: Parts, other: Parts) -> bool:
    """Whether all that fits a pattern fits another one too. Of patterns in one component it may say
    no too often, never yes."""
    return matches(one, other, fits=_within)


def _within(part: str, piece: str) -> bool:
    """Whether one component's pattern lies within another's."""
    if part == piece:
        return True
    if part == "**" or "?" in piece or ("[" in piece and is_wild(part)):
        return False
    return fnmatchcase(part, piece)
