"""A task's policy, compiled: which paths are the verifier's, protected, or free to edit."""

from __future__ import annotations

import re
from collections.abc import Sequence

from harness_adapters.gateway.guard.paths import (
    Parts,
    absolute,
    component_fits,
    is_wild,
    matches,
    narrower,
    overlap,
    parts,
)
from harness_adapters.types import TaskPolicy

# Made anew at every run, in every folder: sweeping them away changes no test.
_CACHES = ("__pycache__", ".pytest_cache", ".mypy_cache", ".ruff_cache", ".hypothesis", ".coverage")
_ANY_FILE = re.compile(r"\*{1,2}(?:\.\w+)?")
_PATH_WORD = re.compile(r"[\w./*-]{3,200}")
_MAX_NAMED = 16 * 1024
_MAX_ASKED = 512  # paths whose answers are kept, and the length of one
_LEFTOVERS = (".pyc", ".pyo", ".bak", ".orig", ".rej", ".swp", ".swo", ".tmp", ".log", "~")


class PolicyMatch:
    """Answers for absolute, normalised paths that may hold wildcards (``*``, ``?``, ``[...]``; a
    component ``**`` stands for a whole tree)."""

    def __init__(self, policy: TaskPolicy) -> None:
        self._cwd = policy.workdir
        workdir = self._workdir = parts(policy.workdir)
        roots = [root for root in policy.protected_roots if root.startswith("/")]
        # A task whose workspace lies below such a root means the workspace, not the verifier.
        self._roots = [
            (root, parts(root)) for root in roots if workdir[: len(parts(root))] != parts(root)
        ]
        self._editable = [_anchored(glob, workdir) for glob in policy.editable]
        self._protected = [_anchored(glob, workdir) for glob in policy.protected]
        self.is_task = bool(policy.kind or policy.protected or policy.editable)
        names = "|".join(re.escape(root.rstrip("/")) for root, _ in self._roots)
        self._names = re.compile(rf"(?<![\w./~-])/*(?:{names})(?![\w-])") if names else None
        self._asked: dict[str, tuple[str | None, bool, bool]] = {}

    def verifier_root(self, path: str) -> str | None:
        """The protected root that the path is or may be in."""
        return self._about(path)[0]

    def is_editable(self, path: str) -> bool:
        return self._about(path)[1]

    def is_protected(self, path: str) -> bool:
        """A protected file of the workspace; verifier roots are not asked."""
        return self._about(path)[2]

    def named_protected(self, text: str) -> str | None:
        """A protected file that a text names."""
        for word in _PATH_WORD.findall(text[:_MAX_NAMED])[:_MAX_ASKED]:
            if "/" in word and self.is_protected(absolute(word, cwd=self._cwd, home="/")):
                return str(word)
        return None

    def _about(self, path: str) -> tuple[str | None, bool, bool]:
        """All three answers. Every rule asks about every path, so they are kept for a while."""
        if (known := self._asked.get(path)) is None:
            pieces = parts(path)
            free = [glob for glob in self._editable if matches(pieces, glob)]
            protected = self._protects(pieces, free)
            editable = bool(free) and not protected
            known = None if editable else self._root(pieces), editable, protected
            if len(self._asked) >= _MAX_ASKED:
                self._asked.clear()
            if len(path) <= _MAX_ASKED:
                self._asked[path] = known
        return known

    def _root(self, pieces: Parts) -> str | None:
        for root, root_parts in self._roots:
            if _in_root(pieces, root_parts):
                return root
        return None

    def _protects(self, pieces: Parts, free: Sequence[Parts]) -> bool:
        """:param free: the globs that let it be edited; they count where they are narrower."""
        if not self._protected or _is_leftover(pieces):
            return False
        head = _specific(pieces)
        whole = len(head) < len(pieces)
        for glob in self._protected:
            if free and any(narrower(one, glob) for one in free):
                continue
            # A whole tree is changed, or all files of a type: that this may hold a file which a
            # glob means wherever it lies (``**/conftest.py``) does not make it an attack on that.
            floats = whole and self._floats(glob)
            if overlap(head if floats else pieces, glob) or (
                floats and pieces[-1] == glob[-1] != "**"  # just these files, wherever they lie
            ):
                return True
        return False

    def _floats(self, glob: Parts) -> bool:
        return glob[len(self._workdir) :][:1] == ("**",)

    def named_root(self, text: str) -> tuple[int, int] | None:
        """Where a text first names a protected root by its absolute path."""
        found = self._names.search(text) if self._names else None
        return found.span() if found else None


def _specific(path: Parts) -> Parts:
    """The path without what stands at its end for any file."""
    end = len(path)
    while end and _ANY_FILE.fullmatch(path[end - 1]):
        end -= 1
    return path[:end]


def _anchored(glob: str, workdir: Parts) -> Parts:
    return parts(glob) if glob.startswith("/") else (*workdir, *parts(glob.removeprefix("./")))


def _in_root(path: Parts, root: Parts) -> bool:
    if not any(is_wild(part) for part in path[: len(root)]):
        return path[: len(root)] == root
    for i, piece in enumerate(root):
        if i == len(path):
            return False
        if path[i] == "**":
            return True
        if not component_fits(path[i], piece):
            return False
    # ``/*`` alone means the top of the tree and not what is in it.
    return len(path) > len(root) or any(part != "*" for part in path)


def _is_leftover(path: Parts) -> bool:
    trimmed = path[:-1] if path and path[-1] == "**" else path
    if not trimmed:
        return False
    last = trimmed[-1]
    if last in _CACHES:
        return True
    wild = any(is_wild(part) for part in trimmed)
    return wild and (last.endswith(_LEFTOVERS) or any(part in _CACHES for part in trimmed))
