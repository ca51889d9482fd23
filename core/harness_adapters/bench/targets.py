"""Where a benchmark's requests go: the engine itself, the gateway, or a peer."""

from __future__ import annotations

import json
import urllib.request
from dataclasses import dataclass
from typing import Protocol

from harness_adapters.bench.child import Child

Session = tuple[str, str]
"""URL without ``/v1``, and the key to send."""


class Target(Protocol):
    """:ivar ids: whether requests must ask for token ids and logprobs themselves."""

    @property
    def ids(self) -> bool: ...

    def open(self, count: int) -> list[Session]: ...

    def close(self) -> None:
        """Forget the sessions that were opened."""
        ...


@dataclass(frozen=True)
class Plain:
    """Something that knows no sessions: the engine, or a proxy that does not look inside."""

    url: str
    ids: bool = True

    def open(self, count: int) -> list[Session]:
        return [(self.url, "direct")] * count

    def close(self) -> None:
        pass


@dataclass(frozen=True)
class Guarded:
    """The gateway."""

    child: Child
    ids: bool = False

    def open(self, count: int) -> list[Session]:
        keys = self.child.ask(do="open", sessions=count)["keys"]
        return [(self.child.url, key) for key in keys]

    def close(self) -> None:
        self.child.ask(do="close")


@dataclass(frozen=True)
class OpenEnv:
    """OpenEnv's capture proxy: each session is made by a request."""

    url: str
    ids: bool = False

    def open(self, count: int) -> list[Session]:
        return [(self.url, self._new()) for _ in range(count)]

    def close(self) -> None:
        pass

    def _new(self) -> str:
        request = urllib.request.Request(
            f"{self.url}/sessions", data=b"{}", headers={"Content-Type": "application/json"}
        )
        with urllib.request.urlopen(request, timeout=30) as response:
            return str(json.load(response)["session_id"])
