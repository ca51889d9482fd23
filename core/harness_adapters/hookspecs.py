"""Every hook a plugin may implement.

Hooks are synchronous and only hand over objects; the objects do the (possibly asynchronous) work,
so nothing is ever awaited through pluggy. A registration hook calls ``register`` and returns
nothing.
"""

from __future__ import annotations

from pluggy import HookspecMarker

from harness_adapters.protocols import GuardRule, HarnessDriver, Register, RewardShaper, TaskKind
from harness_adapters.types import Rollout

hookspec = HookspecMarker("harness_adapters")


@hookspec
def ha_register_harnesses(register: Register[HarnessDriver]) -> None:
    """Offer harness drivers.

    :param register: call it once per driver with a factory; the factory imports heavy code inside
        itself and receives the options of ``[harness.NAME]``.
    """


@hookspec
def ha_register_tasks(register: Register[TaskKind]) -> None:
    """Offer task kinds: how a workspace is prepared and its outcome verified."""


@hookspec
def ha_register_guards(register: Register[GuardRule]) -> None:
    """Offer guard rules. Options come from ``[guards.NAME]``."""


@hookspec
def ha_register_rewards(register: Register[RewardShaper]) -> None:
    """Offer reward shapers: named terms that are added to the verifier's score."""


@hookspec
def ha_rollout_finished(rollout: Rollout) -> None:
    """Observe a finished rollout (logging, export).

    Return values are not used; an observer that raises is reported and never fails a rollout.
    """
