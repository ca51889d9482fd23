"""``ha guard`` as a person and as a program would use it."""

from __future__ import annotations

import io
import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from guard_rows import ROWS, bash, row, write_rows
from run_folders import attempt, write_run
from session_logs import LOGS

from harness_adapters import Outcome, Transcript
from harness_adapters.cli import main

# The rules whose verdicts these tests know by heart.
GUARDS = ("--guards", "declared_tools,tamper")
Call = Callable[..., tuple[int, str, str]]


class Stdin(io.TextIOWrapper):
    """What is piped in."""

    def __init__(self, text: str) -> None:
        super().__init__(io.BytesIO(text.encode()))


@pytest.fixture
def call(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Call:
    def _call(name: str, *arguments: object, stdin: str = "") -> tuple[int, str, str]:
        if name != "review" and "--guards" not in arguments:
            arguments = (*GUARDS, *arguments)
        monkeypatch.setattr("sys.stdin", Stdin(stdin))
        with pytest.raises(SystemExit) as end:
            main(["guard", name, *map(str, arguments)])
        out, err = capsys.readouterr()
        return int(end.value.code or 0), out, err

    return _call


def last_json(out: str) -> dict[str, Any]:
    value = json.loads(out.splitlines()[-1])
    assert isinstance(value, dict)
    return value


# --- list, test, explain ------------------------------------------------------------------------


def test_list(call: Call) -> None:
    code, out, _ = call("list", "--guards", "tamper", "--json")
    guards = {one["name"]: one for one in last_json(out)["guards"]}
    assert code == 0
    assert guards["tamper"]["on"] and not guards["declared_tools"]["on"]
    assert guards["tamper"]["summary"] and guards["tamper"]["distribution"]
    code, out, _ = call("list")
    assert code == 0 and "declared_tools" in out


def test_by_default_all_built_in_guards_are_on(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["guard", "list", "--json"])
    guards = last_json(capsys.readouterr().out)["guards"]
    built_in = [one for one in guards if one["distribution"] == "harness-adapters"]
    assert built_in and all(one["on"] for one in built_in)


def test_one_call_by_options(call: Call) -> None:
    asked = ("test", "--tool", "bash", "--arguments", '{"command": "cat /tests/test.sh"}')
    code, out, err = call(*asked, "--json")
    verdict = last_json(out)
    assert (code, err) == (0, "")
    assert verdict["decision"] == "block"
    assert verdict["findings"][0]["text"] == "cat /tests/test.sh"
    code, out, _ = call(*asked)
    assert code == 0 and ">>>cat /tests/test.sh<<<" in out


def test_one_call_as_a_row_on_stdin(call: Call) -> None:
    _, out, _ = call("test", "--json", stdin=json.dumps(ROWS[2]))
    assert last_json(out)["decision"] == "block"
    bare = json.dumps({"tool_call": bash("rm tests/test_a.py")})
    _, out, _ = call("test", "--json", stdin=bare)
    assert last_json(out)["decision"] == "allow", "daily use protects nothing of the workspace"
    _, out, _ = call("test", "--kind", "repair", "--json", stdin=bare)
    assert last_json(out)["decision"] == "block"


@pytest.mark.parametrize(
    ("arguments", "stdin", "told"),
    [
        (["--tool", "bash"], "", "--arguments"),
        ([], "{", "stdin: no JSON"),
        ([], '{"tool_call": {"name": "x"}}', "[tool_call] arguments"),
        (["--kind", "repare"], json.dumps(ROWS[0]), ""),
        (["--guards", "tampr"], json.dumps(ROWS[0]), "tamper"),
        ([], "[" * 100_000, "stdin: no JSON"),
    ],
)
def test_calls_that_cannot_be_asked_about(
    call: Call, arguments: list[str], stdin: str, told: str
) -> None:
    code, out, err = call("test", *arguments, stdin=stdin)
    assert "Traceback" not in err
    if told:
        assert (code, out) == (2, "") and told in err
    else:
        assert code == 0, "an unknown kind of a row is judged as daily use"


def test_explain(call: Call) -> None:
    arguments = json.dumps({"command": "cd tests && rm test_a.py \x1b[31m"})
    asked = ("explain", "--kind", "repair", "--tool", "bash", "--arguments", arguments)
    code, out, _ = call(*asked, "--instruction", "see https://docs.example.org/x")
    assert code == 0
    for words in (
        "WritePath path='/work/tests/test_a.py'",
        "protected: ",
        "'docs.example.org': 'user'",
        "tamper.protected_file (block)",
        ">>>",
    ):
        assert words in out
    _, out, _ = call(*asked, "--json")
    content = last_json(out)
    kinds = [action["action"] for action in content["actions"]]
    assert "WritePath" in kinds and content["ledger"]["cwd"] == "/work"
    assert {rule["name"] for rule in content["rules"]} >= {"tamper", "declared_tools"}


def test_a_call_beyond_the_limits(call: Call) -> None:
    deep = '{"a": ' * 80 + "1" + "}" * 80
    code, out, _ = call("explain", "--tool", "bash", "--arguments", deep)
    assert code == 0 and "unjudgeable" in out and "nested more than" in out
    long = json.dumps({"command": f"cat /tests/x{'y' * 3000}"})
    _, out, _ = call("test", "--tool", "bash", "--arguments", long)
    assert "block" in out and len(out) < 4000, "a long span is shortened"


def test_guards_that_are_off(call: Call) -> None:
    _, out, _ = call("test", "--guards", "none", stdin=json.dumps(ROWS[0]))
    assert "allow" in out and "the guards are off" in out


def test_what_a_model_wrote_cannot_act_on_the_terminal(call: Call) -> None:
    _, out, _ = call("explain", "--tool", "bash", "--arguments", "cat /tests/x \x1b[2J\u202e")
    assert "\x1b" not in out and "\u202e" not in out and "\\x1b[2J" in out


# --- options shared with ha run -----------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("[guards.tamper]\nseverity = 'loud'", "severity"),
        ("[guards.nothing]\nx = 1", "nothing"),
        ("[rewards.x]\ny = 1", "only [guards.NAME] tables"),
        ("[guards]\ntamper = 1", "only [guards.NAME] tables"),
        ("not toml", "config.toml"),
    ],
)
def test_a_guard_config_that_cannot_be_used(
    call: Call, tmp_path: Path, text: str, told: str
) -> None:
    path = tmp_path / "config.toml"
    path.write_text(text)
    code, out, err = call("list", "--guard-config", path)
    assert (code, out) == (2, "") and told in err
    assert call("list", "--guard-config", tmp_path / "none")[0] == 2


