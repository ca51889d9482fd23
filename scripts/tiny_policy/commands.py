"""The shell commands that answer a query, and what they print."""

from __future__ import annotations

import csv
import io
import operator
from collections.abc import Callable

from harness_adapters.tasks.questions.query import Condition, Measure, Op, Query

_MEASURED: dict[Measure, str] = {
    Measure.SUM: "sum({})",
    Measure.MEAN: "sum({0})/len({0})",
    Measure.MIN: "min({})",
    Measure.MAX: "max({})",
    Measure.COUNT: "len({})",
}
_COMPUTED: dict[Measure, Callable[[list[float]], float]] = {
    Measure.SUM: sum,
    Measure.MEAN: lambda values: sum(values) / len(values),
    Measure.MIN: min,
    Measure.MAX: max,
    Measure.COUNT: len,
}


def command(query: Query, file: str) -> str:
    """A shell command that prints the answer."""
    parts = [f"import csv; r=list(csv.DictReader(open('{file}')))"]
    parts += [f"r=[x for x in r if {_test(condition)}]" for condition in query.where]
    measured = _MEASURED[query.measure]
    if query.group is not None:
        item = "1" if query.column is None else "float(y)"
        present = "" if query.column is None else f" if (y:=x['{query.column}'])"
        choose = "min" if query.smallest else "max"
        parts += [
            f"g={{}}; [g.setdefault(x['{query.group}'],[]).append({item}) for x in r{present}]",
            f"print({choose}(g,key=lambda k:{measured.format('g[k]')}))",
        ]
    elif query.column is None:
        parts.append("print(len(r))")
    else:
        parts += [
            f"v=[float(y) for x in r if (y:=x['{query.column}'])]",
            f"print({measured.format('v')})",
        ]
    return f'python3 -c "{"; ".join(parts)}"'


def printed(query: Query, text: str) -> str:
    """What :func:`command` prints for a file with this text, without the line's end."""
    rows = list(csv.DictReader(io.StringIO(text)))
    for condition in query.where:
        rows = [row for row in rows if _holds(condition, row)]
    compute = _COMPUTED[query.measure]
    if query.group is not None:
        groups: dict[str, list[float]] = {}
        for row in rows:
            if query.column is None:
                groups.setdefault(row[query.group], []).append(1)
            elif row[query.column]:
                groups.setdefault(row[query.group], []).append(float(row[query.column]))
        choose = min if query.smallest else max
        return choose(groups, key=lambda name: compute(groups[name]))
    if query.column is None:
        return str(len(rows))
    return str(compute([float(row[query.column]) for row in rows if row[query.column]]))


def _test(condition: Condition) -> str:
    if condition.op is Op.IS:
        return f"x['{condition.column}']=='{condition.value}'"
    sign = ">" if condition.op is Op.ABOVE else "<"
    return f"(y:=x['{condition.column}']) and float(y){sign}{condition.value}"


def _holds(condition: Condition, row: dict[str, str]) -> bool:
    cell = row[condition.column]
    if condition.op is Op.IS:
        return cell == condition.value
    compare = operator.gt if condition.op is Op.ABOVE else operator.lt
    return bool(cell) and compare(float(cell), float(condition.value))
