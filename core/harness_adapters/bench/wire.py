"""P1, P4, P5 and P6: what the gateway costs at the wire."""

from __future__ import annotations

from harness_adapters.bench.child import Json
from harness_adapters.bench.goals import Result, quantile, scale
from harness_adapters.bench.rounds import DIRECT, GATEWAY, Bench, Figures


def short_calls(bench: Bench) -> Result:
    """P1: added latency of a chat call of 2k tokens."""
    calls, warm = bench.size(200, 30), bench.size(20, 5)
    rounds = bench.compare(
        "short calls", _milliseconds, sessions=calls + warm, calls=calls, warm=warm
    )
    return Result(
        title="added latency per 2k-token chat call",
        value={
            "added_p50_ms": rounds.added("p50_ms"),
            "added_p99_ms": rounds.added("p99_ms"),
        },
        goal={"added_p50_ms": 1.5, "added_p99_ms": 5.0},
        direct=rounds.direct("p50_ms", "p99_ms"),
        scale=scale("call_ms", rounds.median(DIRECT, "p50_ms")),
        detail={
            "gateway_p50_ms": rounds.median(GATEWAY, "p50_ms"),
            "gateway_cpu_ms": rounds.median(GATEWAY, "cpu_ms"),
            "peers": rounds.peers("p50_ms", "p99_ms"),
            "peers_added_p50_ms": {name: rounds.added("p50_ms", name) for name in rounds.peers()},
        },
    )


def growing_sessions(bench: Bench) -> Result:
    """P4: 48 sessions at once, each growing by 200 tokens a turn."""
    sessions, turns = bench.size(48, 6), bench.size(12, 3)
    rounds = bench.compare("growing", _throughput, sessions=sessions, turns=turns, add=800)
    files = bench.compare(
        "growing", _throughput, sessions=sessions, turns=turns, add=800, heredocs=True
    )
    names = ("requests_per_second", "p50_ms", "p99_ms")
    value = {
        "requests_per_second": rounds.median(GATEWAY, "requests_per_second"),
        "p99_over_p50": rounds.median(GATEWAY, "p99_over_p50"),
    }
    goal = {"least_requests_per_second": 550.0, "p99_over_p50": 3.0}
    if openenv := rounds.peers("requests_per_second").get("openenv"):
        value["times_openenv"] = value["requests_per_second"] / openenv["requests_per_second"]
        goal["least_times_openenv"] = 2.0
    return Result(
        title=f"{sessions} growing sessions",
        value=value,
        goal=goal,
        direct=rounds.direct(*names),
        scale=scale("requests_per_second", rounds.median(DIRECT, "requests_per_second")),
        detail={
            "gateway": {name: rounds.median(GATEWAY, name) for name in (*names, "cpu_ms")},
            "peers": rounds.peers(*names),
            "with_20_kb_files": {
                "gateway": {name: files.median(GATEWAY, name) for name in (*names, "cpu_ms")},
                "direct": files.direct(*names),
                "peers": files.peers(*names),
            },
        },
    )


def many_streams(bench: Bench) -> Result:
    """P5: 200 and 500 streams at once."""
    few, many = bench.size(200, 10), bench.size(500, 20)
    bench.gateway.ask(do="sample lag")
    at_few = bench.compare("streams", _streams, sessions=few)
    at_many = bench.compare("streams", _streams, sessions=many)
    lags = bench.gateway.ask(do="lag")["lags"]
    errors = sum(one["errors"] for rounds in (at_few, at_many) for one in rounds.of[GATEWAY])
    return Result(
        title=f"{few} and {many} concurrent streams",
        value={
            "errors": errors,
            "added_p99_ms": at_few.added("p99_ms"),
            "loop_lag_p99_ms": 1e3 * quantile(lags, 0.99),
        },
        goal={"errors": 0, "added_p99_ms": 150.0, "loop_lag_p99_ms": 50.0},
        direct=at_few.direct("p50_ms", "p99_ms"),
        scale=scale("streams_p99_ms", at_few.median(DIRECT, "p99_ms")),
        detail={
            "loop_lag_max_ms": 1e3 * max(lags),
            f"at_{many}": {
                "gateway_cpu_ms": at_many.median(GATEWAY, "cpu_ms"),
                "gateway_p99_ms": at_many.median(GATEWAY, "p99_ms"),
                "direct_p99_ms": at_many.median(DIRECT, "p99_ms"),
                "peers": at_many.peers("p99_ms", "errors"),
            },
            "peers": at_few.peers("p50_ms", "p99_ms", "errors"),
        },
    )


def long_turn(bench: Bench) -> Result:
    """P6: one turn at 100k tokens."""
    rounds = bench.compare(
        "long session",
        _milliseconds,
        sessions=1,
        characters=bench.size(400_000, 100_000),
        turns=bench.size(60, 10),
        counted=3,
    )
    return Result(
        title="one turn at 100k tokens, added",
        value={"added_ms": rounds.added("p50_ms")},
        goal={"added_ms": 15.0},
        direct=rounds.direct("p50_ms"),
        scale=scale("long_call_ms", rounds.median(DIRECT, "p50_ms")),
        detail={
            "gateway_ms": rounds.median(GATEWAY, "p50_ms"),
            "gateway_cpu_ms_per_turn": rounds.median(GATEWAY, "cpu_ms"),
            "peers": rounds.peers("p50_ms"),
        },
    )


def _milliseconds(taken: Json) -> Figures:
    times = taken["times"]
    return {"p50_ms": 1e3 * quantile(times, 0.5), "p99_ms": 1e3 * quantile(times, 0.99)}


def _throughput(taken: Json) -> Figures:
    figures = _milliseconds(taken)
    figures["requests_per_second"] = len(taken["times"]) / taken["seconds"]
    figures["p99_over_p50"] = figures["p99_ms"] / figures["p50_ms"]
    return figures


def _streams(taken: Json) -> Figures:
    return {**_milliseconds(taken), "errors": len(taken["errors"])}