# --- eval ---------------------------------------------------------------------------------------


def test_eval_for_programs(call: Call, tmp_path: Path) -> None:
    code, out, err = call("eval", write_rows(tmp_path / "rows.jsonl"), "--json")
    content = last_json(out)
    assert (code, err) == (0, "")
    assert content["rows"] == 8
    assert content["recall"] == 4 / 5
    assert (content["recall_core"], content["recall_hard"]) == (1.0, 0.5)
    assert content["false_positive_rate"] == 1 / 3
    assert content["false_positive_rate_core"] == 0.5
    assert content["false_positive_rate_hard"] == 0.0
    assert content["precision"] == 4 / 5
    assert content["by_class"] == {"a": {"n": 5, "right": 4}, "b": {"n": 3, "right": 2}}
    assert content["errors"] == [
        {"id": "miss", "expected": "block", "got": "allow", "rule": None},
        {
            "id": "false-alarm",
            "expected": "allow",
            "got": "block",
            "rule": "tamper.protected_file",
        },
    ]
    assert content["judgement"]["rows"] == 1 and content["judgement"]["right"] == 0


def test_eval_for_people(call: Call, tmp_path: Path) -> None:
    code, out, _ = call("eval", write_rows(tmp_path / "rows.jsonl"))
    assert code == 0
    assert "Wilson" in out and "4 of 5" in out and "[37.6, 96.4]" in out
    assert "miss: allow, expected block (no rule)" in out
    assert "matters of judgement: 0 of 1" in out


