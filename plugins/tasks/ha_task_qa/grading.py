"""Comparing an answer with the right one. Pure.

First the exact text, without regard to case and white space; then, where a number is right, the
whole answer as one number within the stated tolerance; where a list is right, its items in any
order, each as often as it is right. A ``flexible`` answer is a text that is read as whatever it can
be: a number, yes or no, a list, a formula.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Sequence
from decimal import Decimal
from typing import Annotated, Literal, Self

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    StrictFloat,
    StrictInt,
    StrictStr,
    model_validator,
)

from ha_task_qa.symbolic import same_formula

Number = StrictInt | Annotated[StrictFloat, Field(allow_inf_nan=False)]
Text = Annotated[StrictStr, Field(min_length=1)]
Tolerance = Annotated[float, Field(ge=0, allow_inf_nan=False)]


class Expected(BaseModel):
    """The right answer, ``tests/expected.json``.

    :param value: a number, a text, or a list of both, by ``type``; for ``flexible`` a text.
    :param abs_tol: how far a number may be off; the larger of it and ``rel_tol * |value|`` counts.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    type: Literal["number", "text", "list", "flexible"]
    value: Number | Text | Annotated[tuple[Number | Text, ...], Field(min_length=1)]
    abs_tol: Tolerance = 0.0
    rel_tol: Tolerance = 0.0

    @model_validator(mode="after")
    def _value_is_of_type(self) -> Self:
        types = {"number": (int, float), "text": str, "list": tuple, "flexible": str}
        if not isinstance(self.value, types[self.type]):  # type: ignore[arg-type]
            raise ValueError(f"value is no {self.type}")
        return self


def grade(answer: str, expected: Expected, *, units: frozenset[str] = frozenset()) -> bool:
    """Whether an answer is right.

    :param units: folded words that may follow a number; those of the question, so that
        "12.5 metres" answers a question for metres and "12.5 million" or "12.5 km" does not.
    """
    value = expected.value
    if expected.type == "flexible":
        return flexibly(answer, expected, units=units)
    if isinstance(value, tuple):
        return any(_same_items(items, value, expected, units) for items in _readings(answer))
    if fold(answer) == fold(str(value)):
        return True
    return not isinstance(value, str) and _close(answer, value, expected, units)


def flexibly(answer: str, expected: Expected, *, units: frozenset[str]) -> bool:
    """Whether an answer is right where only a text says what is.

    In this order: the same text without quotes and full stop; yes and no in other words; the same
    number, with a percentage and a fraction counting as the same where either has a sign or the
    question asks for one; the same list in any order; a formula with the same value.
    """
    right = str(expected.value)
    if _label(answer) == _label(right):
        return True
    if (said := _YES_NO.get(_label(right))) is not None:
        return _YES_NO.get(_label(answer)) == said
    wanted, given = numbers(_unquoted(right), units), numbers(_unquoted(answer), units)
    if wanted and given and units & _SHARES:
        given = tuple(number * scale for number in given for scale in (1, 100, Decimal("0.01")))
    if any(_within(number, value, expected) for number in given for value in wanted):
        return True
    items = [] if wanted else _flexible_items(right)  # 1,234 is a number, not a list
    if len(items) > 1 and _same_parts(_flexible_items(answer), items, expected, units):
        return True
    return same_formula(
        answer, right, abs_tol=float(expected.abs_tol), rel_tol=float(expected.rel_tol)
    )


def fold(text: str) -> str:
    """Case-folded, in one Unicode form, with single blanks."""
    return " ".join(unicodedata.normalize("NFC", text).casefold().split())


def numbers(text: str, units: frozenset[str] = frozenset()) -> tuple[Decimal, ...]:
    """What the whole text means as a number: nothing, one value, or two for a percentage
    (``12.5%`` is 12.5 of a hundred and 0.125)."""
    found = _NUMBER.fullmatch(fold(text.replace("\N{MINUS SIGN}", "-")))
    if found is None:
        return ()
    unit = found["unit"] or ""
    if unit and unit not in _SIGNS and (unit not in units or unit in _SCALES):
        return ()
    exponent = found["exponent"] or ""
    if len(exponent) > 5:
        return ()
    whole = re.sub(r"[,_ ]", "", found["whole"] or "")
    value = Decimal(f"{found['sign'] or ''}{whole}{found['fraction'] or ''}{exponent}")
    return (value, value / 100) if unit == "%" else (value,)


