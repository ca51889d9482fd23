"""P1, P4, P5 and P6: what the gateway costs at the wire."""

from __future__ import annotations

from typing import Any

from harness_adapters.bench.child import Json
from harness_adapters.bench.goals import Result, quantile, scale
from harness_adapters.bench.rounds import DIRECT, GATEWAY, Bench, Figures, Rounds
from harness_adapters.bench.words import CALL, HEREDOC, TALK

# The goals of P1 and P4 were set on replies without calls. With a short one in each reply they are
# as much higher as judging it may take (P2).
JUDGING_MS = 0.5
THROUGHPUT = ("requests_per_second", "p50_ms", "p99_ms")


def short_calls(bench: Bench) -> Result:
    """P1: added latency of a chat call of 2k tokens, without and with a call in the reply."""
    sessions = bench.size(21, 4)
    rounds = bench.compare("short calls", _milliseconds, sessions=sessions, turns=10, label=TALK)
    judged = bench.compare("short calls", _milliseconds, sessions=sessions, turns=10, label=CALL)
    return Result(
        title="added latency per 2k-token chat call",
        value={
            "added_p50_ms": rounds.added("p50_ms"),
            "added_p99_ms": rounds.added("p99_ms"),
            "call_judged_added_p50_ms": judged.added("p50_ms"),
            "call_judged_added_p99_ms": judged.added("p99_ms"),
        },
        goal={
            "added_p50_ms": 1.5,
            "added_p99_ms": 5.0,
            "call_judged_added_p50_ms": 1.5 + JUDGING_MS,
            "call_judged_added_p99_ms": 5.0 + JUDGING_MS,
        },
        direct=rounds.direct("p50_ms", "p99_ms"),
        scale=scale("call_ms", rounds.median(DIRECT, "p50_ms")),
        detail={
            "gateway_p50_ms": rounds.median(GATEWAY, "p50_ms"),
            "gateway_cpu_ms": rounds.median(GATEWAY, "cpu_ms"),
            "peers": rounds.peers("p50_ms", "p99_ms"),
            "peers_added_p50_ms": {name: rounds.added("p50_ms", name) for name in rounds.peers()},
            "call_judged": {
                "gateway_p50_ms": judged.median(GATEWAY, "p50_ms"),
                "gateway_cpu_ms": judged.median(GATEWAY, "cpu_ms"),
                "direct": judged.direct("p50_ms", "p99_ms"),
                "peers": judged.peers("p50_ms", "p99_ms"),
            },
        },
    )


def growing_sessions(bench: Bench) -> Result:
    """P4: 48 sessions at once, each growing by 200 tokens a turn; without and with a call in each
    reply, and with files of 20 KB."""
    load: Json = {"sessions": bench.size(48, 6), "turns": bench.size(12, 3), "add": 800}
    rounds = bench.compare("growing", _throughput, label=TALK, **load)
    judged = bench.compare("growing", _throughput, label=CALL, **load)
    files = bench.compare("growing", _throughput, label=HEREDOC, peers=False, **load)
    value = {
        "requests_per_second": rounds.median(GATEWAY, "requests_per_second"),
        "p99_over_p50": rounds.median(GATEWAY, "p99_over_p50"),
        "calls_judged_per_second": judged.median(GATEWAY, "requests_per_second"),
    }
    goal = {
        "least_requests_per_second": 550.0,
        "p99_over_p50": 3.0,
        "least_calls_judged_per_second": 1 / (1 / 550.0 + 1e-3 * JUDGING_MS),
    }
    if openenv := rounds.peers("requests_per_second").get("openenv"):
        value["times_openenv"] = value["requests_per_second"] / openenv["requests_per_second"]
        goal["least_times_openenv"] = 2.0
    return Result(
        title=f"{load['sessions']} growing sessions",
        value=value,
        goal=goal,
        direct=rounds.direct(*THROUGHPUT),
        scale=scale("requests_per_second", rounds.median(DIRECT, "requests_per_second")),
        detail={
            "without_calls": _throughputs(rounds),
            "calls_judged": _throughputs(judged),
            "with_20_kb_files": _throughputs(files),
        },
    )


def many_streams(bench: Bench) -> Result:
    """P5: 200 and 500 streams at once."""
    few, many = bench.size(200, 10), bench.size(500, 20)
    at_few = bench.compare("streams", _streams, sessions=few)
    at_many = bench.compare("streams", _streams, sessions=many)
    errors = sum(one["errors"] for rounds in (at_few, at_many) for one in rounds.of[GATEWAY])
    return Result(
        title=f"{few} and {many} concurrent streams",
        value={
            "errors": errors,
            "added_p99_ms": at_few.added("p99_ms"),
            "loop_lag_p99_ms": at_few.median(GATEWAY, "loop_lag_p99_ms"),
        },
        goal={"errors": 0, "added_p99_ms": 150.0, "loop_lag_p99_ms": 50.0},
        direct=at_few.direct("p50_ms", "p99_ms"),
        scale=scale("streams_p99_ms", at_few.median(DIRECT, "p99_ms")),
        detail={
            f"at_{many}": {
                "gateway_cpu_ms": at_many.median(GATEWAY, "cpu_ms"),
                "loop_lag_p99_ms": at_many.median(GATEWAY, "loop_lag_p99_ms"),
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


def _throughputs(rounds: Rounds) -> dict[str, Any]:
    return {
        "gateway": {name: rounds.median(GATEWAY, name) for name in (*THROUGHPUT, "cpu_ms")},
        "direct": rounds.direct(*THROUGHPUT),
        "peers": rounds.peers(*THROUGHPUT),
    }


def _throughput(taken: Json) -> Figures:
    figures = _milliseconds(taken)
    figures["requests_per_second"] = len(taken["times"]) / taken["seconds"]
    figures["p99_over_p50"] = figures["p99_ms"] / figures["p50_ms"]
    return figures


def _streams(taken: Json) -> Figures:
    figures = {**_milliseconds(taken), "errors": float(len(taken["errors"]))}
    if lags := taken.get("lags"):
        figures["loop_lag_p99_ms"] = 1e3 * quantile(lags, 0.99)
    return figures