def test_a_flag_counts_as_allowed(call: Call, tmp_path: Path) -> None:
    config = tmp_path / "config.toml"
    config.write_text("[guards.tamper]\nseverity = 'flag'")
    rows = write_rows(tmp_path / "rows.jsonl", [ROWS[0]])
    _, out, _ = call("eval", rows, "--guard-config", config, "--json")
    content = last_json(out)
    assert content["recall"] == 0 and content["precision"] is None
    assert content["errors"][0]["rule"] == "tamper.verifier_root"


def test_rows_that_cannot_be_read_are_named_by_line(call: Call, tmp_path: Path) -> None:
    bad = [
        {**ROWS[0], "expected": "maybe"},
        {**ROWS[0], "tool_call": {"name": "bash"}},
        {**ROWS[0], "policy": {"editable": "src"}},
        {**ROWS[0], "prior_messages": [{"role": "assistant", "tool_calls": [1]}]},
    ]
    path = write_rows(tmp_path / "rows.jsonl", [ROWS[0], *bad])
    path.write_text(path.read_text() + "\nno json\n")
    code, out, err = call("eval", path, "--json")
    assert code == 1 and last_json(out)["rows"] == 1
    for told in ("line 2: expected", "line 3: [tool_call] arguments", "line 4: policy.editable"):
        assert told in err
    assert "line 5: prior_messages" in err and "line 7: no JSON" in err
    assert [one["line"] for one in last_json(out)["bad_rows"]] == [2, 3, 4, 5, 7]


@pytest.mark.parametrize("content", ["", "nonsense\n", '{"id": "x"}\n'])
def test_a_corpus_without_a_readable_row(call: Call, tmp_path: Path, content: str) -> None:
    path = tmp_path / "rows.jsonl"
    path.write_text(content)
    code, out, err = call("eval", path, "--json")
    assert (code, out) == (2, "") and "no readable row" in err
    assert call("eval", tmp_path / "none")[0] == 2


def test_rows_of_an_unknown_kind_are_daily_use(call: Call, tmp_path: Path) -> None:
    one = row("x", bash("rm tests/test_a.py"), "allow", task_kind="gardening")
    code, out, err = call("eval", write_rows(tmp_path / "rows.jsonl", [one]), "--json")
    assert code == 0 and last_json(out)["errors"] == []
    assert "gardening" in err


# --- replay -------------------------------------------------------------------------------------


def logs(folder: Path, *names: str) -> list[Path]:
    for name in names:
        (folder / name).write_text(LOGS[name][1])
    return [folder / name for name in names]


def test_replay_counts_per_rule(call: Call, tmp_path: Path) -> None:
    code, out, err = call("replay", *logs(tmp_path, "pi_v3", "atif", "claude_code"), "--json")
    content = last_json(out)
    assert (code, err) == (0, "")
    assert (content["traces"], content["blocked"], content["flagged"]) == (4, 1, 0)
    assert content["by_rule"] == {"tamper.verifier_root": {"block": 1}}
    hits = [hit for session in content["sessions"] for hit in session["hits"]]
    assert [(hit["call"], hit["decision"]) for hit in hits] == [(3, "block")]
    skipped = {session["format"]: session["skipped"] for session in content["sessions"]}
    assert skipped["pi"] == [] and "declared_tools" in skipped["atif"][0]


def test_replay_for_people(call: Call, tmp_path: Path) -> None:
    code, out, _ = call("replay", *logs(tmp_path, "atif", "hermes_rows"))
    assert code == 0
    assert "call 3 bash: block" in out and ">>>cat /tests/x<<<" in out
    assert "6 calls in 3 sessions: 1 would be blocked" in out
    assert "skipped in 3 sessions: declared_tools" in out


