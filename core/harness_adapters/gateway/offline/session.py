"""A session's ledger, fed from a record in the order in which the gateway would have fed it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

from harness_adapters.gateway.guard.calls import ToolCall
from harness_adapters.gateway.guard.ledger import Ledger
from harness_adapters.types import TaskPolicy

# Tools that keep one shell, and its working folder, from call to call.
_PERSISTENT_SHELLS = frozenset(("Bash", "terminal", "execute_bash"))
_HOME = re.compile(r"/(?:Users|home)/[^/]+")

Tools = Mapping[str, Mapping[str, Any]]


class OfflineSession:
    """Its home is the one that the working folder lies in.

    :param tools: declared tools; ``None`` when nobody knows.
    :param cwd: the shell's folder where it is not the policy's.
    :param shells: names of the session's tools as far as known, to tell how its shell behaves.
    """

    def __init__(
        self,
        policy: TaskPolicy,
        *,
        tools: Tools | None = None,
        cwd: str = "",
        shells: Iterable[str] = (),
    ) -> None:
        persistent = not _PERSISTENT_SHELLS.isdisjoint({*shells, *(tools or ())})
        home = _HOME.match(policy.workdir)
        self.ledger = Ledger(
            policy,
            persistent_shell=persistent,
            home=home.group() if home else "/home/agent",
        )
        if cwd:
            self.ledger.cwd = cwd
        self._tools = tools
        self._new: list[Mapping[str, Any]] = []
        self._told = False

    def hear(self, message: Mapping[str, Any]) -> None:
        """A chat message that stands in the next request."""
        self._new.append(message)

    def call(self, id: str, name: str, raw: str) -> ToolCall:
        """The model's next call: what was heard since its last one is in the ledger by now."""
        if self._new or not self._told:
            self.ledger.see_request(tools=self._tools, new_messages=self._new)
            self._new = []
            self._told = True
        return ToolCall(id=id, name=name, raw=raw, ledger=self.ledger)

    def ran(self, call: ToolCall) -> None:
        """The call was let through. Its message stands in the next request, as a harness would
        send it back."""
        self.ledger.commit(call)
        function = {"name": call.name, "arguments": call.raw}
        echo = {"id": call.id, "type": "function", "function": function}
        self.hear({"role": "assistant", "content": "", "tool_calls": [echo]})