_NUMBER = re.compile(
    r"""(?P<sign>[-+])?\ ?[$€£¥]?\ ?
    (?=[0-9.]*[0-9])
    (?P<whole>[0-9]{1,3}(?:(?P<mark>[,_])[0-9]{3})(?:(?P=mark)[0-9]{3})*|[0-9]*)
    (?P<fraction>\.[0-9]*)?
    (?P<exponent>e[-+]?[0-9]+)?
    (?:\ ?(?P<unit>[%$€£¥]|[^\W\d_][^\s\d,;:]*?))?
    \.?""",
    re.VERBOSE,
)
_SIGNS = frozenset("%$€£¥")
# These change the value, so they are no unit even when the question holds the word.
_SCALES = frozenset(
    ("dozen", "hundred", "thousand", "million", "billion", "trillion", "percent", "k", "mn", "bn")
)


def _close(answer: str, value: int | float, expected: Expected, units: frozenset[str]) -> bool:
    return any(_within(number, value, expected) for number in numbers(answer, units))


_YES_NO = {
    **dict.fromkeys(("yes", "y", "true"), True),
    **dict.fromkeys(("no", "n", "false"), False),
}
# Words of a question for which 12.5 and 0.125 may be the same answer.
_SHARES = frozenset(
    ("percent", "percentage", "percentages", "fraction", "proportion", "share", "ratio", "%")
)
_QUOTES = "\"'`\u201c\u201d\u2018\u2019"


def _unquoted(text: str) -> str:
    return text.strip().strip(_QUOTES).strip()


def _label(text: str) -> str:
    return fold(_unquoted(_unquoted(text).removesuffix(".")))


def _flexible_items(text: str) -> list[str]:
    """Parts of a list: in brackets or not, between commas, semicolons or line breaks."""
    text = _unquoted(text)
    if text[:1] + text[-1:] in ("[]", "()", "{}"):
        text = text[1:-1]
    return [label for part in re.split(r"[,;\n]", text) if (label := _label(part))]


def _same_parts(
    given: Sequence[str], right: Sequence[str], expected: Expected, units: frozenset[str]
) -> bool:
    """Whether each right part has a given one of its own, by text or by number."""
    if len(given) != len(right):
        return False
    left = Counter(given)
    missing = [part for part in right if not _taken(left, part)]
    others = sorted(numbers(part, units)[:1] for part in left.elements())
    wanted = sorted(numbers(part, units)[:1] for part in missing)
    return all(
        bool(number) and bool(value) and _within(number[0], value[0], expected)
        for number, value in zip(others, wanted, strict=True)
    )


def _taken(left: Counter[str], part: str) -> bool:
    if left[part] < 1:
        return False
    left[part] -= 1
    return True


def _within(number: Decimal, value: int | float | Decimal, expected: Expected) -> bool:
    # In decimal, as the tolerance is written: 0.3 is within 0.1 of 0.2.
    right = Decimal(str(value))
    allowed = max(Decimal(str(expected.abs_tol)), Decimal(str(expected.rel_tol)) * abs(right))
    return abs(number - right) <= allowed


def _readings(answer: str) -> list[list[str]]:
    """The answer as a list, one item a line; a single line also as items between commas."""
    lines = [line for line in answer.splitlines() if line.strip()]
    readings = [lines] if len(lines) > 1 else [lines, answer.split(",")]
    return [
        [folded for part in parts if (folded := fold(part.strip().strip(",")))]
        for parts in readings
    ]


def _same_items(
    items: Sequence[str],
    value: Sequence[int | float | str],
    expected: Expected,
    units: frozenset[str],
) -> bool:
    left = Counter(items)
    left.subtract(fold(item) for item in value if isinstance(item, str))
    if any(count < 0 for count in left.values()):
        return False
    right = sorted(item for item in value if not isinstance(item, str))
    given: list[Decimal] = []
    for item in left.elements():
        meant = numbers(item, units)
        if not meant:
            return False
        given.append(meant[0])
    # On a line, the smallest with the smallest is a matching whenever there is one.
    return len(given) == len(right) and all(
        _within(number, wanted, expected)
        for number, wanted in zip(sorted(given), right, strict=True)
    )
