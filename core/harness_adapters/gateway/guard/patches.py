"""Patch texts, read by their headers: unified diffs, git diffs, and ``*** Begin Patch`` blocks."""

from __future__ import annotations

import re

from harness_adapters.gateway.guard.pipe import Pipe
from harness_adapters.gateway.guard.recorder import Recorder
from harness_adapters.gateway.guard.state import State

# Of lines without blanks at their end.
_BLOCK = re.compile(r"\*\*\* (Update|Add|Delete) File: *+(.+)|\*\*\* Move to: *+(.+)")
_HEADER = re.compile(r"(?:---|\+\+\+) (?:\"([^\"]+)\"|([^\t\n]+))(?:\t.*)?\Z")
_RENAME = re.compile(r"(?:rename|copy) (?:from|to) (.+)|diff --git a/(.+?) b/(.+)")


def looks_like_patch(text: str) -> bool:
    return "*** Begin Patch" in text or re.search(r"(?m)^(?:\+\+\+ |diff --git )", text) is not None


def follow_patch(rec: Recorder, state: State, text: str) -> None:
    """Record every file that a patch changes, makes, moves or removes, with what it adds."""
    targets: dict[str, list[str]] = {}
    at = ""
    for line in text.splitlines():
        if line.startswith("+") and not line.startswith("+++ "):
            if at:
                targets[at].append(line[1:])
            continue
        line = line.rstrip()
        if block := _BLOCK.match(line):
            at = block.group(2) or block.group(3)
            targets.setdefault(at, [])
        elif header := _HEADER.match(line):
            name = header.group(1) or header.group(2)
            if name != "/dev/null":
                at = _stripped(name)
                targets.setdefault(at, [])
        elif rename := _RENAME.match(line):
            for name in rename.groups():
                if name:
                    targets.setdefault(name, [])
    for target, added in targets.items():
        known = state.text(state.path(target))
        lines = [known] if known is not None else []
        rec.write(state, target, "\n".join(lines + added) + "\n" if added else known)


def note_diffed(rec: Recorder, state: State, pipe: Pipe) -> None:
    """What ``git diff OTHER -- PATH | patch`` changes, though nobody knows how."""
    for word in pipe.source.partition(" -- ")[2].split("|")[0].split()[:64]:
        rec.touch(state, f"{word.rstrip('/')}/**" if word[-1] == "/" else word)


def _stripped(name: str) -> str:
    return name[2:] if name[:2] in ("a/", "b/") else name
