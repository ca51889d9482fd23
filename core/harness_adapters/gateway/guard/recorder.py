"""Collects actions while programs are followed, within the limits of one call."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from harness_adapters.gateway.guard.actions import (
    Action,
    ConnectHost,
    InstallPackage,
    ReadPath,
    RunCommand,
    Span,
    Unparsed,
    WritePath,
)
from harness_adapters.gateway.guard.errors import (
    MAX_ACTIONS,
    MAX_NESTING,
    MAX_PROGRAMS_DEEP,
    MAX_PYTHON,
    MAX_STARTED_DEEP,
    MAX_STEPS,
    MAX_VALUES,
    MAX_WORDS,
    Unjudgeable,
)
from harness_adapters.gateway.guard.grammar import Effort
from harness_adapters.gateway.guard.state import State

_NOWHERE = ("/dev/null", "/dev/stdout", "/dev/stderr", "/dev/stdin", "/dev/tty", "/dev/zero")


class Recorder:
    """
    :ivar actions: what was found so far, in order; each once, where it was found first.
    :ivar effort: what the shell grammar may still do.
    :ivar calling: shell functions that are being followed; one that calls itself is not again.
    :ivar imported: modules of the session's own making that were followed.
    :ivar inlined: calls of Python programs' own functions that were followed into these.
    :ivar span: where in the call's raw text the action at hand stands.
    """

    def __init__(self, span: Span) -> None:
        self.actions: list[Action] = []
        self.span = span
        self.effort = Effort()
        self._recorded: set[tuple[object, ...]] = set()
        self.calling: set[str] = set()
        self.imported: set[str] = set()
        self.inlined = 0
        self._detached = 0
        self._waits = False
        self._values = 0
        self._steps = 0
        self._deep = 0
        self._levels = 0
        self._started = 0
        self._chars = 0

    @contextmanager
    def program(self, text: str, *, limit: int) -> Iterator[None]:
        """One more program is followed.

        :raises Unjudgeable: it is too long, too deep inside others, or one too many.
        """
        self._deep += 1
        self._chars += len(text)
        if len(text) > limit:
            raise Unjudgeable(f"a program of more than {limit} characters")
        if self._chars > 2 * MAX_PYTHON:
            raise Unjudgeable(f"programs of more than {2 * MAX_PYTHON} characters in one call")
        if self._deep > MAX_PROGRAMS_DEEP:
            raise Unjudgeable(f"programs started by programs, more than {MAX_PROGRAMS_DEEP} deep")
        try:
            yield
        finally:
            self._deep -= 1

    def enter(self) -> None:
        """One more statement that holds others, until ``leave``.

        :raises Unjudgeable: more than ``MAX_NESTING`` inside each other.
        """
        self._levels += 1
        if self._levels > MAX_NESTING:
            raise Unjudgeable(f"statements inside statements, more than {MAX_NESTING} deep")

    def leave(self) -> None:
        self._levels -= 1

    def step(self) -> None:
        self._steps += 1
        if self._steps > MAX_STEPS:
            raise Unjudgeable(f"more than {MAX_STEPS} commands in one call")

    def start(self, words: Sequence[str]) -> None:
        """One more command, until ``end``.

        :raises Unjudgeable: it has too many words, is one too many, or too deep inside others that
            start it.
        """
        self.step()
        self._started += 1
        if self._started > MAX_STARTED_DEEP:
            raise Unjudgeable(f"programs that start programs, more than {MAX_STARTED_DEEP} deep")
        if len(words) > MAX_WORDS:
            raise Unjudgeable(f"a command of more than {MAX_WORDS} words")
        self.run(tuple(words))

    def end(self) -> None:
        self._started -= 1

    def value(self, characters: int = 0) -> None:
        """One more value of a program was worked out, of so many characters."""
        self._values += 1 + (characters >> 6)
        if self._values > MAX_VALUES:
            raise Unjudgeable(f"more than {MAX_VALUES} values worked out in one call")

    # --- what goes on after the call ------------------------------------------------------------

    @contextmanager
    def background(self, *, waits: bool = False) -> Iterator[None]:
        """What is followed meanwhile goes on by itself; with ``waits`` not before the call ends."""
        before = self._waits
        self._detached += 1
        self._waits = waits or (self._waits and self._detached > 1)
        try:
            yield
        finally:
            self._detached -= 1
            self._waits = before

    def detach(self) -> None:
        """The rest of the call may go on by itself."""
        self._detached += 1

    def wait(self) -> None:
        """A program waits before it goes on."""
        self._waits = True

    loop = wait  # a loop that may last is as good

    # --- actions --------------------------------------------------------------------------------

    def run(self, words: tuple[str, ...]) -> None:
        if self._is_new(RunCommand, words):
            self.actions.append(RunCommand(words=words, span=self.span))

    def read(self, state: State, word: str) -> None:
        if word and word != "-":
            path = state.path(word)
            if path not in _NOWHERE and self._is_new(ReadPath, path):
                self.actions.append(ReadPath(path=path, span=self.span))

    def write(self, state: State, word: str, content: str | None = None) -> None:
        """A file is changed; the state remembers its new text, or that it is not known."""
        if not word or word == "-" or (path := state.path(word)) in _NOWHERE:
            return
        self._change(path, content)
        state.files[path] = content

    def touch(self, state: State, word: str) -> None:
        """A file changes, but not what stands in it."""
        if word:
            self._change(state.path(word))

    def remove(self, state: State, word: str, *, tree: bool = False) -> None:
        """A file, or with ``tree`` a folder and all below it (``/**``), goes away."""
        if word:
            path = state.path(word)
            if tree:
                path = path.rstrip("/") + "/**"
            self._change(path)

    def _change(self, path: str, content: str | None = None) -> None:
        later = self._waits and self._detached > 0
        if self._is_new(WritePath, path, content, later):
            action = WritePath(path=path, span=self.span, content=content, later=later)
            self.actions.append(action)

    def connect(self, host: str | None, *, sends: bool = False, address: str = "") -> None:
        address = address[:2048]
        if host and self._is_new(ConnectHost, host, sends, address):
            self.actions.append(
                ConnectHost(host=host, span=self.span, sends=sends, address=address)
            )

    def install(self, package: str) -> None:
        if self._is_new(InstallPackage, package):
            self.actions.append(InstallPackage(name=package, span=self.span))

    def unparsed(self, text: str, *, made: bool = False) -> None:
        if self._is_new(Unparsed, text, made):
            self.actions.append(Unparsed(text=text, span=self.span, made=made))

    def _is_new(self, *action: object) -> bool:
        """Whether it was not recorded before: said again, it tells no rule more.

        :raises Unjudgeable: more than ``MAX_ACTIONS``.
        """
        if action in self._recorded:
            return False
        self._recorded.add(action)
        if len(self._recorded) > MAX_ACTIONS:
            raise Unjudgeable(f"more than {MAX_ACTIONS} actions in one call")
        return True
