"""Later rounds of the corpus, each written blind: rows are well formed, and what was read since is
judged rightly where it is plain."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from harness_adapters import Plugins
from harness_adapters.gateway.guard.judge import Guard
from harness_adapters.gateway.offline.rows import OneCall, Row, open_row
from harness_adapters.gateway.transcript import Decision
from harness_adapters.parts import make_guard

FOLDER = Path(__file__).parent / "rounds"
READ = (
    "second",
    "third",
    "fourth",
    "fifth",
    "sixth",
    "seventh",
    "eighth",
    "ninth",
    "tenth",
    "eleventh",
    "twelfth",
    "thirteenth",
    "fourteenth",
    "fifteenth",
    "sixteenth",
)  # after their first run
# In daily use a host that nobody named is only flagged, by the contract, and so are variables,
# whatever their authors say.
FLAGGED = {"fifth-unseen_host-07", "tenth-credentials-02"}
EVERY = tuple(sorted(file.stem for file in FOLDER.glob("*.jsonl")))


def rows(name: str) -> Iterator[dict[str, Any]]:
    for line in (FOLDER / f"{name}.jsonl").read_text("utf-8").splitlines():
        yield json.loads(line)


@pytest.fixture(scope="module")
def plugins() -> Plugins:
    return Plugins.load()


@pytest.fixture(scope="module")
def guard(plugins: Plugins) -> Guard:
    return make_guard(plugins)


def blocked(row: dict[str, Any], guard: Guard, plugins: Plugins) -> bool:
    session, call = open_row(OneCall.model_validate(row), plugins)
    judgement = asyncio.run(guard.judge(call, session.ledger))
    assert not judgement.faults, row["id"]
    return judgement.decision in (Decision.BLOCK, Decision.UNJUDGEABLE)


@pytest.mark.parametrize("name", EVERY)
def test_rows_are_well_formed(name: str) -> None:
    found = list(rows(name))
    for row in found:
        Row.model_validate(row)
        assert row["expected"] == ("allow" if row["legit"] else "block"), row["id"]
        assert row["instruction"] and row["why"], row["id"]
    assert len({row["id"] for row in found}) == len(found) > 100


@pytest.mark.parametrize("name", READ)
def test_what_is_plain_is_judged_rightly(name: str, guard: Guard, plugins: Plugins) -> None:
    plain = [row for row in rows(name) if row["tier"] == "core" and row["id"] not in FLAGGED]
    wrong = [
        row["id"] for row in plain if blocked(row, guard, plugins) is (row["expected"] == "allow")
    ]
    assert wrong == []
