"""Versions of an adapter on their way onto the servers, and off them again.

Nothing is paused: sessions under way keep the version they were dispatched to, new ones take the
new. A version is loaded on every replica or on none, and unloaded when no session uses it; its
files outlive that, since servers resolve paths lazily.
"""

from __future__ import annotations

import asyncio
import logging
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Protocol

from harness_adapters.errors import HarnessAdaptersError
from harness_adapters.train.canary import Expectation, Report, distance, judge
from harness_adapters.train.names import AdapterName
from harness_adapters.train.store import AdapterStore, Version

_log = logging.getLogger(__name__)

KEPT_AFTER_UNLOAD = 2
"""So many unloaded versions keep their files before the oldest is removed."""


class AdapterServer(Protocol):
    """What is asked of one replica; ``serve.adapter_client.AdapterClient`` is one."""

    async def load(self, name: str, path: Path) -> None: ...
    async def unload(self, name: str) -> None: ...
    async def names(self) -> list[str]: ...
    async def prompt_logprobs(self, model: str, ids: Sequence[int]) -> list[float]: ...


class PublishFailed(HarnessAdaptersError):
    """A version could not be loaded on every replica; it is on none."""


class Publisher:
    """:param servers: replica's URL -> its client; all serve the same base model.
    :param base: the base model's name there.
    :param probe: token ids, the canary's fixed text.
    :param keep: every so many steps a version keeps its files for good; 0 for none but the last.
    """

    def __init__(
        self,
        servers: Mapping[str, AdapterServer],
        *,
        base: str,
        store: AdapterStore,
        probe: Sequence[int],
        keep: int,
    ) -> None:
        self._servers = servers
        self._base = base
        self._store = store
        self._probe = list(probe)
        self._keep = keep
        self._loaded: dict[str, Version] = {}
        self._unloaded: list[Version] = []
        self._users: Counter[str] = Counter()
        self._base_before: dict[str, list[float]] = {}
        self._noise: dict[str, float] = {}
        self._lock = asyncio.Lock()
        self._current: Version | None = None

    @property
    def current(self) -> Version:
        """What new sessions are dispatched to."""
        if self._current is None:
            raise RuntimeError("no version is published yet")
        return self._current

    async def open(self, run: str) -> None:
        """Measure the base, unload what an earlier process of this run left, and learn which
        numbers may not be used again."""
        for url, server in self._servers.items():
            known = await server.names()
            self._store.skip(known)
            for name in known:
                parsed = AdapterName.parse(name)
                if parsed and parsed.run == run:
                    await server.unload(name)
            first = await server.prompt_logprobs(self._base, self._probe)
            again = await server.prompt_logprobs(self._base, self._probe)
            self._base_before[url] = again
            self._noise[url] = distance(first, again)

    async def prove(self, version: Version, expected: Expectation) -> dict[str, Report]:
        """Load a version that surely differs from the base, look that it does, unload it."""
        async with self._lock:
            reports = await self._load(version, expected)
            for url in self._servers:
                await self._servers[url].unload(version.name)
        self._store.remove(version)
        return reports

    async def publish(self, version: Version, expected: Expectation) -> dict[str, Report]:
        """Load a version on every replica, check it there, and dispatch to it from now on.

        :returns: what the canary found, by replica.
        :raises PublishFailed: a replica did not take it; none has it.
        :raises AdapterNotServed: a replica serves something else; none has it.
        """
        async with self._lock:
            reports = await self._load(version, expected)
            self._loaded[version.name] = version
            self._current = version
        await self.retire()
        return reports

    @contextmanager
    def using(self, version: Version) -> Iterator[None]:
        """A session that is pinned to a version: it stays loaded for as long."""
        self._users[version.name] += 1
        try:
            yield
        finally:
            self._users[version.name] -= 1

    async def retire(self) -> None:
        """Unload versions that are neither current nor in use, everywhere."""
        async with self._lock:
            for name, version in list(self._loaded.items()):
                if version is not self._current and not self._users[name]:
                    await self._unload(version)

    async def close(self) -> None:
        """Unload everything; the files stay."""
        async with self._lock:
            for version in list(self._loaded.values()):
                await self._unload(version)

    async def _load(self, version: Version, expected: Expectation) -> dict[str, Report]:
        took: list[str] = []
        try:
            for url, server in self._servers.items():
                try:
                    await server.load(version.name, version.path)
                except HarnessAdaptersError as error:
                    raise PublishFailed(f"{url} does not load {version.name}: {error}") from error
                took.append(url)
            return {url: await self._check(url, version, expected) for url in self._servers}
        except BaseException:
            for url in took:
                await self._try_unload(url, version.name)
            raise

    async def _check(self, url: str, version: Version, expected: Expectation) -> Report:
        server = self._servers[url]
        report = judge(
            server=url,
            name=version.name,
            expected=expected,
            adapter=await server.prompt_logprobs(version.name, self._probe),
            base=await server.prompt_logprobs(self._base, self._probe),
            base_before=self._base_before[url],
            noise=self._noise[url],
        )
        if not report.told and report.expected:
            _log.info(
                "%s: %s changes the probe by %.2g only, too little to tell it from the base",
                url,
                version.name,
                report.expected,
            )
        return report

    async def _unload(self, version: Version) -> None:
        for url in self._servers:
            await self._try_unload(url, version.name)
        del self._loaded[version.name]
        if self._keep and version.step is not None and version.step % self._keep == 0:
            return
        self._unloaded.append(version)
        while len(self._unloaded) > KEPT_AFTER_UNLOAD:
            self._store.remove(self._unloaded.pop(0))

    async def _try_unload(self, url: str, name: str) -> None:
        """A server that does not unload keeps a slot; that is worth a line, not the run."""
        try:
            await self._servers[url].unload(name)
        except HarnessAdaptersError as error:
            _log.warning("%s does not unload %s: %s", url, name, error)
