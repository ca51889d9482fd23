"""P2 and P3: the guard's own time, by what a call holds and by what came before it.

It is computation alone, so what counts is the CPU time of its thread, which other load on the
machine hardly changes; its goals are not scaled.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from dataclasses import dataclass
from statistics import median
from typing import Any

import orjson

from harness_adapters.bench.goals import Result
from harness_adapters.bench.words import (
    COMMAND,
    TOOL,
    python_source,
    shell_source,
    write_file,
)
from harness_adapters.gateway.guard.calls import ToolCall
from harness_adapters.gateway.guard.judge import Guard
from harness_adapters.gateway.guard.ledger import Ledger
from harness_adapters.parts import make_guard
from harness_adapters.plugins import Plugins
from harness_adapters.types import TaskPolicy

WRITE = {"type": "function", "function": {"name": "write", "parameters": {"type": "object"}}}
TOOLS: dict[str, dict[str, Any]] = {"bash": TOOL, "write": WRITE}
SCANNER = "atif_scan"
TURN_CHARACTERS = 4000  # one turn of history is 1k tokens


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of call.

    :param arguments: makes one that no earlier one is equal to.
    :param goal_ms: ``None`` for one that is only reported.
    """

    tool: str
    arguments: Callable[[int], dict[str, Any]]
    goal_ms: float | None


def _call_of_1_kb(number: int) -> dict[str, Any]:
    """What agents send most: look around, write a small file, run it."""
    source = python_source(str(number), 700)
    write = f"cat > src/shop/small_{number}.py <<'EOF'\n{source}EOF\n"
    return {"command": f"{write}python3 -m pytest -q tests/test_shop.py 2>&1 | tail -20"}


def _dense(number: int) -> dict[str, Any]:
    steps = [f"{COMMAND} -k 'case_{number}_{step}' 2>&1 | tail -5" for step in range(8)]
    return {"command": " && \\\n".join(steps)[:1000]}


def _dense_script(number: int) -> str:
    line = (
        'for f in src/shop/*.py; do grep -c "def " "$f" >> out/count_{}.txt || '
        'echo "none: $f"; done'
    )
    count = 20_000 // len(line)
    return "\n".join(line.format(f"{number}_{step}") for step in range(count))


KINDS = {
    "1 KB call": Kind("bash", _call_of_1_kb, 0.5),
    "1 KB of 25 commands": Kind("bash", _dense, None),
    "20 KB file, by a tool": Kind(
        "write", lambda n: {"path": "src/shop/report.py", "content": python_source(str(n))}, 1.0
    ),
    "20 KB file, by a heredoc": Kind("bash", lambda n: {"command": write_file(str(n))}, 1.0),
    "20 KB Python program, run": Kind(
        "bash", lambda n: {"command": f"python3 - <<'EOF'\n{python_source(str(n))}EOF"}, 10.0
    ),
    "20 KB shell script, run": Kind(
        "bash", lambda n: {"command": f"bash <<'EOF'\n{shell_source(str(n))}EOF"}, 10.0
    ),
    "20 KB of 440 shell commands, run": Kind(
        "bash", lambda n: {"command": f"bash <<'EOF'\n{_dense_script(n)}\nEOF"}, None
    ),
}


def by_kind(rounds: int, calls: int, direct_ms: float) -> Result:
    """P2: after a session of 20k tokens; also how long each rule takes by itself. ``atif_scan``,
    which is somebody else's program, is timed as a row of its own."""
    everything = make_guard(Plugins.load())
    guard = Guard([rule for rule in everything.rules if rule.name != SCANNER])
    ledger = session(turns=20)
    value: dict[str, float] = {}
    rules: dict[str, dict[str, float]] = {}
    decisions: dict[str, str] = {}
    for name, kind in KINDS.items():
        value[f"{name}_ms"] = _judging(guard, ledger, kind, rounds, calls)
        rules[name] = _each_rule(everything, ledger, kind, calls)
        call = _call(ledger, kind.tool, kind.arguments(0))
        decisions[name] = asyncio.run(everything.judge(call, ledger)).decision
    return Result(
        title="the guard's own time per call",
        value=value,
        goal={f"{name}_ms": kind.goal_ms for name, kind in KINDS.items() if kind.goal_ms},
        direct={"call_ms": direct_ms},
        detail={
            "rules": [rule.name for rule in everything.rules],
            "each_rule_ms": rules,
            "decisions": decisions,
        },
    )


