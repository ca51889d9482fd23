from __future__ import annotations

import json
from array import array
from dataclasses import replace
from pathlib import Path
from typing import Any

import atif
import datasets
import pytest

from harness_adapters import (
    BadInput,
    Decision,
    Ended,
    Finding,
    Flag,
    HarnessExit,
    JudgedCall,
    Outcome,
    Provenance,
    RewardTerm,
    Rollout,
    Severity,
    Transcript,
    Turn,
    Verdict,
)
from harness_adapters.record.codec import from_record, to_record
from harness_adapters.record.folder import RunFolder, derive, read_rollouts
from harness_adapters.record.manifest import Manifest
from harness_adapters.record.trajectory import to_atif


def manifest(**changes: Any) -> Manifest:
    values: dict[str, Any] = {
        "created": "2026-01-01T00:00:00Z",
        "host": {},
        "concurrency": 4,
        "version": "0.1.0",
        "components": [],
        "component_options": {},
        "harness": "pi",
        "harness_version": "0.73.1",
        "engine": {"name": "scripted:oracle"},
        "template": "",
        "model": "scripted",
        "sampling": {"temperature": 0.8},
        "limits": {"default": {"session_seconds": 300}},
        "attempts": 1,
        "infra_retries": 2,
        "sandbox": "bubblewrap",
        "sandbox_lost": [],
        "policy": "abc",
        "tasks": {"t": "0" * 64},
    }
    return Manifest(**{**values, **changes})


def test_a_server_may_answer_at_another_address_when_a_run_is_gone_on_with(tmp_path: Path) -> None:
    def served(port: int, owner: str) -> Manifest:
        url = f"http://127.0.0.1:{port}"
        return manifest(engine={"name": url, "url": url, "owned_by": owner})

    RunFolder.create(tmp_path / "run", served(1, "vllm")).close()
    RunFolder.create(tmp_path / "run", served(2, "vllm"), resume=True).close()
    with pytest.raises(BadInput, match=r"engine\.owned_by: 'vllm' against 'other'"):
        RunFolder.create(tmp_path / "run", served(2, "other"), resume=True)
    with pytest.raises(BadInput, match=r"engine\.name: .* against 'scripted:oracle'"):
        RunFolder.create(tmp_path / "run", manifest(), resume=True)


def made(task_id: str = "t", *, outcome: Outcome = Outcome.SOLVED, **changes: Any) -> Rollout:
    read = JudgedCall(
        id="c1", name="read", arguments={"path": "a.py"}, decision=Decision.ALLOW, policy="abc"
    )
    broken = JudgedCall(
        id="c2",
        name="write",
        arguments='{"path": "tests/\ud800',
        decision=Decision.BLOCK,
        findings=(Finding(rule="tamper.x", severity=Severity.BLOCK, message="m", span=(2, 5)),),
        policy="abc",
    )
    turns = (
        Turn(
            index=0,
            new_messages=[
                {"role": "system", "content": "You are pi."},
                {"role": "user", "content": [{"type": "text", "text": "fix it"}]},
            ],
            reply={"role": "assistant", "content": "reading"},
            parent=None,
            new_prompt_ids=array("i", [1, 2, 3]),
            sampled_ids=array("i", [4, 5]),
            logprobs=array("f", [-0.5, -0.25]),
            calls=(read,),
            model="scripted",
            finish="tool_calls",
            started=1_700_000_000.0,
            usage={"prompt_tokens": 3, "completion_tokens": 2},
        ),
        Turn(
            index=1,
            new_messages=[{"role": "tool", "tool_call_id": "c1", "content": "x = 1"}],
            reply={"role": "assistant", "content": "a notice"},
            parent=0,
            new_prompt_ids=array("i", [6]),
            sampled_ids=array("i", [7]),
            logprobs=array("f", [-1.0]),
            calls=(broken,),
            model="scripted",
            finish="tool_calls",
        ),
    )
    values: dict[str, Any] = {
        "task_id": task_id,
        "cluster": "c",
        "kind": "repair",
        "attempt": 0,
        "tries": 1,
        "session_id": "s1",
        "model": "scripted",
        "outcome": outcome,
        "flags": frozenset({Flag.MALFORMED_CALL}),
        "reward": 1.0,
        "terms": [RewardTerm(name="verifier", value=1.0)],
        "verdict": Verdict(passed=True, score=1.0, tests={"test_a": "passed"}),
        "calls": 1,
        "seconds": 1.5,
        "transcript": Transcript(
            turns=turns,
            tools=({"type": "function", "function": {"name": "read"}},),
            token_exact=True,
            flags=frozenset({Flag.MALFORMED_CALL}),
        ),
        "harness_version": "0.73.1",
        "exit": HarnessExit(ended=Ended.COMPLETED),
        "components": [Provenance(kind="guard", name="tamper", distribution="d", version="1")],
    }
    return Rollout(**{**values, **changes})


def test_a_rollout_survives_the_log(tmp_path: Path) -> None:
    folder = RunFolder.create(tmp_path / "run", manifest())
    folder.add(made())
    folder.close()
    (back,) = read_rollouts(tmp_path / "run")
    assert to_record(back) == to_record(made())
    assert back.transcript.turns[0].logprobs == array("f", [-0.5, -0.25])
    assert from_record(to_record(back)) == back


