"""``own_controls``: an agent that reaches for the guard in front of it.

The notice of a blocked call says how a person allows it, and the agent reads the notice too.
Catches ``ha gateway allow`` and ``stop``, and access to the gateway's state and ``guard.toml``.
"""

from __future__ import annotations

from pathlib import PurePosixPath

from harness_adapters.gateway.guard.actions import ReadPath, RunCommand, Unparsed, WritePath
from harness_adapters.gateway.guard.calls import ToolCall
from harness_adapters.gateway.guard.ledger import Ledger
from harness_adapters.types import Finding, Severity

_COMMANDS = frozenset(("start", "stop", "allow"))
_PYTHON = ("python", "pypy", "uv", "uvx", "pipx")


class OwnControls:
    """:param folders: absolute paths of folders that only the person uses."""

    def __init__(self, folders: tuple[str, ...]) -> None:
        self.folders = folders

    def judge(self, call: ToolCall, ledger: Ledger) -> Finding | None:
        for action in call.actions:
            match action:
                case RunCommand(words=words) if _drives_gateway(words):
                    message = "runs the command that allows calls"
                case ReadPath(path=path) | WritePath(path=path) if self._is_ours(path):
                    message = f"reaches for {path}"
                case Unparsed(text=text) if any(folder in text for folder in self.folders):
                    message = "unreadable code names the guard's own folders"
                case _:
                    continue
            return Finding(
                rule="own_controls.reached_for",
                severity=Severity.BLOCK,
                message=message,
                span=action.span,
            )
        return None

    def _is_ours(self, path: str) -> bool:
        pure = PurePosixPath(path)
        return any(pure.is_relative_to(folder) for folder in self.folders)


def _drives_gateway(words: tuple[str, ...]) -> bool:
    if "gateway" not in words or _COMMANDS.isdisjoint(words):
        return False
    program = PurePosixPath(words[0]).name
    if program == "ha":
        return True
    return program.startswith(_PYTHON) and any(
        word == "ha" or "harness_adapters" in word for word in words
    )
