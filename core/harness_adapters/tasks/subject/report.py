"""Judging what the test run wrote down. Pure: bytes in, a report out."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

from harness_adapters.tasks.subject.values import strict_loads
from harness_adapters.types import Verdict

MAX_REPORT_BYTES = 8 * 1024 * 1024
OUTCOMES = ("passed", "failed", "error", "skipped")


@dataclass(frozen=True, slots=True, kw_only=True)
class TestReport:
    """What the hidden tests found.

    :param results: test id -> ``passed`` | ``failed`` (by an assertion) | ``error`` (anything
        else); skipped tests are left out.
    :param reasons: test id -> one line, for those that did not pass.
    :param broke: why there is no result that counts; empty when there is one.
    """

    __test__ = False  # its name must not make pytest collect it

    results: Mapping[str, str] = field(default_factory=dict[str, str])
    reasons: Mapping[str, str] = field(default_factory=dict[str, str])
    broke: str = ""

    @property
    def not_passed(self) -> tuple[str, ...]:
        return tuple(name for name, result in self.results.items() if result != "passed")

    def share(self, tests: Collection[str] | None = None) -> float:
        """Of these tests, by default of all, the part that passed, 0 to 1."""
        counted = self.results if tests is None else tests
        return sum(self.results.get(name) == "passed" for name in counted) / max(1, len(counted))

    def verdict(self, score: float) -> Verdict:
        """The verdict with this score, or 0 where nothing counts; what failed is its detail."""
        if self.broke:
            return Verdict(
                passed=False,
                score=0.0,
                detail=self.broke,
                broke_verifier=True,
                tests=self.results,
            )
        detail = ""
        if failed := self.not_passed:
            detail = f"{len(failed)} of {len(self.results)} tests did not pass; {failed[0]}: "
            detail += self.reasons.get(failed[0], "")
        return Verdict(passed=score == 1.0, score=score, detail=detail, tests=self.results)


def judge(
    raw: bytes | None, *, nonce: str, canary: str, expected: Collection[str] = ()
) -> TestReport:
    """Read the report of a finished run.

    It counts only when it holds the run's nonce, when every collected test has a result, when the
    canary (a test that must fail) failed by its assertion, and when no expected test is missing.
    """
    try:
        results, reasons = _parse(raw, nonce)
    except ValueError as error:
        return TestReport(broke=f"the test report does not count: {error}")
    if results.pop(canary, None) != "failed":
        return TestReport(broke="the test report does not count: a test that must fail did not")
    missing = [name for name in expected if results.get(name, "skipped") == "skipped"]
    ran = {name: result for name, result in results.items() if result != "skipped"}
    if missing:
        return TestReport(results=ran, reasons=reasons, broke=f"no result for {missing[0]}")
    if not ran:
        return TestReport(broke="no test ran")
    reasons = {name: reasons.get(name, "") for name in ran if ran[name] != "passed"}
    return TestReport(results=ran, reasons=reasons)


def _parse(raw: bytes | None, nonce: str) -> tuple[dict[str, str], dict[str, str]]:
    if not raw:
        raise ValueError("there is none")
    match strict_loads(raw):
        case {"nonce": str(given), "collected": list(collected), "results": dict(rows)}:
            pass
        case _:
            raise ValueError("it has another form")
    if given != nonce:
        raise ValueError("it comes from somewhere else")
    results: dict[str, str] = {}
    reasons: dict[str, str] = {}
    for name, row in rows.items():
        match row:
            case [str(outcome), str(reason)] if outcome in OUTCOMES:
                results[name], reasons[name] = outcome, reason
            case _:
                raise ValueError("it has another form")
    if not all(isinstance(name, str) and name in results for name in collected):
        raise ValueError("the run ended before every test had a result")
    return results, reasons
