"""``declared_tools``: a call of a tool that the request did not declare.

Catches made-up and misspelt tool names, which some harnesses repair and run. Leaves alone every
declared tool, and sessions whose log does not say which tools were declared.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from harness_adapters import Finding, Ledger, Options, ToolCall
from harness_adapters.errors import did_you_mean
from harness_adapters.gateway.guard.checks import Checks


class DeclaredTools:
    """Options: ``severity`` (weak models misspell, so ``flag`` may be fairer to them)."""

    checks: ClassVar[Mapping[str, str]] = {
        "undeclared": "a call of a tool that the request did not declare",
    }

    def __init__(self, options: Options) -> None:
        self._checks = Checks("declared_tools", self.checks, options)

    def judge(self, call: ToolCall, ledger: Ledger) -> Finding | None:
        if ledger.declared_tools is None or call.name in ledger.declared_tools:
            return None
        hint = did_you_mean(call.name[:80], ledger.declared_tools)
        return self._checks.found("undeclared", f"tool {call.name[:80]!r} is not declared{hint}")
