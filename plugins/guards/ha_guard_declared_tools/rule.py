"""``declared_tools``: a call of a tool that the request did not declare.

Catches made-up and misspelt tool names, which some harnesses repair and run. Leaves alone every
declared tool, and sessions whose log does not say which tools were declared.
"""

from __future__ import annotations

from harness_adapters import (
    BadInput,
    Finding,
    Ledger,
    Options,
    Severity,
    ToolCall,
)
from harness_adapters.errors import did_you_mean

_OPTIONS = ("severity",)


class DeclaredTools:
    """Options: ``severity`` (``block``, the default, or ``flag``: weak models misspell)."""

    def __init__(self, options: Options) -> None:
        for name in options:
            if name not in _OPTIONS:
                raise BadInput(
                    f"guard declared_tools has no option {name!r}{did_you_mean(name, _OPTIONS)}"
                )
        severity = options.get("severity", Severity.BLOCK.value)
        known = [one.value for one in Severity]
        if severity not in known:
            raise BadInput(
                f"guard declared_tools: severity is {severity!r}, not one of {', '.join(known)}"
                f"{did_you_mean(str(severity), known)}"
            )
        self.severity = Severity(severity)

    def judge(self, call: ToolCall, ledger: Ledger) -> Finding | None:
        if ledger.declared_tools is None or call.name in ledger.declared_tools:
            return None
        return Finding(
            rule="declared_tools.undeclared",
            severity=self.severity,
            message=f"tool {call.name[:80]!r} is not declared"
            f"{did_you_mean(call.name[:80], ledger.declared_tools)}",
        )