def by_history(rounds: int, calls: int, direct_ms: float) -> Result:
    """P3: the same call after a session of 100k tokens and after one of 1k tokens; all rules."""
    guard = make_guard(Plugins.load())
    ledgers = {"1k": session(turns=1), "100k": session(turns=100)}
    kind = KINDS["1 KB call"]
    times: dict[str, list[float]] = {name: [] for name in ledgers}
    for _ in range(rounds):
        for name, ledger in ledgers.items():
            times[name].append(_judging(guard, ledger, kind, 1, calls))
    at = {name: median(found) for name, found in times.items()}
    ratio = median(long / short for long, short in zip(times["100k"], times["1k"], strict=True))
    return Result(
        title="guard time, 100k-token history : 1k-token history",
        value={"ratio": ratio, "at_100k_ms": at["100k"]},
        goal={"ratio": 1.5, "at_100k_ms": 1.0},
        direct={"call_ms": direct_ms},
        detail={"at_1k_ms": at["1k"]},
    )


def session(turns: int) -> Ledger:
    """The ledger of a session that went on for so many thousand tokens: each turn a file of 2 KB
    written, and a result of 2 KB read."""
    ledger = Ledger(TaskPolicy(editable=("src/**",), protected=("tests/**",)))
    half = TURN_CHARACTERS // 2
    for turn in range(turns):
        result = {
            "role": "tool",
            "content": f"{turn} see https://h{turn}.example.org ".ljust(half, "r"),
        }
        ledger.see_request(tools=TOOLS, new_messages=[result])
        source = python_source(str(turn), half)
        made = {"command": f"cat > src/shop/part_{turn}.py <<'EOF'\n{source}EOF\n"}
        ledger.commit(_call(ledger, "bash", made))
    return ledger


def _call(ledger: Ledger, tool: str, arguments: dict[str, Any]) -> ToolCall:
    return ToolCall(id="c", name=tool, raw=orjson.dumps(arguments).decode(), ledger=ledger)


def _judging(guard: Guard, ledger: Ledger, kind: Kind, rounds: int, calls: int) -> float:
    """Median over rounds of the p50 of taking in a request, reading a call and judging it; in
    milliseconds."""
    news = [{"role": "tool", "content": "r" * TURN_CHARACTERS}]

    async def judge() -> list[float]:
        times = []
        for number in range(calls):
            raw = orjson.dumps(kind.arguments(number)).decode()
            begun = time.thread_time()
            ledger.see_request(tools=TOOLS, new_messages=news)
            call = ToolCall(id="c", name=kind.tool, raw=raw, ledger=ledger)
            await guard.judge(call, ledger)
            times.append(time.thread_time() - begun)
        return times

    return 1e3 * median(median(asyncio.run(judge())) for _ in range(rounds))


def _each_rule(guard: Guard, ledger: Ledger, kind: Kind, calls: int) -> dict[str, float]:
    """Milliseconds by rule, and for reading the call into actions, which the rules share."""
    times: dict[str, list[float]] = {"(reading)": []}
    for number in range(calls):
        begun = time.thread_time()
        call = _call(ledger, kind.tool, kind.arguments(number))
        len(call.actions)
        times["(reading)"].append(time.thread_time() - begun)
        for rule in guard.rules:
            begun = time.thread_time()
            rule.rule.judge(call, ledger)
            times.setdefault(rule.name, []).append(time.thread_time() - begun)
    return {name: round(1e3 * median(found), 4) for name, found in times.items()}
