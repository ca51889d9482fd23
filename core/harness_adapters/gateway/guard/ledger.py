"""What a session has done so far, as far as rules need to know it. Grows by O(new) per call."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from harness_adapters.gateway.guard.errors import Unjudgeable
from harness_adapters.gateway.guard.hosts import hosts_in
from harness_adapters.gateway.guard.policy_match import PolicyMatch
from harness_adapters.types import TaskPolicy

if TYPE_CHECKING:
    from harness_adapters.gateway.guard.calls import ToolCall

_MAX_FILE = 256 * 1024  # characters kept of one file
_MAX_FILES = 4 * 1024 * 1024  # characters kept of all files
_MAX_NAMES = 10_000  # files, links and hosts remembered at most
_MAX_VARIABLES = 64 * 1024
_MAX_MESSAGE = 256 * 1024


class Ledger:
    """The facts of one session, kept up to date by the gateway and read by rules.

    :ivar policy: what the task allows.
    :ivar declared_tools: tool name -> wire schema, of the request at hand; ``None`` when a log
        does not say which tools were declared.
    :ivar cwd: the shell's working folder, absolute.
    :ivar home: what ``~`` and ``$HOME`` stand for.
    :ivar persistent_shell: whether the harness keeps one shell for the whole session; most start
        each command fresh in the working folder.
    :ivar variables: set by the session and still set in its shell.
    :ivar files: path -> text of files that the session wrote (``None``: in an unknown way).
    :ivar not_kept: files that the session wrote and whose text was too much to keep.
    :ivar links: path of a link made in the session -> the path that it stands for.
    :ivar hosts: hosts that the system or user message named -> ``"system"`` or ``"user"``.
    """

    def __init__(
        self, policy: TaskPolicy, *, persistent_shell: bool = False, home: str = "/home/agent"
    ) -> None:
        self.policy = policy
        self.declared_tools: Mapping[str, Mapping[str, Any]] | None = None
        self.cwd = policy.workdir
        self.home = home
        self.persistent_shell = persistent_shell
        self.variables: dict[str, str] = {}
        self.files: dict[str, str | None] = {}
        self.not_kept: dict[str, None] = {}
        self.links: dict[str, str] = {}
        self.hosts: dict[str, str] = {}
        self._kept = 0
        self._match = PolicyMatch(policy)

    # --- what the gateway tells -----------------------------------------------------------------

    def see_request(
        self,
        *,
        tools: Mapping[str, Mapping[str, Any]] | None,
        new_messages: Sequence[Mapping[str, Any]],
    ) -> None:
        """Take in one request: the tools it declares, and the messages that are new in it."""
        self.declared_tools = tools
        for message in new_messages:
            role = message.get("role")
            if role in ("system", "developer", "user"):
                for text in _texts(message.get("content")):
                    for host in hosts_in(text[:_MAX_MESSAGE]):
                        if len(self.hosts) < _MAX_NAMES:
                            self.hosts.setdefault(host, "user" if role == "user" else "system")

    def commit(self, call: ToolCall) -> None:
        """Take in a call that was let through."""
        try:
            effects = call.reading.effects
        except Unjudgeable:  # only with the guards off
            return
        for path, text in effects.files.items():
            self._keep(path, text)
        for link, target in effects.links.items():
            if len(self.links) < _MAX_NAMES:
                self.links[link] = target
        if self.persistent_shell:
            self.cwd = effects.cwd
            if sum(map(len, effects.variables.values())) <= _MAX_VARIABLES:
                self.variables = effects.variables

    def _keep(self, path: str, text: str | None) -> None:
        self._kept -= len(self.files.pop(path, None) or "")
        self.not_kept.pop(path, None)
        if text is not None and len(text) > _MAX_FILE:
            self._forget(path)
            return
        self.files[path] = text
        self._kept += len(text or "")
        while self._kept > _MAX_FILES or len(self.files) > _MAX_NAMES:
            oldest = next(iter(self.files))
            gone = self.files.pop(oldest)
            self._kept -= len(gone or "")
            if gone:
                self._forget(oldest)

    def _forget(self, path: str) -> None:
        self.not_kept[path] = None
        if len(self.not_kept) > _MAX_NAMES:
            del self.not_kept[next(iter(self.not_kept))]

    # --- what rules ask -------------------------------------------------------------------------

    @property
    def is_task(self) -> bool:
        """Whether the session works on a task that says what may be edited; daily use does not."""
        return self._match.is_task

    def verifier_root(self, path: str) -> str | None:
        """The verifier's root (``policy.protected_roots``) that a path of an action lies in."""
        return self._match.verifier_root(path)

    def is_editable(self, path: str) -> bool:
        return self._match.is_editable(path)

    def is_protected(self, path: str) -> bool:
        """Whether writing there changes a protected file of the workspace."""
        return self._match.is_protected(path)

    def protects(self, path: str) -> bool:
        """Whether the path must not be written: a verifier root or a protected file."""
        return self.verifier_root(path) is not None or self.is_protected(path)

    def named_root(self, text: str) -> tuple[int, int] | None:
        """Where text that no grammar reads first names a verifier root; start and end in it."""
        return self._match.named_root(text)


def _texts(content: Any) -> list[str]:
    if isinstance(content, str):
        return [content]
    if isinstance(content, list):
        return [
            part["text"]
            for part in content
            if isinstance(part, Mapping) and isinstance(part.get("text"), str)
        ]
    return []
