"""``ha plugin check`` on what is installed here."""

from __future__ import annotations

import json

import pytest

from harness_adapters.cli import main
from harness_adapters.plugins import PluginInfo
from harness_adapters.testing.check import check_plugin


def call(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    with pytest.raises(SystemExit) as end:
        main(["plugin", *arguments])
    out, err = capsys.readouterr()
    return int(end.value.code or 0), out, err


def test_a_built_in_keeps_its_contract(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = call(capsys, "check", "tool-efficiency", "--json")
    result = json.loads(out)
    assert (code, result["failed"]) == (0, 0)
    assert result["distribution"] == "harness-adapters"
    assert {one["contract"] for one in result["tests"]} == {
        "TestPlugin",
        "TestRewardToolEfficiency",
    }


def test_the_table_is_for_people(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = call(capsys, "check", "Tool_Efficiency")
    assert code == 0
    assert "it refuses an unknown option" in out
    assert out.splitlines()[-1].endswith("10 passed, 0 failed, 0 skipped")


def test_a_plugin_that_is_not_installed(capsys: pytest.CaptureFixture[str]) -> None:
    code, _, err = call(capsys, "check", "tampr")
    assert code == 2
    assert "did you mean 'tamper'" in err and "pip install" in err


def test_a_distribution_with_several_plugins(capsys: pytest.CaptureFixture[str]) -> None:
    code, _, err = call(capsys, "check", "harness-adapters")
    assert code == 2
    assert "several plugins" in err


def test_a_refused_plugin_fails_with_its_reason() -> None:
    refused = PluginInfo(
        name="gone", module="gone", distribution="gone", version="1", status="refused", reason="x"
    )
    results = check_plugin(refused)
    assert {one.result for one in results} <= {"failed", "passed"}
    assert any("no installed distribution" in one.detail for one in results)
