"""The contract kit, with this guard's own calls."""

from __future__ import annotations

from ha_guard_no_package_install.contract import TestGuard, TestGuardThatAllowsSome, TestPlugin

__all__ = ["TestGuard", "TestGuardThatAllowsSome", "TestPlugin"]
