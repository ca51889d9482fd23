"""The whole benchmark: starts what it needs, measures what is asked for, ends what it started."""

from __future__ import annotations

import os
import platform
import tempfile
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from statistics import median
from typing import Any

from harness_adapters.bench import captured, guard_time, start, wire
from harness_adapters.bench.child import python_child
from harness_adapters.bench.goals import Result, quantile, scale
from harness_adapters.bench.peers import PEERS, start_peer
from harness_adapters.bench.rounds import DIRECT, GATEWAY, Bench
from harness_adapters.bench.targets import Guarded, Plain, Target
from harness_adapters.bench.words import TALK
from harness_adapters.errors import BadInput, InfraError, MissingPrerequisite, did_you_mean

ROUNDS = 5
Measure = Callable[["Yardstick"], Result]


@dataclass(frozen=True)
class Yardstick:
    """A running bench, and how fast this machine is at the moment.

    :param call_ms: p50 of a direct call of 2k tokens.
    """

    bench: Bench
    call_ms: float

    @property
    def scale(self) -> float:
        return scale("call_ms", self.call_ms)


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """:param results: by id, in order.
    :param peers: name -> version, or why there are no figures of it.
    """

    results: dict[str, Result]
    quick: bool
    rounds: int
    machine: dict[str, Any]
    peers: dict[str, Any] = field(default_factory=dict[str, Any])

    @property
    def ok(self) -> bool:
        return all(result.ok for result in self.results.values())

    def as_json(self) -> dict[str, Any]:
        return {
            "ok": self.ok,
            "results": {name: result.as_json() for name, result in self.results.items()},
            "quick": self.quick,
            "rounds": self.rounds,
            "machine": self.machine,
            "peers": self.peers,
        }


MEASURES: dict[str, Measure] = {
    "P1": lambda now: wire.short_calls(now.bench),
    "P2": lambda now: guard_time.by_kind(now.bench.rounds, now.bench.size(40, 5), now.call_ms),
    "P3": lambda now: guard_time.by_history(now.bench.rounds, now.bench.size(100, 10), now.call_ms),
    "P4": lambda now: wire.growing_sessions(now.bench),
    "P5": lambda now: wire.many_streams(now.bench),
    "P6": lambda now: wire.long_turn(now.bench),
    "P7": lambda now: captured.memory(now.bench),
    "P8": lambda now: captured.rows(now.bench),
    "P11": lambda now: start.cold_start(now.bench, now.scale),
    "P12": lambda now: captured.isolation(now.bench),
}


def run(
    *,
    only: Sequence[str] = (),
    peers: Sequence[str] = (),
    quick: bool = False,
    progress: Callable[[str], None] = lambda line: None,
) -> Report:
    """Measure the gateway, with every built-in guard and capture on.

    :param only: ids of goals; all of them by default.
    :param peers: other proxies to put beside it; one that cannot be installed is left out, and
        the report says why.
    :param quick: a small load and one round: whether it works, not how fast it is.
    :raises BadInput: no such goal or peer.
    :raises InfraError: something that was started broke.
    """
    for name in only:
        if name not in MEASURES:
            hint = did_you_mean(name, MEASURES)
            raise BadInput(f"no goal {name!r}{hint} (goals: {', '.join(MEASURES)})")
    for name in peers:
        if name not in PEERS:
            hint = did_you_mean(name, PEERS)
            raise BadInput(f"no peer {name!r}{hint} (peers: {', '.join(PEERS)})")
    load_before = os.getloadavg()[0]
    notes: dict[str, Any] = {}
    with ExitStack() as stack:
        engine = stack.enter_context(python_child("engine"))
        gateway = stack.enter_context(python_child("proxy", engine.url))
        targets: dict[str, Target] = {DIRECT: Plain(engine.url), GATEWAY: Guarded(gateway)}
        for name in peers:
            progress(f"starting {name}")
            try:
                scratch = stack.enter_context(tempfile.TemporaryDirectory(prefix="ha-bench-"))
                peer = start_peer(name, engine.url, scratch)
            except (MissingPrerequisite, InfraError) as error:
                notes[name] = {"absent": str(error)}
                continue
            stack.enter_context(peer.child)
            notes[name] = {"version": peer.version, "start_s": round(peer.start_seconds, 2)}
            targets[name] = peer.target
        bench = Bench(
            clients={name: stack.enter_context(python_child("load")) for name in targets},
            engine=engine,
            gateway=gateway,
            targets=targets,
            rounds=1 if quick else ROUNDS,
            quick=quick,
        )
        results: dict[str, Result] = {}
        for name in only or MEASURES:
            progress(f"measuring {name}")
            results[name] = MEASURES[name](Yardstick(bench, _call_ms(bench)))
        if bench.failures:
            notes["failed"] = bench.failures
        rules = gateway.ready["rules"]
    return Report(
        results=results,
        quick=quick,
        rounds=bench.rounds,
        peers=notes,
        machine={
            "cpus": os.cpu_count(),
            "machine": platform.machine(),
            "python": platform.python_version(),
            "load_before": round(load_before, 2),
            "load_after": round(os.getloadavg()[0], 2),
            "guards": rules,
        },
    )


def _call_ms(bench: Bench) -> float:
    taken = [
        bench.put(DIRECT, "short calls", sessions=bench.size(7, 2), turns=10, label=TALK)["times"]
        for _ in range(min(3, bench.rounds))
    ]
    return 1e3 * median(quantile(times, 0.5) for times in taken)
