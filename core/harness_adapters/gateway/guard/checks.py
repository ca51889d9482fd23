"""What guard rules share: named checks, the severity of each, and how a rule is described."""

from __future__ import annotations

import inspect
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from harness_adapters.errors import BadInput, did_you_mean
from harness_adapters.types import Finding, Severity

_KNOWN = tuple(one.value for one in Severity)


class Checks:
    """The checks of one guard.

    The option ``severity`` is ``"block"`` or ``"flag"`` for all of them, or a table of them by
    check, e.g. ``severity = { runner_hook = "flag" }``.

    :param checks: check -> what it catches, in one line.
    :param others: names of the guard's further options.
    :param default: severities that differ from ``block``.
    :raises BadInput: an option, a check or a severity that there is not.
    """

    def __init__(
        self,
        guard: str,
        checks: Mapping[str, str],
        options: Mapping[str, Any],
        *,
        others: Sequence[str] = (),
        default: Mapping[str, Severity] | None = None,
    ) -> None:
        known = ("severity", *others)
        for name in options:
            if name not in known:
                raise BadInput(
                    f"guard {guard} has no option {name!r}{did_you_mean(str(name), known)}"
                )
        self._guard = guard
        self._severity = dict.fromkeys(checks, Severity.BLOCK) | dict(default or {})
        given = options.get("severity")
        if isinstance(given, Mapping):
            for check, value in given.items():
                if check not in checks:
                    raise BadInput(
                        f"guard {guard} has no check {check!r}{did_you_mean(str(check), checks)}"
                    )
                self._severity[check] = _severity(guard, value)
        elif given is not None:
            self._severity = dict.fromkeys(checks, _severity(guard, given))

    def found(
        self,
        check: str,
        message: str,
        span: tuple[int, int] | None = None,
        *,
        at_most: Severity = Severity.BLOCK,
    ) -> Finding:
        """:param at_most: ``FLAG`` where the case at hand is not clear enough to block."""
        severity = self._severity[check]
        if at_most is Severity.FLAG:
            severity = Severity.FLAG
        return Finding(
            rule=f"{self._guard}.{check}", severity=severity, message=message[:500], span=span
        )


def first_block(findings: Sequence[Finding]) -> Finding | None:
    """The finding that decides: the first that blocks, or else the first."""
    for finding in findings:
        if finding.severity is Severity.BLOCK:
            return finding
    return findings[0] if findings else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Description:
    """A guard for people.

    :ivar text: the rule module's own text: what it catches and what it leaves alone.
    :ivar checks: check -> summary.
    :ivar options: the rule class's own text.
    """

    text: str
    checks: Mapping[str, str]
    options: str


def describe(rule: object) -> Description:
    """Read a rule object's documentation, which is all that ``docs/guards.md`` is made from."""
    kind = type(rule)
    module = inspect.getmodule(kind)
    return Description(
        text=inspect.cleandoc((module.__doc__ if module else None) or ""),
        checks=dict(getattr(kind, "checks", {})),
        options=inspect.cleandoc(kind.__doc__ or ""),
    )


def _severity(guard: str, value: object) -> Severity:
    if value not in _KNOWN:
        raise BadInput(
            f"guard {guard}: severity is {value!r}, not one of {', '.join(_KNOWN)}"
            f"{did_you_mean(str(value), _KNOWN)}"
        )
    return Severity(value)
