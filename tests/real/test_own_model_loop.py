"""A program that a tool call starts takes the harness's URL and key and asks for a model itself.

It must not pay: no bonus, a flag, and above all no way to make a losing session unscorable.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from command import TASKS
from engine import engine_that_runs

import harness_adapters
from harness_adapters import Flag, Outcome, Rollout

pytestmark = pytest.mark.timeout(180)

# What the programs share: the key, the session's log, and a way to ask.
PRELUDE = """
import json, os, pathlib, time, urllib.error, urllib.request
home = pathlib.Path(os.environ["PI_CODING_AGENT_DIR"])
provider = next(iter(json.loads((home / "models.json").read_text())["providers"].values()))
tools = [{"type": "function", "function": {"name": name, "parameters": {"type": "object"}}}
         for name in ("read", "bash", "edit", "write")]

def post(body):
    request = urllib.request.Request(
        provider["baseUrl"] + "/chat/completions",
        body if isinstance(body, bytes) else json.dumps(body).encode(),
        {"Authorization": "Bearer " + provider["apiKey"], "Content-Type": "application/json"})
    try:
        with urllib.request.urlopen(request) as reply:
            print("status", reply.status)
            return json.load(reply)["choices"][0]["message"]
    except urllib.error.HTTPError as error:
        print("status", error.code)

def ask(*messages, **more):
    return post({"model": "m", "messages": messages, "tools": tools, **more})

def so_far():
    "The harness's own conversation, out of its log: what it was told, and the call that runs."
    (log,) = home.parent.rglob("*.jsonl")
    said = [json.loads(line) for line in log.read_text().splitlines()]
    said = [entry["message"] for entry in said if entry["type"] == "message"]
    text = lambda m: "".join(p.get("text", "") for p in m["content"] if p["type"] == "text")
    call = next(p for p in said[-1]["content"] if p["type"] == "toolCall")
    function = {"name": call["name"], "arguments": json.dumps(call["arguments"])}
    return call["id"], [
        {"role": "user", "content": text(said[0])},
        {"role": "assistant", "content": text(said[-1]),
         "tool_calls": [{"id": call["id"], "type": "function", "function": function}]}]

def result(id, text):
    return {"role": "tool", "tool_call_id": id, "content": text}
"""
OWN_CONVERSATION = """
for number in range(3):
    ask({"role": "user", "content": f"Solve part {number}."})
    post({"model": "m", "messages": [{"role": "user", "content": f"Solve part {number}."}]})
"""
CONTINUED = """
id, messages = so_far()
for number in range(3):
    reply = ask(*messages, result(id, f"Solve part {number}."))
"""
NESTED = """
deep = b"[" * 300 + b"]" * 300
ask_ = json.dumps({"model": "m", "messages": so_far()[1], "tools": tools}).encode()[:-1]
post(ask_ + b', "stop": ' + deep + b"}")
post(ask_.replace(b'"parameters": {"type": "object"}', b'"parameters": ' + deep) + b"}")
post(ask_.replace(b'"role": "user"', b'"role": "user", "extra": ' + deep, 1) + b"}")
post(ask_.replace(b'"role": "user"', b'"role": "tool", "tool_call_id": ["x"]', 1) + b"}")
"""
POISON = """
id, messages = so_far()
ask({"role": "user", "content": "poi" + "son"})
ask(*messages, result(id, "poi" + "son"))
"""
HANGS = "\nprint(flush=True); time.sleep(1000)"


def solution() -> str:
    task = sorted(TASKS.glob("qa-*"))[0]
    return str(json.loads((task / "tests" / "expected.json").read_text())["value"])


def played(out: Path, program: str, *, solves: bool = False, seconds: float = 40) -> Rollout:
    """One session in which ``program`` runs inside the one tool call."""
    command = f"python3 - <<'END'\n{PRELUDE}{program}\nEND\n"
    if solves:
        command += f"echo {solution()} > answer.txt\n"
    with engine_that_runs(command, chokes_on="poison") as url:
        run = harness_adapters.run(
            TASKS,
            engine=url,
            kind="qa",
            limit=1,
            guards=[],
            infra_retries=0,
            session_seconds=seconds,
            out=out / "run",
        )
    (rollout,) = run.rollouts()
    return rollout


def statuses(rollout: Rollout) -> list[int]:
    text = "\n".join(
        str(message.get("content"))
        for turn in rollout.transcript.turns
        for message in turn.new_messages
        if message["role"] == "tool"
    )
    return [int(line.split()[1]) for line in text.splitlines() if line.startswith("status ")]


def test_the_same_session_without_a_loop_of_its_own_earns_the_bonus(tmp_path: Path) -> None:
    rollout = played(tmp_path, "", solves=True)
    assert rollout.outcome is Outcome.SOLVED and not rollout.flags
    assert rollout.reward is not None and rollout.reward > 1


@pytest.mark.parametrize(
    ("program", "answers"),
    [
        pytest.param(OWN_CONVERSATION, [403] * 6, id="a conversation of its own"),
        pytest.param(CONTINUED, [200] * 3, id="the harness's conversation, continued"),
    ],
)
def test_a_model_loop_inside_one_call_earns_no_bonus_and_is_flagged(
    tmp_path: Path, program: str, answers: list[int]
) -> None:
    rollout = played(tmp_path, program, solves=True)
    assert statuses(rollout) == answers
    assert rollout.outcome is Outcome.SOLVED
    assert Flag.UNDECLARED_REQUEST in rollout.flags
    assert rollout.reward == 1


@pytest.mark.parametrize(
    ("program", "answers"),
    [
        pytest.param(NESTED, [400] * 4, id="json that is nested too deep"),
        pytest.param(POISON, [403, 500], id="requests on which the engine fails"),
    ],
)
def test_a_request_that_is_made_to_fail_leaves_the_session_graded(
    tmp_path: Path, program: str, answers: list[int]
) -> None:
    rollout = played(tmp_path, program)
    assert statuses(rollout) == answers
    assert rollout.outcome is Outcome.FAILED and rollout.reward == 0
    assert rollout.transcript.faults == ()


@pytest.mark.full  # mostly waits
@pytest.mark.parametrize("program", [NESTED, POISON])
def test_a_request_that_is_made_to_fail_by_a_call_that_never_ends_leaves_it_graded(
    tmp_path: Path, program: str
) -> None:
    rollout = played(tmp_path, program + HANGS, seconds=12)
    assert Flag.AGENT_TIMEOUT in rollout.flags
    assert rollout.outcome is Outcome.FAILED and rollout.reward == 0
