"""``ha bench engine`` measures the real engine: here with a load that means nothing."""

from __future__ import annotations

import pytest

from harness_adapters.bench import embedded


@pytest.mark.full
def test_a_small_load(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(embedded, "CONCURRENCY", (1, 3))
    monkeypatch.setattr(embedded, "ANSWER", 4)
    measured = embedded.run()
    assert [speed["sessions"] for speed in measured["speeds"]] == [1, 3]
    assert all(speed["tokens_per_s"] > 0 for speed in measured["speeds"])
    assert all(speed["cpu_ms_per_token"] > 0 for speed in measured["speeds"])
    assert 1.5e6 < measured["parameters"] < 3e6
