"""Queries in English: what the agent is told."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from harness_adapters.tasks.questions.dice import Dice
from harness_adapters.tasks.questions.query import TOLERANCE, Condition, Measure, Op, Query
from harness_adapters.tasks.questions.tables import Table

_NOUNS: Mapping[Measure, Sequence[str]] = {
    Measure.SUM: ("total `{}`", "sum of `{}`"),
    Measure.MEAN: ("mean `{}`", "average `{}`"),
    Measure.MEDIAN: ("median `{}`", "median of `{}`"),
    Measure.MIN: ("smallest `{}`", "lowest `{}`", "minimum of `{}`"),
    Measure.MAX: ("largest `{}`", "highest `{}`", "maximum of `{}`"),
    Measure.COUNT: ("number of rows",),
    Measure.DISTINCT: ("number of different `{}` values", "number of distinct `{}` values"),
}
_ASKS = ("What is the {}?", "Find the {}.", "Compute the {}.", "Work out the {}.")
_CONDITIONS: Mapping[Op, Sequence[str]] = {
    Op.IS: ("`{}` is `{}`", "`{}` equals `{}`"),
    Op.ABOVE: ("`{}` is above `{}`", "`{}` is greater than `{}`"),
    Op.BELOW: ("`{}` is below `{}`", "`{}` is less than `{}`"),
    Op.FROM_DATE: ("`{}` is on or after `{}`", "`{}` is `{}` or later"),
    Op.BEFORE_DATE: ("`{}` is before `{}`", "`{}` is earlier than `{}`"),
    Op.CONTAINS: ("`{}` contains `{}` (in any letter case)",),
}
_LAST = "Write only the answer to `answer.txt` in the current directory."


def instruction(query: Query, table: Table, format: str, dice: Dice) -> str:
    paragraphs = [
        _question(query, _source(table, format), dice),
        " ".join(_notes(query, table, format)),
        _LAST,
    ]
    return "\n\n".join(filter(None, paragraphs)) + "\n"


def _source(table: Table, format: str) -> str:
    if format == "sqlite":
        return f"table `{table.name}` of the SQLite database `{table.name}.sqlite`"
    return f"`{table.name}.{format}`"


def _question(query: Query, source: str, dice: Dice) -> str:
    over = f"over the rows of {source}"
    where = ""
    if query.where:
        where = " where " + " and ".join(_condition(item, dice) for item in query.where)
    if query.group is not None:
        extreme = dice.pick(
            ("smallest", "lowest") if query.smallest else ("largest", "greatest", "highest")
        )
        if query.measure is Measure.COUNT:
            extreme = "fewest rows" if query.smallest else "most rows"
            return f"Which `{query.group}` has the {extreme} in {source}{_only(where)}?"
        noun = _noun(query, dice)
        return f"Group the rows of {source}{where} by `{query.group}`. " + dice.pick(
            (
                f"Which `{query.group}` has the {extreme} {noun}?",
                f"For which `{query.group}` is the {noun} the {extreme}?",
            )
        )
    if query.measure is Measure.LONGEST:
        return (
            f"Which `{query.column}` in {source} is the longest (most characters, spaces "
            f"included){_only(where)}?"
        )
    if query.measure is Measure.VALUES:
        ask = dice.pick(("List every `{}`", "Which `{}` values are there", "Give every `{}`"))
        end = "?" if ask.startswith("Which") else "."
        return f"{ask.format(query.column)} in the rows of {source}{where}{end}"
    if query.measure is Measure.COUNT:
        return dice.pick(
            (
                f"How many rows of {source} are there{where}?",
                f"Count the rows of {source}{where}.",
                f"Give the number of rows of {source}{where}.",
            )
        )
    return dice.pick(_ASKS).format(f"{_noun(query, dice)} {over}{where}")


def _only(where: str) -> str:
    return f", looking only at rows{where}" if where else ""


def _noun(query: Query, dice: Dice) -> str:
    return dice.pick(_NOUNS[query.measure]).format(query.column)


def _condition(condition: Condition, dice: Dice) -> str:
    return dice.pick(_CONDITIONS[condition.op]).format(condition.column, condition.value)


def _notes(query: Query, table: Table, format: str) -> list[str]:
    notes = []
    if query.joined:
        key, plural = table.companion.key, table.companion.plural
        other = f"table `{plural}` there" if format == "sqlite" else f"`{plural}.{format}`"
        notes.append(f"The column `{key}` refers to {other}.")
    used = {query.column, *(condition.column for condition in query.where)}
    if table.sparse is not None and table.sparse in used:
        notes.append(f"Some rows have no `{table.sparse}`: leave those rows out.")
    if query.measure is Measure.VALUES:
        notes.append("One value per line, each once, in any order.")
    elif query.group is None and query.measure is not Measure.LONGEST and not query.whole:
        notes.append(f"Round to 2 decimals; an error of at most {TOLERANCE} is accepted.")
        if query.measure is Measure.MEDIAN:
            notes.append("With an even number of values, take the mean of the two middle ones.")
    return notes
