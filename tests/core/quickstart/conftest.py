"""The scripts that made the tiny policy, importable."""

from __future__ import annotations

from pathlib import Path

import pytest

SCRIPTS = Path(__file__).parents[3] / "scripts" / "tiny_policy"


@pytest.fixture(autouse=True)
def scripts_importable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(SCRIPTS))
