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
    """A file is made, changed, moved over or removed. ``content`` where the call holds it."""

    path: str
    span: Span
    content: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ConnectHost:
    host: str
    span: Span


@dataclass(frozen=True, slots=True, kw_only=True)
class InstallPackage:
    name: str
    span: Span


@dataclass(frozen=True, slots=True, kw_only=True)
class Unparsed:
    """Text that would be executed and that no grammar reads. Rules judge the raw text and fail
    closed for protected places."""

    text: str
    span: Span


Action = RunCommand | ReadPath | WritePath | ConnectHost | InstallPackage | Unparsed
