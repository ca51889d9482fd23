"""The whole benchmark once, in small: it works and says what it promises. Never how fast it is."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

import pytest

from harness_adapters.bench import peers
from harness_adapters.bench.suite import MEASURES, run
from harness_adapters.errors import BadInput, MissingPrerequisite

pytestmark = pytest.mark.timeout(600)  # many processes, on a machine that may be busy

HA = [sys.executable, "-c", "from harness_adapters.cli import main; main()"]


def ha_bench(*arguments: str) -> tuple[int, dict[str, Any]]:
    done = subprocess.run(
        [*HA, "bench", "gateway", *arguments, "--json"], capture_output=True, text=True
    )
    lines = done.stdout.splitlines()
    assert lines, done.stderr
    return done.returncode, json.loads(lines[-1])


def test_the_shape_of_its_json() -> None:
    code, report = ha_bench("--quick", "--only", "P1,P8")
    assert code == 0 and report["quick"] is True
    assert list(report["results"]) == ["P1", "P8"]
    for result in report["results"].values():
        assert isinstance(result["ok"], bool) and isinstance(result["missed"], list)
        measures = {name.removeprefix("least_") for name in result["goal"]}
        assert measures <= set(result["value"])
        assert all(isinstance(value, int | float) for value in result["value"].values())
        assert result["direct"]
    assert report["results"]["P1"]["direct"]["p50_ms"] > 0
    assert {"added_p50_ms", "call_judged_added_p50_ms"} <= set(report["results"]["P1"]["value"])
    assert report["results"]["P8"]["detail"] == {"tokens": 100_000, "rows": 1}
    assert "tamper" in report["machine"]["guards"]


def test_nothing_leaks_and_nothing_is_lost() -> None:
    result = run(only=["P12", "P5"], quick=True).results["P12"]
    assert result.ok and result.detail["ids_compared"] > 5000, result


def test_every_promised_goal_is_measured() -> None:
    assert list(MEASURES) == ["P1", "P2", "P3", "P4", "P5", "P6", "P7", "P8", "P11", "P12"]


def test_names_that_are_not_known() -> None:
    with pytest.raises(BadInput, match=r"no goal 'P13'.*goals: P1"):
        run(only=["P13"])
    with pytest.raises(BadInput, match="no peer 'openen'; did you mean 'openenv'"):
        run(peers=["openen"])


def test_a_peer_that_cannot_be_installed_is_left_out_and_said(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def no_network(peer: peers.Peer) -> Any:
        raise MissingPrerequisite("the package index cannot be reached")

    monkeypatch.setattr(peers, "_installed", no_network)
    report = run(only=["P1"], peers=["mitmproxy"], quick=True)
    assert report.peers["mitmproxy"] == {"absent": "the package index cannot be reached"}
    assert report.results["P1"].detail["peers"] == {}
