from __future__ import annotations

import pytest

from harness_adapters.bench.goals import Result, quantile, scale


def result(value: dict[str, float], goal: dict[str, float], factor: float = 1.0) -> Result:
    return Result(title="x", value=value, goal=goal, direct={}, scale=factor)


def test_upper_and_lower_bounds() -> None:
    assert result({"took_ms": 2.0}, {"took_ms": 2.0}).ok
    assert not result({"took_ms": 2.1}, {"took_ms": 2.0}).ok
    assert result({"per_second": 10.0}, {"least_per_second": 10.0}).ok
    assert result({"per_second": 9.0}, {"least_per_second": 10.0}).missed == ["least_per_second"]


def test_only_goals_in_time_are_scaled() -> None:
    slow = {"took_ms": 3.9, "per_second": 5.0, "leaks": 0.0}
    goal = {"took_ms": 2.0, "least_per_second": 10.0, "leaks": 0.0}
    assert result(slow, goal, factor=2.0).ok
    assert result({"ratio": 1.6}, {"ratio": 1.5}, factor=9.0).missed == ["ratio"]


def test_a_machine_like_the_one_that_goals_were_set_on_changes_nothing() -> None:
    assert scale("call_ms", 0.43) == scale("call_ms", 0.6) == scale("call_ms", 0.79) == 1.0
    assert scale("requests_per_second", 2500.0) == 1.0


def test_slower_machines_get_more_and_faster_ones_less() -> None:
    assert scale("call_ms", 1.58) == pytest.approx(2.0)
    assert scale("call_ms", 0.215) == pytest.approx(0.5)
    assert scale("requests_per_second", 1210.0) == pytest.approx(2.0)
    assert scale("requests_per_second", 5790.0) == pytest.approx(0.5)


def test_quantile() -> None:
    values = [float(number) for number in range(100, 0, -1)]
    assert quantile(values, 0.5) == 51.0
    assert quantile(values, 0.99) == 100.0
    assert quantile([1.0], 0.99) == 1.0
