"""One tool call, as the model sent it, and its actions, parsed when first asked for."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeVar

from harness_adapters.gateway.guard.errors import Unjudgeable
from harness_adapters.gateway.guard.strict_json import beyond_limits, strict_object

if TYPE_CHECKING:
    from collections.abc import Sequence

    from harness_adapters.gateway.guard.actions import (
        Action,
        ConnectHost,
        InstallPackage,
        ReadPath,
        RunCommand,
        Unparsed,
        WritePath,
    )
    from harness_adapters.gateway.guard.ledger import Ledger
    from harness_adapters.gateway.guard.reading import Reading


A = TypeVar("A", "RunCommand", "ReadPath", "WritePath", "ConnectHost", "InstallPackage", "Unparsed")


class ToolCall:
    """A tool call under judgement.

    :ivar id: the call's wire id.
    :ivar name: the tool's name, byte for byte as sampled.
    :ivar raw: the arguments' text, byte for byte as sampled.
    :ivar arguments: the parsed object, or ``None`` when ``raw`` is no strict JSON object or is
        beyond the limits of size and nesting.
    """

    def __init__(self, *, id: str, name: str, raw: str, ledger: Ledger) -> None:
        self.id = id
        self.name = name
        self.raw = raw
        self.arguments: dict[str, Any] | None = strict_object(raw)
        self._ledger = ledger

    @property
    def beyond_limits(self) -> str | None:
        """Which fixed limit the arguments are beyond, or ``None``."""
        return None if self.arguments is not None else beyond_limits(self.raw)

    @property
    def actions(self) -> tuple[Action, ...]:
        """What the call would do, against the session's working folder and shell state. Of
        malformed arguments, what any client might make of them.

        :raises Unjudgeable: beyond a fixed limit of size or nesting.
        """
        return self.reading.actions

    def of(self, kind: type[A]) -> Sequence[A]:
        """The actions of one kind; sorted out once for all rules.

        :raises Unjudgeable: beyond a fixed limit of size or nesting.
        """
        return self._by_kind.get(kind, ())  # type: ignore[return-value]

    @cached_property
    def _by_kind(self) -> dict[type, list[Action]]:
        found: dict[type, list[Action]] = {}
        for action in self.actions:
            found.setdefault(type(action), []).append(action)
        return found

    @property
    def reading(self) -> Reading:
        """Actions, and the effects that the ledger keeps once the call is let through. Read once
        for all rules, also where it cannot be.

        :raises Unjudgeable: beyond a fixed limit of size or nesting.
        """
        if isinstance(self._read, str):
            raise Unjudgeable(self._read)
        return self._read

    @cached_property
    def _read(self) -> Reading | str:
        from harness_adapters.gateway.guard.reading import read_call

        try:
            return read_call(self, self._ledger)
        except Unjudgeable as error:
            return str(error)
