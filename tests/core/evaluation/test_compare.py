"""Whole comparisons of run folders: known truths, and inputs that hold too little."""

from __future__ import annotations

import math
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
import orjson
import pytest
from run_folders import attempt, write_run

from harness_adapters import BadInput, Outcome, Rollout
from harness_adapters.evaluation.compare import Comparison, compare
from harness_adapters.evaluation.verdict import Change

FAILED, SOLVED = Outcome.FAILED, Outcome.SOLVED


def arm(
    path: Path,
    *,
    seed: int,
    clusters: int = 60,
    size: int = 4,
    attempts: int = 4,
    gain: float = 0.0,
    calls: float = 1.0,
    **changes: Any,
) -> Path:
    """A run on tasks that have an ease and a length of their own, the same for every arm."""
    world, luck = np.random.default_rng(0), np.random.default_rng(seed)
    rollouts = []
    for number in range(clusters * size):
        ease, length = world.uniform(0.2, 0.8), world.uniform(6, 14)
        for one in range(attempts):
            solved = luck.random() < ease + gain
            rollouts.append(
                attempt(
                    f"t{number:03}",
                    cluster=f"c{number // size}",
                    number=one,
                    outcome=Outcome.SOLVED if solved else FAILED,
                    calls=1 + int(luck.poisson(length * calls - 1)),
                    kind=("repair", "qa")[number // size % 2],
                    difficulty=("easy", "hard")[ease < 0.5],
                )
            )
    return write_run(path, rollouts, **changes)


def whole(comparison: Comparison) -> dict[str, Any]:
    """The JSON, after checking that it is JSON in every corner."""
    content = comparison.to_json()
    assert_json(content)
    back: dict[str, Any] = orjson.loads(orjson.dumps(content))
    assert back == content
    return back


def assert_json(value: object) -> None:
    if isinstance(value, dict):
        for key, inner in value.items():
            assert isinstance(key, str)
            assert_json(inner)
    elif isinstance(value, list):
        for inner in value:
            assert_json(inner)
    elif isinstance(value, float):
        assert type(value) is float and math.isfinite(value)
    else:
        assert value is None or type(value) in (bool, int, str)


# --- three truths ---------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return arm(tmp_path_factory.mktemp("runs") / "base", seed=1)


def test_no_effect_is_not_called_an_effect_nor_an_equality(base: Path, tmp_path: Path) -> None:
    comparison = compare(base, arm(tmp_path / "same", seed=2), margin=0.01)
    (run,) = comparison.runs
    assert run.verdict.pass1 is run.verdict.calls is Change.NONE_DETECTED
    accuracy, calls = run.verdict.sentences
    mde = run.difference.mde
    assert mde is not None and 0.02 < mde < 0.12
    assert f"A change of {100 * mde:.1f} points or more would be found 4 times in 5" in accuracy
    assert "No detectable change of pass@1" in accuracy
    assert "Not shown to be equivalent within 1 point " in accuracy
    assert "No detectable change of tool calls" in calls
    assert not comparison.trouble


def test_no_effect_is_equivalent_within_a_margin_wide_enough(base: Path, tmp_path: Path) -> None:
    (run,) = compare(base, arm(tmp_path / "same", seed=2), margin=0.1).runs
    assert run.verdict.equivalent
    assert "Equivalent to the base within 10 points" in run.verdict.sentences[0]


def test_fewer_calls_at_equal_accuracy(base: Path, tmp_path: Path) -> None:
    (run,) = compare(base, arm(tmp_path / "short", seed=3, calls=0.7)).runs
    ratio = run.efficiency.calls_ratio
    assert ratio.lo is not None and ratio.hi is not None
    assert ratio.lo < 0.7 < ratio.hi < 0.8
    assert (run.verdict.pass1, run.verdict.calls) == (Change.NONE_DETECTED, Change.LOWER)
    assert run.verdict.sentences[1].startswith(f"Needs {100 * (1 - ratio.est):.0f}% fewer tool")  # type: ignore[operator]
    per_solve = run.efficiency.per_solve
    assert per_solve["calls"].ratio.hi is not None and per_solve["calls"].ratio.hi < 0.9
    assert per_solve["turns"].ratio.est == pytest.approx(0.72, abs=0.06)


def test_eight_points_more(base: Path, tmp_path: Path) -> None:
    (run,) = compare(base, arm(tmp_path / "better", seed=4, gain=0.08)).runs
    difference = run.difference
    assert difference.lo is not None and difference.hi is not None
    assert 0 < difference.lo < 0.08 < difference.hi
    assert (run.verdict.pass1, run.verdict.calls) == (Change.HIGHER, Change.NONE_DETECTED)
    assert run.verdict.sentences[0].startswith("Solves more than the base: pass@1 +")
    assert run.solves.better > run.solves.worse


def test_eight_points_fewer_in_the_other_direction(base: Path, tmp_path: Path) -> None:
    better = arm(tmp_path / "better", seed=4, gain=0.08)
    (there,), (back,) = compare(base, better).runs, compare(better, base).runs
    assert back.verdict.pass1 is Change.LOWER
    assert back.difference.est == pytest.approx(-(there.difference.est or 0))
    assert back.difference.p == there.difference.p
    assert back.efficiency.calls_ratio.est == pytest.approx(
        1 / (there.efficiency.calls_ratio.est or 0)
    )


def test_holm_over_several_runs(base: Path, tmp_path: Path) -> None:
    runs = [arm(tmp_path / str(seed), seed=seed, gain=0.04) for seed in (5, 6, 7)]
    comparison = compare(base, *runs)
    raw = [run.difference.p for run in comparison.runs]
    adjusted = [run.p_holm for run in comparison.runs]
    assert all(
        a is not None and p is not None and a >= p for a, p in zip(adjusted, raw, strict=True)
    )
    assert min(a for a in adjusted if a) == pytest.approx(3 * min(p for p in raw if p))
    assert "after Holm's adjustment for 3 runs" in comparison.runs[0].verdict.sentences[0]
    assert "diff_pass1" not in comparison.to_json()


# --- the contract ---------------------------------------------------------------------------------


def test_the_numbers_of_the_contract(base: Path, tmp_path: Path) -> None:
    content = whole(compare(base, arm(tmp_path / "run", seed=3, calls=0.7)))
    run = content["runs"][0]
    assert set(run["diff_pass1"]) == {"est", "lo", "hi", "p", "mde", "n_tasks", "n_clusters"}
    assert set(run["calls_ratio"]) == {"est", "lo", "hi", "n_tasks"}
    assert run["diff_pass1"]["n_tasks"] == 240 and run["diff_pass1"]["n_clusters"] == 60
    assert content["diff_pass1"] == run["diff_pass1"]
    assert content["calls_ratio"] == run["calls_ratio"]
    assert [row["k"] for row in run["pass_at_k"]] == [1, 2, 4]
    assert run["pass_at_k"][0]["diff"]["est"] == pytest.approx(run["diff_pass1"]["est"])
    assert run["pass_hat_k"][2]["base"]["est"] < run["pass_at_k"][2]["base"]["est"]
    assert set(run["by_kind"]) == {"repair", "qa"}
    assert set(run["by_difficulty"]) == {"easy", "hard"}
    solved = run["solved"]
    parts = ("both", "only_base", "only_run", "neither")
    assert sum(solved[name] for name in parts) == 240
    assert run["calls_ratio"]["n_tasks"] == solved["both"]


def test_the_same_data_give_the_same_answer(base: Path, tmp_path: Path) -> None:
    run = arm(tmp_path / "run", seed=2)
    assert whole(compare(base, run)) == whole(compare(base, run))


def test_calls_ratio_by_hand(tmp_path: Path) -> None:
    """Only tasks that both solved, only their solved attempts, task means, then sums."""
    base = [
        attempt("a", calls=4),
        attempt("a", number=1, calls=6),
        attempt("b", cluster="c1", calls=10),
        attempt("b", cluster="c1", number=1, calls=19, outcome=FAILED),
        attempt("c", cluster="c2", calls=2),
        attempt("c", cluster="c2", number=1, calls=2),
    ]
    run = [
        attempt("a", calls=3),
        attempt("a", number=1, calls=20, outcome=FAILED),
        attempt("b", cluster="c1", calls=8),
        attempt("b", cluster="c1", number=1, calls=4),
        attempt("c", cluster="c2", calls=1, outcome=FAILED),
        attempt("c", cluster="c2", number=1, calls=1, outcome=FAILED),
    ]
    content = whole(compare(write_run(tmp_path / "b", base), write_run(tmp_path / "r", run)))
    assert content["calls_ratio"]["est"] == pytest.approx((3 + 6) / (5 + 10))
    assert content["calls_ratio"]["n_tasks"] == 2
    capped = content["runs"][0]["efficiency"]["all_runs_capped"]
    assert capped["base"]["est"] == pytest.approx((5 + (10 + 20) / 2 + 2) / 3)
    assert capped["run"]["est"] == pytest.approx(((3 + 20) / 2 + 6 + 20) / 3)
    per_solve = content["runs"][0]["efficiency"]["per_solve"]["calls"]
    assert per_solve["run"]["est"] == pytest.approx((11.5 + 6 + 1) / (0.5 + 1 + 0))
    solved = content["runs"][0]["solved"]
    assert (solved["lost"], solved["gained"]) == (["c"], [])


# --- too little to go by --------------------------------------------------------------------------


def pairs(
    tmp_path: Path, base: Iterable[Rollout], run: Iterable[Rollout], **plan: Any
) -> dict[str, Any]:
    return whole(
        compare(
            write_run(tmp_path / "base", base, **plan), write_run(tmp_path / "run", run, **plan)
        )
    )


def test_rf44_no_task(tmp_path: Path) -> None:
    content = pairs(tmp_path, [], [], attempts=1)
    difference = {key: content["diff_pass1"][key] for key in ("est", "lo", "hi", "p", "mde")}
    assert set(difference.values()) == {None}
    assert content["calls_ratio"] == {"est": None, "lo": None, "hi": None, "n_tasks": 0}
    assert content["runs"][0]["verdict"]["pass1"] == "unknown"
    assert content["trouble"]


def test_rf44_one_task(tmp_path: Path) -> None:
    content = pairs(tmp_path, [attempt(outcome=FAILED)], [attempt()])
    difference = content["diff_pass1"]
    assert (difference["est"], difference["lo"], difference["p"]) == (1.0, None, 1.0)
    assert "one cluster" in content["runs"][0]["reasons"]["diff_pass1"]
    assert "+100.0 points were seen" in content["runs"][0]["verdict"]["sentences"][0]


def test_rf44_one_cluster(tmp_path: Path) -> None:
    base = [attempt(f"t{n}", outcome=FAILED if n % 2 else Outcome.SOLVED) for n in range(8)]
    content = pairs(tmp_path, base, [attempt(f"t{n}", calls=2) for n in range(8)])
    assert content["diff_pass1"]["est"] == 0.5 and content["diff_pass1"]["lo"] is None
    assert content["calls_ratio"]["est"] == pytest.approx(2 / 3)
    assert content["calls_ratio"]["lo"] is None
    assert content["runs"][0]["verdict"]["pass1"] == "unknown"


@pytest.mark.parametrize("outcome", [Outcome.SOLVED, FAILED])
def test_rf44_all_equal(tmp_path: Path, outcome: Outcome) -> None:
    """No pair differs: that is little evidence in 24 clusters, and the interval says so."""
    rollouts = [attempt(f"t{n}", cluster=f"c{n}", outcome=outcome) for n in range(24)]
    content = pairs(tmp_path, rollouts, rollouts)
    difference = content["diff_pass1"]
    assert (difference["est"], difference["p"]) == (0.0, 1.0)
    assert difference["lo"] == pytest.approx(-0.1425, abs=1e-3)
    assert difference["hi"] == pytest.approx(0.1425, abs=1e-3)
    assert 0.25 < difference["mde"] < 0.4
    verdict = content["runs"][0]["verdict"]
    assert verdict["pass1"] == "none_detected" and not verdict["equivalent"]
    if outcome is Outcome.SOLVED:
        assert content["calls_ratio"]["est"] == 1.0
    else:
        assert "no task was solved by both arms" in verdict["sentences"][1]


def test_rf44_the_same_saving_in_every_task(tmp_path: Path) -> None:
    base = [attempt(f"t{n}", cluster=f"c{n}", calls=10) for n in range(12)]
    content = pairs(tmp_path, base, [attempt(f"t{n}", cluster=f"c{n}", calls=7) for n in range(12)])
    assert content["calls_ratio"] == {"est": 0.7, "lo": 0.7, "hi": 0.7, "n_tasks": 12}
    assert "no spread" in content["runs"][0]["reasons"]["calls_ratio"]
    assert content["runs"][0]["verdict"]["calls"] == "lower"


def test_more_calls_are_said_too(tmp_path: Path) -> None:
    base = [attempt(f"t{n}", cluster=f"c{n}", calls=7 + n % 2) for n in range(12)]
    run = [attempt(f"t{n}", cluster=f"c{n}", calls=10 + n % 3) for n in range(12)]
    verdict = pairs(tmp_path, base, run)["runs"][0]["verdict"]
    assert verdict["calls"] == "higher"
    assert verdict["sentences"][1].startswith("Needs 47% more tool calls")


def test_calls_saved_where_fewer_tasks_are_solved_come_with_a_warning(tmp_path: Path) -> None:
    base = [attempt(f"t{n}", cluster=f"c{n}", calls=10) for n in range(12)]
    run = [
        attempt(f"t{n}", cluster=f"c{n}", calls=6, outcome=SOLVED if n else FAILED)
        for n in range(12)
    ]
    verdict = pairs(tmp_path, base, run)["runs"][0]["verdict"]
    assert (verdict["pass1"], verdict["calls"]) == ("none_detected", "lower")
    assert "compare calls per solve" in verdict["sentences"][-1]


def test_a_comparison_too_small_to_detect_anything_says_so(tmp_path: Path) -> None:
    base = [attempt("t0", cluster="c0", outcome=FAILED), attempt("t1", cluster="c1")]
    run = [attempt("t0", cluster="c0"), attempt("t1", cluster="c1")]
    accuracy = pairs(tmp_path, base, run)["runs"][0]["verdict"]["sentences"][0]
    assert "too small to detect a change of any size" in accuracy


def test_rf44_missing_pairs_are_left_out_and_listed(tmp_path: Path) -> None:
    base = [attempt(f"t{n}", cluster=f"c{n}") for n in range(10)]
    run = [attempt(f"t{n}", cluster=f"c{n}") for n in range(8)]
    content = pairs(tmp_path, base, run, tasks=[f"t{n}" for n in range(10)])
    assert content["diff_pass1"]["n_tasks"] == 8 and content["diff_pass1"]["est"] == 0
    assert content["runs"][0]["unpaired_tasks"] == ["t8", "t9"]
    assert content["runs"][0]["not_run"] == 2
    assert content["runs"][0]["diff_pass1_if_missing"] == [pytest.approx(-0.2), 0.0]


def test_rf44_an_arm_that_is_mostly_infra_says_so(tmp_path: Path) -> None:
    def outcome(n: int) -> Outcome:
        return Outcome.INFRA if n % 4 else Outcome.SOLVED

    base = [attempt(f"t{n:02}", cluster=f"c{n}", outcome=FAILED) for n in range(40)]
    run = [attempt(f"t{n:02}", cluster=f"c{n}", outcome=outcome(n)) for n in range(40)]
    content = pairs(tmp_path, base, run)
    assert content["diff_pass1"]["n_tasks"] == 10 and content["diff_pass1"]["est"] == 1
    assert content["runs"][0]["unscorable"] == 30
    said = " ".join(content["runs"][0]["verdict"]["sentences"])
    assert "0.0% and 75.0% are missing" in said and "between +25.0 and +100.0 points" in said
    assert any("30 of 40 attempts are missing" in line for line in content["trouble"])


def test_rf44_an_arm_that_is_all_infra_has_no_number(tmp_path: Path) -> None:
    base = [attempt(f"t{n}", cluster=f"c{n}") for n in range(6)]
    run = [attempt(f"t{n}", cluster=f"c{n}", outcome=Outcome.INFRA) for n in range(6)]
    content = pairs(tmp_path, base, run)
    assert content["diff_pass1"]["est"] is None
    assert content["runs"][0]["blocking"]["pass1"]["est"] is None


def test_too_few_clusters_are_named(tmp_path: Path) -> None:
    base = [attempt(f"t{n}", cluster=f"c{n}", outcome=FAILED) for n in range(4)]
    content = pairs(tmp_path, base, [attempt(f"t{n}", cluster=f"c{n}") for n in range(4)])
    verdict = content["runs"][0]["verdict"]
    assert verdict["pass1"] == "none_detected" and content["diff_pass1"]["mde"] is None
    assert "Fewer than 6 clusters cannot show a change" in verdict["sentences"][0]
    assert "4 clusters are too few" in verdict["sentences"][-1]


def test_an_interval_and_a_test_that_disagree_are_called_unclear(tmp_path: Path) -> None:
    """Five clusters, all better: the interval excludes 0, the permutations cannot go below 1/16."""
    tasks = [(f"t{c}{n}", f"c{c}", n) for c in range(5) for n in range(5)]
    base = [attempt(task, cluster=cluster, outcome=FAILED) for task, cluster, _ in tasks]
    run = [
        attempt(task, cluster=cluster, outcome=FAILED if n < int(cluster[1]) % 3 else SOLVED)
        for task, cluster, n in tasks
    ]
    content = pairs(tmp_path, base, run)
    assert content["diff_pass1"]["lo"] > 0 and content["diff_pass1"]["p"] == 1 / 16
    assert content["runs"][0]["verdict"]["pass1"] == "unclear"
    assert "interval and permutation test disagree" in content["runs"][0]["verdict"]["sentences"][0]


def test_unknown_tokens_leave_the_other_costs_alone(tmp_path: Path) -> None:
    base = [attempt(f"t{n}", cluster=f"c{n}", tokens=None) for n in range(6)]
    run = [attempt(f"t{n}", cluster=f"c{n}") for n in range(6)]
    costs = pairs(tmp_path, base, run)["runs"][0]["efficiency"]["per_solve"]
    assert costs["tokens"]["ratio"]["est"] is None and costs["tokens"]["ratio"]["reason"]
    assert costs["turns"]["ratio"]["est"] == 1


def test_manifests_without_a_cap_have_no_capped_calls(tmp_path: Path) -> None:
    rollouts = [attempt(f"t{n}", cluster=f"c{n}") for n in range(6)]
    content = pairs(tmp_path, rollouts, rollouts, limits={"default": {}})
    assert content["runs"][0]["efficiency"]["all_runs_capped"]["run"]["est"] is None


# --- refusals -------------------------------------------------------------------------------------


def test_unlike_runs_are_refused(tmp_path: Path) -> None:
    base = write_run(tmp_path / "base", [attempt()])
    run = write_run(tmp_path / "run", [attempt()], sampling={"temperature": 1.0})
    with pytest.raises(BadInput, match=r"run with the base: they differ in sampling.temperature"):
        compare(base, run)
    guarded = write_run(tmp_path / "guarded", [attempt()], policy="other")
    assert compare(base, guarded, vary=["guards"]).runs


def test_a_comparison_needs_a_run(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="at least one run"):
        compare(write_run(tmp_path / "base", [attempt()]))
