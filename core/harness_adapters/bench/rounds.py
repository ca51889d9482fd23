"""The same load on every target in turn, several times over, so that drift hits all alike."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from statistics import median

from harness_adapters.bench.child import Child, Json
from harness_adapters.bench.targets import Guarded, Target
from harness_adapters.errors import InfraError

Figures = dict[str, float]
DIRECT, GATEWAY = "direct", "gateway"


@dataclass(frozen=True)
class Bench:
    """What a benchmark runs with.

    :param targets: ``direct``, ``gateway``, then the peers by name.
    :param clients: for each target a client of its own, so that a peer that hangs takes no other's
        with it.
    :param failures: peers that could not take a load, and why.
    """

    clients: dict[str, Child]
    engine: Child
    gateway: Child
    targets: dict[str, Target]
    rounds: int
    quick: bool
    failures: dict[str, str] = field(default_factory=dict[str, str])

    @property
    def client(self) -> Child:
        """The gateway's."""
        return self.clients[GATEWAY]

    @property
    def guarded(self) -> Guarded:
        return Guarded(self.gateway)

    def size(self, full: int, quick: int) -> int:
        return quick if self.quick else full

    def put(self, name: str, load: str, *, sessions: int, **options: int | str) -> Json:
        """Put a load on one target. What it took gets ``cpu_seconds``, the gateway's CPU time.

        :raises InfraError: a request failed.
        """
        target = self.targets[name]
        opened = target.open(sessions)
        sampling = name == GATEWAY and load == "streams"
        try:
            if sampling:
                self.gateway.ask(do="sample lag")
            before = self.gateway.cpu_seconds()
            taken = self.clients[name].ask(load=load, sessions=opened, ids=target.ids, **options)
            taken["cpu_seconds"] = self.gateway.cpu_seconds() - before
            if sampling:  # only while it is at work, else idle time would dilute it
                taken |= self.gateway.ask(do="lag")
        finally:
            target.close()
        if failed := taken.get("failed"):
            raise InfraError(f"{name}, {load}: {failed}")
        return taken

    def compare(
        self,
        load: str,
        figures: Callable[[Json], Figures],
        *,
        sessions: int,
        peers: bool = True,
        **options: int | str,
    ) -> Rounds:
        """Put a load on every target in each round. A peer that fails is left out from then on.

        Figures get ``cpu_ms``, the gateway's CPU time per request.
        """
        names = self.targets if peers else (DIRECT, GATEWAY)
        found: dict[str, list[Figures]] = {name: [] for name in names}
        for _ in range(self.rounds):
            for name in list(found):
                try:
                    taken = self.put(name, load, sessions=sessions, **options)
                    cpu_ms = 1e3 * taken["cpu_seconds"] / taken["requests"]
                    found[name].append({**figures(taken), "cpu_ms": cpu_ms})
                except (InfraError, OSError) as error:
                    if name in (DIRECT, GATEWAY):
                        raise
                    self.failures[f"{name}, {load}"] = str(error)[:300]
                    del found[name]
        return Rounds(found)


@dataclass(frozen=True)
class Rounds:
    """Figures by target and round."""

    of: dict[str, list[Figures]]

    def median(self, target: str, figure: str) -> float:
        return median(one[figure] for one in self.of[target])

    def added(self, figure: str, target: str = GATEWAY) -> float:
        """What a target adds to direct calls: the median of the differences round by round."""
        pairs = zip(self.of[target], self.of[DIRECT], strict=True)
        return median(through[figure] - direct[figure] for through, direct in pairs)

    def direct(self, *figures: str) -> Figures:
        return {name: round(self.median(DIRECT, name), 3) for name in figures}

    def peers(self, *figures: str) -> dict[str, Figures]:
        return {
            target: {name: round(self.median(target, name), 3) for name in figures}
            for target in self.of
            if target not in (DIRECT, GATEWAY)
        }
