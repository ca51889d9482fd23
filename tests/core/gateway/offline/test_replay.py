"""Recorded sessions before the guard."""

from __future__ import annotations

from pathlib import Path

import pytest

from harness_adapters import Decision, Finding, Ledger, Plugins, Severity, TaskPolicy, ToolCall
from harness_adapters.gateway.guard.judge import Guard, LoadedRule
from harness_adapters.gateway.log_only import LogOnlyGuard
from harness_adapters.gateway.offline.replay import replay
from harness_adapters.gateway.offline.session import OfflineSession
from harness_adapters.parts import make_guard, make_parts
from harness_adapters.tasks.traces import Call, Message, Result, Trace, read_traces

TRACES = Path(__file__).parents[5] / "shared" / "traces"
LOGS = sorted(TRACES.glob("*__*.json*"))


class Recorder:
    """Blocks what runs ``stop``; remembers what the ledger held at each call."""

    def __init__(self) -> None:
        self.seen: list[tuple[str, list[str], list[str], str]] = []

    def judge(self, call: ToolCall, ledger: Ledger) -> Finding | None:
        self.seen.append((call.id, sorted(ledger.files), sorted(ledger.hosts), ledger.cwd))
        if "stop" not in call.raw:
            return None
        return Finding(rule="mine.stop", severity=Severity.BLOCK, message="no", span=(0, 4))


def trace(*commands: str, held: bool = False, tool: str = "bash") -> Trace:
    events: list[Message | Call | Result] = [
        Message(role="user", text="see https://docs.example.org")
    ]
    for number, command in enumerate(commands):
        raw = '{"command": "%s"}' % command  # noqa: UP031
        events += [
            Call(number=number, id="same", name=tool, raw=raw, held=held),
            Result(call=number, text="ok"),
        ]
    return Trace(format="pi", harness="pi", events=tuple(events), cwd="/home/dev/app")


async def test_the_ledger_is_fed_as_at_the_wire() -> None:
    rule = Recorder()
    guard = Guard([LoadedRule(name="mine", rule=rule)])
    policy = TaskPolicy(workdir="/home/dev/app")
    (one,) = await replay(trace("touch a", "stop > b", "ls"), guard=guard, policy=policy)
    assert [seen[0] for seen in rule.seen] == ["call_0", "call_1", "call_2"]
    assert rule.seen[0][1] == []
    assert "/home/dev/app/b" in rule.seen[2][1], "nothing is held back"
    assert rule.seen[0][2] == ["docs.example.org"]
    assert [hit.call.number for hit in one.hits] == [1]
    assert one.by_rule() == {("mine.stop", "block"): 1}


async def test_a_held_call_is_judged_but_never_happened() -> None:
    rule = Recorder()
    guard = Guard([LoadedRule(name="mine", rule=rule)])
    await replay(trace("touch a", "ls", held=True), guard=guard, policy=TaskPolicy())
    assert [seen[1] for seen in rule.seen] == [[], []]


@pytest.mark.parametrize(("tool", "cwd"), [("bash", "/home/dev/app"), ("Bash", "/home/dev/app/x")])
async def test_some_shells_stay_where_they_went(tool: str, cwd: str) -> None:
    rule = Recorder()
    guard = Guard([LoadedRule(name="mine", rule=rule)])
    policy = TaskPolicy(workdir="/home/dev/app")
    await replay(trace("cd x", "ls", tool=tool), guard=guard, policy=policy)
    assert rule.seen[1][3] == cwd


async def test_log_only_blocks_nothing_and_says_what_it_would_have() -> None:
    rules = [LoadedRule(name="mine", rule=Recorder())]
    guard, shadow = Guard(rules), LogOnlyGuard(rules)
    ledger = Ledger(TaskPolicy())
    call = ToolCall(id="c", name="bash", raw='{"command": "stop"}', ledger=ledger)
    judgement = await shadow.judge(call, ledger)
    assert (await guard.judge(call, ledger)).decision is Decision.BLOCK
    assert judgement.decision is Decision.FLAG
    assert judgement.findings[0].severity is Severity.BLOCK
    assert shadow.policy_hash != guard.policy_hash


def test_a_run_can_be_log_only() -> None:
    plugins = Plugins.load()
    shadow = make_parts(plugins, harness="pi", kinds={}, log_only=True).guard
    guard = make_parts(plugins, harness="pi", kinds={}).guard
    assert shadow.rules and shadow.policy_hash == f"{guard.policy_hash}-log-only"
    assert make_guard(plugins).policy_hash == guard.policy_hash


@pytest.mark.parametrize(
    ("workdir", "home"),
    [
        ("/Users/kim/app", "/Users/kim"),
        ("/home/kim", "/home/kim"),
        ("/work/home/kim", "/home/agent"),
    ],
)
def test_home_is_above_the_working_folder(workdir: str, home: str) -> None:
    assert OfflineSession(TaskPolicy(workdir=workdir)).ledger.home == home


@pytest.mark.skipif(not LOGS, reason="there are no shared traces beside this clone")
@pytest.mark.parametrize("path", LOGS, ids=lambda path: str(path.name))
async def test_real_sessions_are_judged_without_a_fault(path: Path) -> None:
    guard = make_guard(Plugins.load())
    (first,) = read_traces(path)
    policy = TaskPolicy(workdir=first.cwd or "/work")
    for one in await replay(first, guard=guard, policy=policy, source=path.name):
        assert not any(hit.judgement.faults for hit in one.hits)
        assert one.count(Decision.UNJUDGEABLE) == 0
