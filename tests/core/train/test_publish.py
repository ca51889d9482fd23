"""Versions on their way to servers, over servers that count and misbehave."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import closing
from pathlib import Path

import pytest

from harness_adapters.errors import InfraError
from harness_adapters.train.canary import AdapterNotServed, Expectation
from harness_adapters.train.names import AdapterName, new_run_id
from harness_adapters.train.publish import Publisher, PublishFailed
from harness_adapters.train.store import AdapterStore, Version

BASE = (-1.0, -2.0, -3.0)
ADAPTER = (-1.5, -2.0, -2.8)
REAL = Expectation(adapter=ADAPTER, base=BASE)
PROBE = [1, 2, 3, 4]


class Server:
    """One replica: what it holds, what it was asked, and how it may be at fault."""

    def __init__(self) -> None:
        self.held: dict[str, Path] = {}
        self.loads: Counter[str] = Counter()
        self.unloads: list[str] = []
        self.serves_base = False
        self.spoils_base = False
        self.full = False

    async def load(self, name: str, path: Path) -> None:
        self.loads[name] += 1
        assert (path / "adapter_config.json").exists(), "a server reads whole folders only"
        if self.full:
            raise InfraError("no slot is free")
        assert name not in self.held
        self.held[name] = path

    async def unload(self, name: str) -> None:
        del self.held[name]
        self.unloads.append(name)

    async def names(self) -> list[str]:
        return list(self.held)

    async def prompt_logprobs(self, model: str, ids: Sequence[int]) -> list[float]:
        if model in self.held and not self.serves_base:
            return list(ADAPTER)
        return [p - 0.5 for p in BASE] if self.spoils_base and self.held else list(BASE)


class World:
    def __init__(self, folder: Path, run: str, servers: dict[str, Server]) -> None:
        self.run = run
        self.servers = servers
        self.store = AdapterStore(folder, model="tiny", harness="pi", run=run)
        self.publisher = Publisher(servers, base="base", store=self.store, probe=PROBE, keep=0)

    def version(self, step: int | None = 0) -> Version:
        return self.store.add(lambda f: _save(f), step=step)


def _save(folder: Path) -> None:
    (folder / "adapter_config.json").write_text("{}")


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    made = World(tmp_path, new_run_id(), {"http://a": Server(), "http://b": Server()})
    with closing(made.store):
        yield made


async def test_a_version_is_read_once_by_each_replica_and_then_dispatched_to(world: World) -> None:
    """RF25: one load per version, however many sessions use it."""
    await world.publisher.open(world.run)
    version = world.version()
    reports = await world.publisher.publish(version, REAL)
    assert world.publisher.current == version
    for url, server in world.servers.items():
        assert server.loads == {version.name: 1}
        assert reports[url].told and reports[url].parity == 0


async def test_all_replicas_or_none(world: World) -> None:
    await world.publisher.open(world.run)
    first = world.version()
    await world.publisher.publish(first, REAL)
    world.servers["http://b"].full = True
    second = world.version(1)
    with pytest.raises(PublishFailed, match=r"http://b does not load .*no slot is free"):
        await world.publisher.publish(second, REAL)
    assert world.publisher.current == first
    assert [list(server.held) for server in world.servers.values()] == [[first.name]] * 2


async def test_a_replica_that_serves_the_base_stops_it_and_keeps_nothing(world: World) -> None:
    await world.publisher.open(world.run)
    world.servers["http://b"].serves_base = True
    with pytest.raises(AdapterNotServed, match=r"http://b: .*serves the base model in its place"):
        await world.publisher.prove(world.version(None), REAL)
    assert all(not server.held for server in world.servers.values())


async def test_a_base_that_an_adapter_changes_stops_it(world: World) -> None:
    await world.publisher.open(world.run)
    world.servers["http://a"].spoils_base = True
    with pytest.raises(AdapterNotServed, match="requests for the base are changed"):
        await world.publisher.publish(world.version(), REAL)


async def test_a_proof_leaves_neither_adapter_nor_files_nor_policy(world: World) -> None:
    await world.publisher.open(world.run)
    proof = world.version(None)
    await world.publisher.prove(proof, REAL)
    assert all(server.unloads == [proof.name] for server in world.servers.values())
    assert not proof.path.exists()
    assert world.store.steps == {}
    with pytest.raises(RuntimeError):
        _ = world.publisher.current


async def test_a_version_stays_while_a_session_uses_it_and_its_files_longer(world: World) -> None:
    await world.publisher.open(world.run)
    old = world.version(0)
    await world.publisher.publish(old, REAL)
    with world.publisher.using(old):
        await world.publisher.publish(world.version(1), REAL)
        assert old.name in world.servers["http://a"].held
    await world.publisher.retire()
    assert old.name not in world.servers["http://a"].held
    assert old.path.exists(), "servers resolve paths lazily"
    for step in range(2, 5):
        await world.publisher.publish(world.version(step), REAL)
    assert not old.path.exists()
    assert world.publisher.current.path.exists()
    await world.publisher.close()
    assert all(not server.held for server in world.servers.values())
    assert world.publisher.current.path.exists(), "the last version is what a run is for"


async def test_a_resumed_run_unloads_its_own_and_goes_above_what_is_known(
    tmp_path: Path,
) -> None:
    """RF41: a server that still runs holds names that may not come again."""
    run, elsewhere = new_run_id(), new_run_id()
    server = Server()
    mine, others = f"tiny.pi.{run}.v41", f"tiny.pi.{elsewhere}.v3"
    server.held = {mine: tmp_path, others: tmp_path}
    world = World(tmp_path / "adapters", run, {"http://a": server})
    with closing(world.store):
        await world.publisher.open(run)
        assert list(server.held) == [others]
        assert world.version().number == 42


async def test_three_runs_on_one_server_share_nothing_and_pause_nothing(tmp_path: Path) -> None:
    """RF29: distinct names, and no call but load, unload and probe."""
    server = Server()
    worlds = [World(tmp_path / str(n), new_run_id(), {"http://a": server}) for n in range(3)]
    for world in worlds:
        await world.publisher.open(world.run)
    for step in range(4):
        for world in worlds:
            await world.publisher.publish(world.version(step), REAL)
    parsed = [AdapterName.parse(name) for name in server.held]
    assert {name.run for name in parsed if name} == {world.run for world in worlds}
    assert len(server.held) == 3 and set(server.loads.values()) == {1}
    for world in worlds:
        world.store.close()
