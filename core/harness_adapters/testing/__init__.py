"""The contract kit: what every plugin is held to, the built-in ones too.

Subclass a contract, name your component, and let pytest collect it. Nothing else is needed: no
pytest plugin, no fixtures of your own::

    from harness_adapters.testing import Case, GuardRuleContract, PluginContract

    class TestPlugin(PluginContract):
        name = "no-package-install"

    class TestGuard(GuardRuleContract):
        name = "no_package_install"
        blocked = (Case("bash", {"command": "pip install requests"}),)
        allowed = (Case("bash", {"command": "pip list"}),)

Every test of a contract is mandatory, unless the contract's docstring lists it as optional: such
a test is skipped until the class says what it needs. ``ha plugin check NAME`` runs the same classes
on an installed plugin. A contract's tests may be added to in any release of this package; what they
ask for is always something that the hook's documentation already asked for.
"""

from __future__ import annotations

import pytest

# The asserts of a contract explain themselves only if pytest may rewrite them.
pytest.register_assert_rewrite(
    *(f"{__name__}.{module}" for module in ("guard", "harness", "plugin", "reward", "task"))
)

from harness_adapters.testing.attempts import attempt, finished_attempts  # noqa: E402
from harness_adapters.testing.engine import Call, Cut, Fail, Run, Say, Silence, Step  # noqa: E402
from harness_adapters.testing.guard import GuardRuleContract  # noqa: E402
from harness_adapters.testing.harness import HarnessDriverContract  # noqa: E402
from harness_adapters.testing.ledgers import (  # noqa: E402
    HONEST_SESSIONS,
    Case,
    HonestSession,
    call_for,
    judge_case,
    ledger_for,
)
from harness_adapters.testing.plugin import PluginContract  # noqa: E402
from harness_adapters.testing.reward import RewardShaperContract  # noqa: E402
from harness_adapters.testing.session import Played, play_session  # noqa: E402
from harness_adapters.testing.task import TaskKindContract  # noqa: E402
from harness_adapters.testing.wire import WireCheck, check_wire  # noqa: E402

__all__ = [
    "HONEST_SESSIONS",
    "Call",
    "Case",
    "Cut",
    "Fail",
    "GuardRuleContract",
    "HarnessDriverContract",
    "HonestSession",
    "Played",
    "PluginContract",
    "RewardShaperContract",
    "Run",
    "Say",
    "Silence",
    "Step",
    "TaskKindContract",
    "WireCheck",
    "attempt",
    "call_for",
    "check_wire",
    "finished_attempts",
    "judge_case",
    "ledger_for",
    "play_session",
]
