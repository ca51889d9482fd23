"""P7, P8 and P12: what captured sessions hold, how fast they become rows, and whether they are
right."""

from __future__ import annotations

import time
from array import array
from statistics import median
from typing import Any

from harness_adapters.bench.child import Json, python_child
from harness_adapters.bench.goals import Result
from harness_adapters.bench.rounds import Bench
from harness_adapters.bench.targets import Guarded
from harness_adapters.bench.words import CALL, ids_of
from harness_adapters.gateway.forest import Forest
from harness_adapters.gateway.transcript import Transcript, Turn
from harness_adapters.types import Flag

MEGABYTE = 1024 * 1024
BYTES_PER_TOKEN = 24


def memory(bench: Bench) -> Result:
    """P7: sessions of 40 turns and 43k tokens, still open, in a gateway that has done nothing else:
    in one that has, they would lie where others were before."""
    sessions, turns = bench.size(24, 4), bench.size(40, 8)
    with python_child("proxy", bench.engine.url) as gateway:
        guarded = Guarded(gateway)

        def grow(count: int, turns: int) -> None:
            bench.client.ask(
                load="growing",
                label=CALL,
                sessions=guarded.open(count),
                ids=False,
                turns=turns,
                add=4000,
            )

        grow(sessions, 1)  # what is made once, connections among it, is not a session's own
        guarded.close()
        before = gateway.resident_bytes()
        grow(sessions, turns)
        held = gateway.ask(do="captured")
        after = gateway.resident_bytes()
    tokens = held["unique_tokens"] / sessions
    return Result(
        title="memory per captured session",
        value={"bytes": (after - before) / sessions},
        goal={"bytes": MEGABYTE + BYTES_PER_TOKEN * tokens},
        direct={"packed_ids_and_logprobs_bytes": 8 * tokens},
        detail={
            "sessions": sessions,
            "turns": held["turns"] / sessions,
            "unique_tokens_per_session": tokens,
            "gateway_mb": after / MEGABYTE,
        },
    )


def rows(bench: Bench) -> Result:
    """P8: a session of 200 turns into training rows. Beside it, in place of a direct run: copying
    the same arrays once. In CPU time, like the guard's."""
    transcript = _session(turns=200, new=400, sampled=100)
    made = transcript.rows()
    count = sum(len(row.ids) for row in made)
    times = [_seconds(transcript.rows) for _ in range(5 * bench.rounds)]
    copies = [_seconds(lambda: _copied(transcript)) for _ in range(5 * bench.rounds)]
    took = median(times)
    return Result(
        title="trace to training rows, 200 turns",
        value={"tokens_per_second": count / took, "took_ms": 1e3 * took},
        goal={"least_tokens_per_second": 10e6, "took_ms": 20.0},
        direct={"copy_ms": 1e3 * median(copies)},
        detail={"tokens": count, "rows": len(made)},
    )


def isolation(bench: Bench) -> Result:
    """P12: sessions at full speed, each with a word of its own."""
    sessions, turns = bench.size(500, 10), bench.size(8, 3)
    guarded = bench.guarded
    begun = time.perf_counter()
    taken: Json = bench.client.ask(
        load="canaries", sessions=guarded.open(sessions), ids=False, turns=turns
    )
    seconds = time.perf_counter() - begun
    checked = bench.gateway.ask(do="check")
    guarded.close()
    lost = sessions * turns - checked["turns"]
    return Result(
        title=f"isolation at speed, {sessions} sessions",
        value={
            "leaks": len(taken.get("leaks", ())) + ("failed" in taken),
            "wrong_ids": checked["wrong"],
            "lost_turns": lost + checked["inexact"],
        },
        goal={"leaks": 0, "wrong_ids": 0, "lost_turns": 0},
        direct={},
        detail={
            "ids_compared": checked["compared"],
            "requests_per_second": sessions * turns / seconds,
            "first_leaks": list(taken.get("leaks", ()))[:3],
            "failed": taken.get("failed", ""),
        },
    )


def _session(turns: int, new: int, sampled: int) -> Transcript:
    """An append-only session, linked as the gateway links it."""
    forest, prompt = Forest(), array("i")
    made: list[Turn] = []
    for index in range(turns):
        prompt = prompt + array("i", ids_of(f"{index}".ljust(4 * new)))  # the forest keeps arrays
        parent, added = forest.place(prompt)
        said = array("i", ids_of(f"say {index}".ljust(4 * sampled)))
        forest.add(index, parent, added, said)
        logprobs = array("f", [-0.25]) * len(said)
        made.append(
            Turn(
                index=index,
                new_messages=(),
                reply=dict[str, Any](),
                parent=parent,
                new_prompt_ids=added,
                sampled_ids=said,
                logprobs=logprobs,
            )
        )
        prompt = prompt + said
    return Transcript(turns=tuple(made), token_exact=True, flags=frozenset[Flag]())


def _copied(transcript: Transcript) -> array[int]:
    ids = array("i")
    for turn in transcript.turns:
        ids.extend(turn.new_prompt_ids)
        ids.extend(turn.sampled_ids)
    return ids


def _seconds(work: Any) -> float:
    begun = time.thread_time()
    work()
    return time.thread_time() - begun
