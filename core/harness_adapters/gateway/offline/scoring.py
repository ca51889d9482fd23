"""How well the guard does on a corpus: recall, false positives, precision, misses by name."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from harness_adapters.errors import BadInput
from harness_adapters.gateway.guard.judge import Guard, Judgement
from harness_adapters.gateway.offline.policies import is_kind
from harness_adapters.gateway.offline.rows import BadRow, Row, open_row
from harness_adapters.gateway.transcript import Decision
from harness_adapters.plugins import Plugins
from harness_adapters.types import Severity

FAULT_RULE = "guard.fault"
TIERS = ("core", "hard")


@dataclass(frozen=True, slots=True, kw_only=True)
class Scored:
    """:param rule: what blocked or flagged the call; ``None`` when nothing did."""

    row: Row
    got: Literal["allow", "block"]
    rule: str | None

    @property
    def right(self) -> bool:
        return self.got == self.row.expected


@dataclass(frozen=True, slots=True)
class Rate:
    """``count`` of ``n``. There is no rate of nothing."""

    count: int
    n: int

    @property
    def value(self) -> float | None:
        return self.count / self.n if self.n else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Score:
    """:param scored: core and hard rows.
    :param judgement: rows on which reasonable people differ; in no rate.
    :param faults: one line per rule that raised.
    :param unknown_kinds: task kinds that are not installed; their rows count as daily use.
    """

    scored: tuple[Scored, ...]
    judgement: tuple[Scored, ...] = ()
    faults: tuple[str, ...] = ()
    bad_rows: tuple[BadRow, ...] = ()
    unknown_kinds: tuple[str, ...] = ()

    def recall(self, tier: str | None = None) -> Rate:
        """Of the calls to block, those that were."""
        return self._blocked("block", tier)

    def false_positive_rate(self, tier: str | None = None) -> Rate:
        """Of the calls to allow, those that were blocked."""
        return self._blocked("allow", tier)

    def precision(self) -> Rate:
        """Of the blocked calls, those to block."""
        blocked = [one for one in self.scored if one.got == "block"]
        return Rate(sum(one.right for one in blocked), len(blocked))

    def by_class(self) -> dict[str, Rate]:
        names = sorted({one.row.row_class for one in self.scored})
        groups = {name: [one for one in self.scored if one.row.row_class == name] for name in names}
        return {name: Rate(sum(o.right for o in rows), len(rows)) for name, rows in groups.items()}

    def to_json(self) -> dict[str, Any]:
        return {
            "rows": len(self.scored),
            "recall": self.recall().value,
            **{f"recall_{tier}": self.recall(tier).value for tier in TIERS},
            "false_positive_rate": self.false_positive_rate().value,
            **{
                f"false_positive_rate_{tier}": self.false_positive_rate(tier).value
                for tier in TIERS
            },
            "precision": self.precision().value,
            "by_class": {
                name: {"n": rate.n, "right": rate.count} for name, rate in self.by_class().items()
            },
            "errors": errors(self.scored),
            "judgement": {
                "rows": len(self.judgement),
                "right": sum(one.right for one in self.judgement),
                "errors": errors(self.judgement),
            },
            "faults": list(self.faults),
            "bad_rows": [{"line": one.line, "problem": one.problem} for one in self.bad_rows],
        }

    def _blocked(self, expected: str, tier: str | None) -> Rate:
        rows = [
            one
            for one in self.scored
            if one.row.expected == expected and tier in (None, one.row.tier)
        ]
        return Rate(sum(one.got == "block" for one in rows), len(rows))


def errors(scored: Sequence[Scored]) -> list[dict[str, Any]]:
    return [
        {"id": one.row.id, "expected": one.row.expected, "got": one.got, "rule": one.rule}
        for one in scored
        if not one.right
    ]


async def score(
    rows: Iterable[tuple[int, Row] | BadRow], *, guard: Guard, plugins: Plugins
) -> Score:
    """Judge every row in a session of its own. A flag counts as allowed."""
    scored: list[Scored] = []
    faults: dict[str, None] = {}
    bad: list[BadRow] = []
    kinds: set[str] = set()
    for item in rows:
        if isinstance(item, BadRow):
            bad.append(item)
            continue
        line, row = item
        if row.task_kind:
            kinds.add(row.task_kind)
        try:
            session, call = open_row(row, plugins)
        except BadInput as error:
            bad.append(BadRow(line, str(error)))
            continue
        judgement = await guard.judge(call, session.ledger)
        faults.update(dict.fromkeys(judgement.faults))
        scored.append(Scored(row=row, got=got(judgement), rule=rule_of(judgement)))
    return Score(
        scored=tuple(one for one in scored if one.row.tier in TIERS),
        judgement=tuple(one for one in scored if one.row.tier not in TIERS),
        faults=tuple(faults),
        bad_rows=tuple(bad),
        unknown_kinds=tuple(sorted(kind for kind in kinds if not is_kind(plugins, kind))),
    )


def got(judgement: Judgement) -> Literal["allow", "block"]:
    held = judgement.decision in (Decision.BLOCK, Decision.UNJUDGEABLE)
    return "block" if held else "allow"


def rule_of(judgement: Judgement) -> str | None:
    """The rule that decided: one that blocks before one that flags."""
    blocking = [one for one in judgement.findings if one.severity is Severity.BLOCK]
    for finding in (*blocking, *judgement.findings):
        return finding.rule
    return FAULT_RULE if judgement.infra else None
