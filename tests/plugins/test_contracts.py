"""Every built-in plugin keeps the contracts that third parties keep."""

from __future__ import annotations

from importlib.metadata import entry_points
from pathlib import Path
from typing import ClassVar

import pytest

from harness_adapters.plugins import BUILTIN, GROUP, Plugins
from harness_adapters.testing import (
    Case,
    GuardRuleContract,
    HarnessDriverContract,
    PluginContract,
    RewardShaperContract,
    TaskKindContract,
)

TASKS = Path(__file__).parents[2] / "examples" / "tasks"
PROJECTS = TASKS.with_name("projects")
BUILT_INS = sorted(
    ep.name for ep in entry_points(group=GROUP) if ep.dist is not None and ep.dist.name == BUILTIN
)


class TestPlugins(PluginContract):
    @pytest.fixture(params=BUILT_INS, autouse=True)
    def of_each(self, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(type(self), "name", request.param, raising=False)


@pytest.mark.timeout(300)
@pytest.mark.full
class TestPi(HarnessDriverContract):
    name = "pi"
    own_log = "session-*.jsonl"
    hang_seconds = 5.0


@pytest.mark.full
@pytest.mark.timeout(600)
class TestOpencode(HarnessDriverContract):
    name = "opencode"
    own_log = "session.json"
    hang_seconds = 12.0


@pytest.mark.full
@pytest.mark.timeout(600)
class TestHermes(HarnessDriverContract):
    name = "hermes"
    hang_seconds = 12.0


class TestRepair(TaskKindContract):
    name = "repair"
    bundle = TASKS / "repair-bookings"


class TestBuild(TaskKindContract):
    name = "build"
    bundle = PROJECTS / "build-spans"


class TestExtend(TaskKindContract):
    name = "extend"
    bundle = PROJECTS / "extend-tally"


class TestQa(TaskKindContract):
    name = "qa"
    bundle = TASKS / "qa-auctions-0013"
    broken: ClassVar[dict[str, dict[str, str]]] = {"no right answer": {"tests/expected.json": "{}"}}


CASES: dict[str, tuple[tuple[Case, ...], tuple[Case, ...]]] = {
    "declared_tools": (
        (Case("launch_rocket", {}, tools=("bash",)),),
        (Case("launch_rocket", {}), Case("bash", {"command": "ls"}, tools=("bash",))),
    ),
    "tamper": (
        (
            Case("bash", {"command": "cat /tests/expected.json"}),
            Case("write", {"path": "tests/test_a.py", "content": ""}),
        ),
        (Case("bash", {"command": "cat tests/test_a.py"}),),
    ),
}


@pytest.mark.parametrize("guard", Plugins.load().default_guards())
class TestGuards(GuardRuleContract):
    @pytest.fixture(autouse=True)
    def of_each(self, guard: str, monkeypatch: pytest.MonkeyPatch) -> None:
        blocked, allowed = CASES.get(guard, ((), ()))
        monkeypatch.setattr(type(self), "name", guard, raising=False)
        monkeypatch.setattr(type(self), "blocked", blocked)
        monkeypatch.setattr(type(self), "allowed", allowed)


class TestToolEfficiency(RewardShaperContract):
    name = "tool_efficiency"
