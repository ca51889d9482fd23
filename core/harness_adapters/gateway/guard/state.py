"""What programs of one call see: the session's facts, and on top what the call itself did."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from harness_adapters.gateway.guard.errors import Unjudgeable
from harness_adapters.gateway.guard.paths import absolute

if TYPE_CHECKING:
    from harness_adapters.gateway.guard.ledger import Ledger


@dataclass(slots=True)
class Effects:
    """What a call changes, for the ledger to keep once the call is let through.

    :ivar files: path -> text as far as the call tells it; ``None``: changed in an unknown way.
    :ivar links: path of a symbolic or hard link -> what it stands for.
    :ivar functions: shell function or alias -> the program text that defines it.
    :ivar typed: whether it was typed into a shell that goes on, whatever the harness's shells do.
    """

    cwd: str
    variables: dict[str, str] = field(default_factory=dict[str, str])
    files: dict[str, str | None] = field(default_factory=dict[str, "str | None"])
    links: dict[str, str] = field(default_factory=dict[str, str])
    functions: dict[str, str] = field(default_factory=dict[str, str])
    typed: bool = False


class State:
    """Working folder, variables, files and links as a program starts. A subshell gets a ``fork``:
    files and links are shared, the rest is its own."""

    def __init__(self, ledger: Ledger, *, cwd: str | None = None) -> None:
        self.home: str = ledger.home
        self.cwd: str = ledger.cwd if cwd is None else absolute(cwd, cwd=ledger.cwd, home=self.home)
        self.workdir: str = ledger.policy.workdir
        self.variables: dict[str, str] = dict(ledger.variables)
        self.functions: dict[str, Any] = {}  # name -> its body, as the shell keeps it
        self.definitions: dict[str, str] = dict(ledger.functions)
        self.typed = False
        self.environment: dict[str, None] = {}  # variables used that nothing here set
        self.files: dict[str, str | None] = {}
        self.links: dict[str, str] = {}
        self._kept_files: Mapping[str, str | None] = ledger.files
        self._kept_python = ledger.wrote_python
        self._kept_links: Mapping[str, str] = ledger.links
        self._not_kept: Collection[str] = ledger.not_kept

    def fork(self) -> State:
        child = State.__new__(State)
        child.home, child.cwd, child.workdir = self.home, self.cwd, self.workdir
        child.variables = dict(self.variables)
        child.functions = dict(self.functions)
        child.definitions = self.definitions
        child.environment = self.environment
        child.typed = self.typed
        child.files, child.links = self.files, self.links
        child._kept_files, child._kept_links = self._kept_files, self._kept_links
        child._not_kept, child._kept_python = self._not_kept, self._kept_python
        return child

    def effects(self) -> Effects:
        return Effects(
            cwd=self.cwd,
            variables=self.variables,
            files=self.files,
            links=self.links,
            functions=self.definitions,
            typed=self.typed,
        )

    @property
    def wrote_python(self) -> bool:
        """Whether this session made a file that Python could import."""
        return self._kept_python or any(path.endswith(".py") for path in self.files)

    def path(self, word: str) -> str:
        """The file that a word names: absolute, links made in this session followed."""
        path = absolute(word, cwd=self.cwd, home=self.home)
        if self.links or self._kept_links:
            path = self._followed(path)
        return path

    def _followed(self, path: str) -> str:
        for _ in range(8):  # links may point at links; more is a loop
            at = len(path)
            while at > 0:
                head = path[:at]
                target = self.links.get(head) or self._kept_links.get(head)
                if target:
                    path = absolute(target + path[at:], cwd="/", home=self.home)
                    break
                at = path.rfind("/", 0, at)
            else:
                return path
        return path

    def text(self, path: str) -> str | None:
        """What is known to stand in a file, or ``None``.

        :raises Unjudgeable: the session wrote it, but its text was too much to keep.
        """
        if path in self.files:
            return self.files[path]
        if path in self._not_kept:
            raise Unjudgeable(f"{path} was written in this session, and its text was not kept")
        return self._kept_files.get(path)

    def texts(self, suffix: str) -> list[str]:
        """What stands in files of that ending, as far as the session wrote them; the latest 64."""
        known = {**self._kept_files, **self.files}
        found = [text for path, text in known.items() if text and path.endswith(suffix)]
        return found[-64:]

    @property
    def known_any(self) -> bool:
        """Whether the session made any file at all."""
        return bool(self.files or self._kept_files)

    def made(self, word: str) -> bool:
        """Whether the session made a file, or may have: what lies in ``/tmp`` is mostly its own."""
        path = self.path(word)
        return path in self.files or path in self._kept_files or path.startswith("/tmp/")

    def known(self, word: str) -> str | None:
        """``text`` of the file that a word names, ``None`` also where it was not kept."""
        if not self.known_any:
            return None
        path = self.path(word)
        return self.files[path] if path in self.files else self._kept_files.get(path)
