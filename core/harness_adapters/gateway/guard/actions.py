"""What a tool call would do, as data: the only thing most rules need to look at.

Every action carries ``span``, the place in the call's raw argument text that it was read from.
Paths are absolute and normalised against the session's working folder where that is known.
They may hold shell wildcards, and end in ``/**`` where a whole tree is changed; ask the ledger
(``verifier_root``, ``is_protected``, ``protects``), which takes both into account.
"""

from __future__ import annotations

from dataclasses import dataclass

Span = tuple[int, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class RunCommand:
    """A program started with its words, after quotes and simple variables are resolved."""

    words: tuple[str, ...]
    span: Span


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadPath:
    path: str
    span: Span


@dataclass(frozen=True, slots=True, kw_only=True)
class WritePath:
    """A file is made, changed, moved over or removed.

    :ivar content: its new text, where the call holds it.
    :ivar later: something that goes on after the call waits or loops before it writes.
    """

    path: str
    span: Span
    content: str | None = None
    later: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ConnectHost:
    """
    :ivar sends: files or output of this machine go there, not only a request.
    :ivar address: the whole address that the program is given, where that tells more.
    """

    host: str
    span: Span
    sends: bool = False
    address: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class InstallPackage:
    name: str
    span: Span


@dataclass(frozen=True, slots=True, kw_only=True)
class Unparsed:
    """Text that would be executed and that no grammar reads. Rules judge the raw text and fail
    closed for protected places.

    :ivar made: the text makes the program that is executed, rather than being it.
    """

    text: str
    span: Span
    made: bool = False


Action = RunCommand | ReadPath | WritePath | ConnectHost | InstallPackage | Unparsed
