from __future__ import annotations

import math

import pytest

from harness_adapters.train.canary import AdapterNotServed, Expectation, Report, judge

BASE = (-1.0, -2.0, -3.0)
ADAPTER = (-1.5, -2.0, -2.8)
ZERO = Expectation(adapter=BASE, base=BASE)
REAL = Expectation(adapter=ADAPTER, base=BASE)


def look(
    expected: Expectation,
    *,
    adapter: tuple[float, ...],
    base: tuple[float, ...] = BASE,
    noise: float = 0.0,
) -> Report:
    return judge(
        server="http://s",
        name="a.v1",
        expected=expected,
        adapter=adapter,
        base=base,
        base_before=BASE,
        noise=noise,
    )


def test_an_adapter_that_is_served_passes() -> None:
    report = look(REAL, adapter=ADAPTER)
    assert report.told and report.parity == 0 and report.change == pytest.approx(0.5)


def test_a_server_that_serves_the_base_instead_stops_the_run() -> None:
    """RF26: an adapter that does not fit the server's modules is served as the base, silently."""
    with pytest.raises(AdapterNotServed, match="serves the base model in its place"):
        look(REAL, adapter=BASE)


def test_noise_is_not_taken_for_an_adapter() -> None:
    jitter = tuple(value + 0.01 for value in BASE)
    with pytest.raises(AdapterNotServed, match="in its place"):
        look(REAL, adapter=jitter, noise=0.01)


def test_a_zero_adapter_must_say_what_the_base_says() -> None:
    report = look(ZERO, adapter=BASE)
    assert report.expected == 0 and not report.told
    with pytest.raises(AdapterNotServed, match="all zero"):
        look(ZERO, adapter=ADAPTER)


def test_a_change_below_the_noise_is_not_claimed_to_be_seen() -> None:
    tiny = Expectation(adapter=tuple(value + 1e-5 for value in BASE), base=BASE)
    assert not look(tiny, adapter=BASE).told
    assert not look(REAL, adapter=BASE, noise=0.1).told


def test_a_base_that_changed_stops_the_run() -> None:
    """RF28: loaded adapters have changed requests for the base."""
    with pytest.raises(AdapterNotServed, match="requests for the base are changed"):
        look(REAL, adapter=ADAPTER, base=(-1.0, -2.2, -3.0))
    assert look(REAL, adapter=ADAPTER, base=(-1.0, -2.01, -3.0), noise=0.005).base_drift > 0


def test_another_base_model_is_told_from_another_precision() -> None:
    other = Expectation(adapter=tuple(p - 5 for p in ADAPTER), base=tuple(p - 5 for p in BASE))
    with pytest.raises(AdapterNotServed, match="serves another model"):
        look(other, adapter=ADAPTER)
    near = Expectation(adapter=ADAPTER, base=tuple(p - 0.2 for p in BASE))
    assert look(near, adapter=ADAPTER).told


@pytest.mark.parametrize("nonsense", [math.nan, math.inf])
def test_what_is_no_number_never_passes(nonsense: float) -> None:
    with pytest.raises(AdapterNotServed):
        look(ZERO, adapter=(nonsense, -2.0, -3.0))
    with pytest.raises(AdapterNotServed):
        look(REAL, adapter=ADAPTER, base=(nonsense, -2.0, -3.0))