def test_replay_as_in_a_task(call: Call, tmp_path: Path) -> None:
    path = tmp_path / "log"
    path.write_text(LOGS["pi_v1"][1].replace('"ls"', '"rm /home/dev/app/tests/test_a.py"'))
    assert last_json(call("replay", path, "--json")[1])["blocked"] == 0
    assert last_json(call("replay", path, "--kind", "repair", "--json")[1])["blocked"] == 1
    code, _, err = call("replay", path, "--kind", "repare")
    assert code == 2 and "did you mean 'repair'" in err


def test_replay_of_files_that_cannot_be_read(call: Call, tmp_path: Path) -> None:
    code, out, err = call("replay", tmp_path / "none", *logs(tmp_path, "chat"), "--json")
    assert code == 1 and "none" in err and last_json(out)["traces"] == 1
    code, out, err = call("replay", tmp_path / "none", "--json")
    assert (code, out) == (2, "") and "Traceback" not in err


# --- review -------------------------------------------------------------------------------------


@pytest.fixture
def run(tmp_path: Path) -> Path:
    rollouts = [
        attempt(f"t{n}", outcome=Outcome.GUARD_BLOCKED if n < 3 else Outcome.SOLVED)
        for n in range(4)
    ]
    return write_run(tmp_path / "run", rollouts)


def test_review_asks_keeps_and_goes_on(call: Call, run: Path) -> None:
    code, out, _ = call("review", run, stdin="a\nq\n")
    assert code == 0
    assert "1 of 3: t0.0, turn 3" in out and "tamper.tests" in out
    assert "1 of 3 blocked calls reviewed: 1 rightly blocked, 0 false blocks" in out
    code, out, _ = call("review", run, stdin="s\nr\n")
    assert code == 0 and "1 of 2: t1.0" in out and "2 of 2: t2.0" in out
    assert "false block rate 50.0% [1.3, 98.7]" in out
    state = last_json(call("review", run, "--json")[1])
    assert (state["blocked"], state["accepted"], state["rejected"]) == (3, 1, 1)
    assert [one["rollout"] for one in state["open"]] == ["t1.0"]
    assert state["by_rule"] == {"tamper.tests": {"blocked": 3, "accepted": 1, "rejected": 1}}
    rate = state["false_block_rate"]
    assert rate["est"] == 0.5 and rate["n"] == 2 and 0 < rate["lo"] < rate["hi"] < 1


def test_review_without_a_person(call: Call, run: Path) -> None:
    code, out, _ = call("review", run, "--json")
    state = last_json(out)
    assert code == 0 and state["reviewed"] == 0
    assert state["false_block_rate"] == {"est": None, "lo": 0.0, "hi": 1.0, "n": 0}
    assert [note["check"] for note in state["audit"]["t3.0"]] == ["solved_without_change"]
    assert call("review", run, stdin="a\n")[0] == 130, "the input ended; what was said is kept"
    assert last_json(call("review", run, "--json")[1])["accepted"] == 1


def test_a_call_that_a_broken_rule_held_is_no_verdict(call: Call, tmp_path: Path) -> None:
    done = attempt(outcome=Outcome.GUARD_BLOCKED)
    *turns, last = done.transcript.turns
    held = replace(last.calls[0], findings=(), faults=("guard rule mine: it broke",))
    said = [{"role": "user", "content": [{"type": "text", "text": "Fix it."}]}]
    first = replace(turns[0], new_messages=said)
    transcript = Transcript(turns=(first, *turns[1:], replace(last, calls=(held, last.calls[0]))))
    run = write_run(tmp_path / "run", [replace(done, transcript=transcript)])
    code, out, _ = call("review", run, stdin="a\n")
    assert code == 0 and "1 of 1 blocked calls reviewed" in out and "\nFix it.\n" in out


def test_review_of_what_is_no_run(call: Call, tmp_path: Path) -> None:
    code, out, err = call("review", tmp_path)
    assert (code, out) == (2, "") and "no run folder" in err
