"""Ranges of versions."""

import operator
import re
from dataclasses import dataclass

from verrange.version import Version, VersionError

_OPERATORS = {
    ">=": operator.ge,
    "<=": operator.le,
    ">": operator.gt,
    "<": operator.lt,
    "=": operator.eq,
}
_TERM = re.compile(r"(?P<sign>>=|<=|>|<|=|\^|~)?\s*v?(?P<version>[0-9xX*][^\s]*)")
_PARTIAL = re.compile(r"(\d+|[xX*])(?:\.(\d+|[xX*]))?(?:\.(\d+|[xX*]))?(?P<rest>[-+].+)?")


class RangeError(ValueError):
    """The text is no range."""


@dataclass(frozen=True)
class Comparison:
    sign: str
    version: Version

    def holds(self, version):
        return _OPERATORS[self.sign](version, self.version)


class Range:
    """Alternatives, each a list of comparisons that must all hold."""

    def __init__(self, text):
        self.text = text
        self._alternatives = [_alternative(part, text) for part in text.split("||")]

    def __contains__(self, version):
        return any(_all_hold(comparisons, version) for comparisons in self._alternatives)


def _all_hold(comparisons, version):
    if not all(comparison.holds(version) for comparison in comparisons):
        return False
    return not version.pre or any(
        comparison.version.pre and comparison.version.release == version.release
        for comparison in comparisons
    )


def _alternative(text, whole):
    comparisons = []
    position = 0
    text = text.strip()
    while position < len(text):
        found = _TERM.match(text, position)
        if found is None:
            raise RangeError(f"not a range: {whole!r}")
        comparisons += _comparisons(found["sign"] or "", found["version"], whole)
        position = found.end()
        while position < len(text) and text[position] in " ,":
            position += 1
    return comparisons


def _comparisons(sign, text, whole):
    text = text.rstrip(",")
    numbers, version = _partial(text, whole)
    if not numbers:
        return []
    at_least = Comparison(">=", version)
    if sign == "^":
        return [at_least, Comparison("<", _after_caret(numbers))]
    if sign == "~":
        return [at_least, Comparison("<", _next(numbers[:2]))]
    if len(numbers) == 3:
        return [Comparison(sign or "=", version)]
    # Less than three numbers stand for all the versions that begin so.
    above = _next(numbers)
    return {
        ">=": [at_least],
        "<": [Comparison("<", version)],
        ">": [Comparison(">=", above)],
        "<=": [Comparison("<", above)],
    }.get(sign, [at_least, Comparison("<", above)])


def _partial(text, whole):
    """The numbers given, up to the first ``x``, and the lowest version that begins so."""
    found = _PARTIAL.fullmatch(text)
    if found is None:
        raise RangeError(f"not a range: {whole!r}")
    numbers = []
    for part in found.group(1, 2, 3):
        if part is None or part in "xX*":
            break
        numbers.append(int(part))
    padded = ".".join(map(str, [*numbers, 0, 0, 0][:3]))
    rest = (found["rest"] or "") if len(numbers) == 3 else ""
    try:
        return numbers, Version.parse(padded + rest)
    except VersionError as error:
        raise RangeError(str(error)) from None


def _after_caret(numbers):
    for position, number in enumerate(numbers):
        if number:
            return _next(numbers[: position + 1])
    return _next(numbers)


def _next(numbers):
    """The lowest release above all versions that begin with ``numbers``."""
    return Version(*[*numbers[:-1], numbers[-1] + 1, 0, 0, 0][:3])