def test_trajectories_are_valid_atif_and_keep_what_was_held_back(tmp_path: Path) -> None:
    folder = RunFolder.create(tmp_path / "run", manifest())
    folder.add(made("a/b"))
    folder.close()
    assert derive(tmp_path / "run") == []
    text = (tmp_path / "run/trajectories/a__b.0.json").read_text()
    trajectory = atif.Trajectory.model_validate_json(text)
    assert trajectory.schema_version == "ATIF-v1.8"
    assert [step.source for step in trajectory.steps] == ["system", "user", "agent", "agent"]
    first, second = trajectory.steps[2:]
    assert first.tool_calls and first.tool_calls[0].arguments == {"path": "a.py"}
    assert first.observation and first.observation.results[0].content == "x = 1"
    assert first.metrics and first.metrics.completion_token_ids == [4, 5]
    assert second.tool_calls is None
    assert second.extra and second.extra["held_calls"][0]["rules"] == ["tamper.x"]


def test_the_table_loads_with_datasets(tmp_path: Path) -> None:
    folder = RunFolder.create(tmp_path / "run", manifest())
    folder.add(made())
    folder.add(made("u", outcome=Outcome.INFRA, reward=None, verdict=None, error="gone"))
    folder.close()
    assert derive(tmp_path / "run") == []
    table = datasets.load_dataset(
        "parquet",
        data_files=str(tmp_path / "run/rollouts.parquet"),
        cache_dir=str(tmp_path / "cache"),
        split="train",
    )
    assert table["outcome"][:] == ["solved", "infra"]
    assert table["reward"][:] == [1.0, None]
    assert table["blocked_by"][0] == ["tamper.x"]


def test_the_verdict_log_is_redacted(tmp_path: Path) -> None:
    folder = RunFolder.create(tmp_path / "run", manifest())
    folder.add(made())
    folder.close()
    text = (tmp_path / "run/verdicts.log").read_text()
    assert "tamper.x" in text and "abc" in text
    assert "a.py" not in text and "tests/" not in text


def test_an_existing_run_is_not_overwritten(tmp_path: Path) -> None:
    RunFolder.create(tmp_path / "run", manifest()).close()
    with pytest.raises(BadInput, match="add --resume"):
        RunFolder.create(tmp_path / "run", manifest())


def test_a_folder_that_holds_something_else_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "thesis.tex").write_text("years of work")
    with pytest.raises(BadInput, match="not empty"):
        RunFolder.create(tmp_path, manifest(), resume=True)


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"sampling": {"temperature": 1.0}}, "sampling.temperature: 0.8 against 1.0"),
        ({"policy": "other"}, "policy"),
        ({"tasks": {"t": "1" * 64}}, "tasks.t"),
    ],
)
def test_resuming_an_unlike_run_names_the_field(
    tmp_path: Path, changes: dict[str, Any], field: str
) -> None:
    RunFolder.create(tmp_path / "run", manifest()).close()
    with pytest.raises(BadInput, match=field):
        RunFolder.create(tmp_path / "run", manifest(**changes), resume=True)


def test_resuming_skips_what_is_scored_and_runs_infra_again(tmp_path: Path) -> None:
    folder = RunFolder.create(tmp_path / "run", manifest())
    folder.add(made("a"))
    folder.add(made("b", outcome=Outcome.INFRA, reward=None))
    folder.close()
    with (tmp_path / "run/rollouts.log").open("ab") as file:
        file.write(b"1234")
    again = RunFolder.create(tmp_path / "run", manifest(concurrency=1, created="x"), resume=True)
    assert again.torn == 4
    assert list(again.finished()) == [("a", 0)]
    again.add(replace(made("b"), tries=2))
    again.close()
    assert [one.outcome for one in read_rollouts(tmp_path / "run")] == [Outcome.SOLVED] * 2


def test_a_broken_manifest_names_the_field(tmp_path: Path) -> None:
    RunFolder.create(tmp_path / "run", manifest()).close()
    path = tmp_path / "run/manifest.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), "attempts": "many"}))
    with pytest.raises(BadInput, match="attempts"):
        RunFolder.create(tmp_path / "run", manifest(), resume=True)


def test_a_result_belongs_to_the_last_turn_that_asked_with_its_id(tmp_path: Path) -> None:
    """Some engines number calls per reply, so that ids come again."""

    def turn(index: int, results: list[str], *ids: str) -> Turn:
        return Turn(
            index=index,
            new_messages=[{"role": "tool", "tool_call_id": "1", "content": r} for r in results],
            reply={"role": "assistant", "content": ""},
            parent=None,
            calls=tuple(
                JudgedCall(id=one, name="bash", arguments={}, decision=Decision.ALLOW)
                for one in ids
            ),
        )

    turns = (turn(0, [], "1"), turn(1, ["FIRST"], "1"), turn(2, ["SECOND"]))
    trajectory = to_atif(made(transcript=Transcript(turns=turns)), harness="pi")
    contents = [s.observation.results[0].content for s in trajectory.steps if s.observation]
    assert contents == ["FIRST", "SECOND"]


def test_a_rollout_that_cannot_be_exported_costs_only_its_trajectory(tmp_path: Path) -> None:
    call = JudgedCall(id=5, name="x", arguments={}, decision=Decision.ALLOW)  # type: ignore[arg-type]
    odd = Turn(index=0, new_messages=[], reply={}, parent=None, calls=(call,))
    folder = RunFolder.create(tmp_path / "run", manifest())
    folder.add(made("good"))
    folder.add(made("odd", transcript=Transcript(turns=(odd,))))
    folder.close()
    (problem,) = derive(tmp_path / "run")
    assert problem.startswith("odd.0: no trajectory")
    assert (tmp_path / "run/trajectories/good.0.json").exists()
    assert (tmp_path / "run/rollouts.parquet").exists()


def test_two_processes_never_write_one_run(tmp_path: Path) -> None:
    folder = RunFolder.create(tmp_path / "run", manifest())
    with pytest.raises(BadInput, match="another process is writing"):
        RunFolder.create(tmp_path / "run", manifest(), resume=True)
    folder.close()
    RunFolder.create(tmp_path / "run", manifest(), resume=True).close()
