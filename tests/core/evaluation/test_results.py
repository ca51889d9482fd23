"""What an evaluation's folder says, whole and half."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import numpy as np
import pytest
from evaluations import ADAPTER, write_evaluation
from run_folders import attempt, write_run

from harness_adapters import Outcome
from harness_adapters.evaluation.compare import compare
from harness_adapters.evaluation.holm import holm
from harness_adapters.evaluation.matrix import home_of
from harness_adapters.evaluation.plan import Design, make_plan, write_plan
from harness_adapters.evaluation.results import find

HARNESSES = ("pi", "opencode")
ADAPTERS = tuple(map(ADAPTER.format, HARNESSES))


def test_each_harness_is_compared_with_its_own_base_and_holm_goes_over_all(tmp_path: Path) -> None:
    write_evaluation(tmp_path, harnesses=HARNESSES, models=("base", *ADAPTERS))
    findings = find(tmp_path)
    assert [one.base.path for one in findings.comparisons] == [
        tmp_path / "pi" / "base",
        tmp_path / "opencode" / "base",
    ]
    runs = [run for one in findings.comparisons for run in one.runs]
    assert [run.p_holm for run in runs] == holm([run.difference.p for run in runs])
    assert [run.calls_p_holm for run in runs] == holm([run.efficiency.calls_p for run in runs])
    alone = compare(tmp_path / "pi" / "base", tmp_path / "pi" / ADAPTERS[0])
    assert runs[0].difference == alone.runs[0].difference
    json.dumps(findings.to_json(), allow_nan=False)


def test_what_was_not_begun_is_left_out(tmp_path: Path) -> None:
    write_evaluation(tmp_path, harnesses=HARNESSES, models=("base", *ADAPTERS))
    shutil.rmtree(tmp_path / "opencode" / "base")
    findings = find(tmp_path)
    assert len(findings.arms) == 5
    assert [one.base.path for one in findings.comparisons] == [tmp_path / "pi" / "base"]


def test_one_model_alone_has_an_arm_and_no_comparison(tmp_path: Path) -> None:
    write_evaluation(tmp_path, models=("base",))
    findings = find(tmp_path)
    assert (len(findings.arms), findings.comparisons, findings.trouble) == (1, (), [])


def test_guards_are_compared_with_none(tmp_path: Path) -> None:
    write_evaluation(tmp_path, design=Design.GUARDS, models=("base",))
    (comparison,) = find(tmp_path).comparisons
    content = comparison.to_json()
    off, on = content["base"]["blocking"], content["runs"][0]["blocking"]
    assert off["block_rate"]["count"] == 0
    assert (
        on["passed_blocked"] + on["failed_blocked"] == 2 == on["by_rule"]["tamper.tests"]["count"]
    )
    assert on["by_rule"]["tamper.tests"]["lo"] > 0
    assert on["pass1_by_verifier"]["est"] >= on["pass1"]["est"]


@pytest.mark.parametrize(
    ("model", "home"),
    [
        ("tiny-4b.pi.01J8ZK.v3", "pi"),
        ("qwen2.5-0.5b.opencode.01J8ZK.v12", "opencode"),
        ("tiny.other.01J8ZK.v3", None),
        ("tiny.pi.01J8ZK", None),
        ("base", None),
        ("pi", None),
    ],
)
def test_an_adapters_name_says_its_home(model: str, home: str | None) -> None:
    assert home_of(model, HARNESSES) == home


def test_the_wrong_harness_costs_the_difference_of_both_gains(tmp_path: Path) -> None:
    """By hand: at home the adapter gains tasks 0 to 3 of 8 and halves the calls; elsewhere it
    gains none and saves none."""
    adapter = ADAPTERS[0]
    plan = make_plan(Design.MATRIX, HARNESSES, ["base", adapter])
    write_plan(tmp_path, plan)
    for arm in plan.arms:
        at_home = arm.model == adapter and arm.harness == "pi"
        rollouts = [
            attempt(
                f"t{n}",
                cluster=f"c{n}",
                calls=4 if at_home else 8,
                outcome=Outcome.SOLVED if n >= 4 or at_home else Outcome.FAILED,
            )
            for n in range(8)
        ]
        write_run(tmp_path / arm.path, rollouts, harness=arm.harness, model=arm.model)
    matrix = find(tmp_path).matrix
    assert matrix is not None
    assert matrix.homes == ("pi",)
    assert [cell.difference.est for cell in matrix.cells[0]] == [0.5, 0.0]
    (transfer,) = matrix.transfers
    assert (transfer.home, transfer.harness) == ("pi", "opencode")
    assert transfer.diff_pass1.est == -0.5
    assert transfer.calls_ratio.est == pytest.approx(2.0)
    losses = np.array([-1.0] * 4 + [0.0] * 4)
    se = float(losses.std(ddof=1)) / np.sqrt(8)  # singleton clusters: CR2 is the classical error
    assert transfer.diff_pass1.lo == pytest.approx(-0.5 - 2.364624 * se, abs=1e-5)
    assert transfer.p == pytest.approx(2 / 16)  # 4 clusters differ: all signs alike, 2 of 16


def test_a_matrix_waits_for_all_its_cells(tmp_path: Path) -> None:
    write_evaluation(
        tmp_path, design=Design.MATRIX, harnesses=HARNESSES, models=("base", *ADAPTERS)
    )
    assert find(tmp_path).matrix is not None
    shutil.rmtree(tmp_path / "opencode" / ADAPTERS[0])
    assert find(tmp_path).matrix is None
