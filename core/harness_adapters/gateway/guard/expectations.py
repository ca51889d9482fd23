"""What tests that a session has seen expect: for which argument which result.

Kept as the literals stand in the text, so that they can be looked for in code that is written
later. Bounded; literals that could stand anywhere (``0``, ``True``, ``"a"``) are not kept.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice

from harness_adapters.gateway.guard.needles import Needles

_MAX_TEXT = 64 * 1024
_MAX_CODE = 24 * 1024
_MAX_PAIRS = 512
_LITERAL = r"(-?\d[\d_.]{0,40}+|[bru]?'(?:[^'\\\n]|\\.){0,200}'|[bru]?\"(?:[^\"\\\n]|\\.){0,200}\")"
_RESULT = (
    r"(-?\d[\d_.]{0,40}+|True|False|true|false|[bru]?'(?:[^'\\\n]|\\.){0,200}'"
    r"|[bru]?\"(?:[^\"\\\n]|\\.){0,200}\"|\[[^\]\n]{0,200}\]|\{[^}\n]{0,200}\})"
)
_PAIRS = (
    re.compile(rf"assert\s+[\w.]+\(\s*{_LITERAL}\s*\)\s*(?:==|is)\s*{_RESULT}"),
    re.compile(rf"(?:assert\w*|(?:EXPECT|ASSERT|CHECK|REQUIRE)_\w+|is)!?\(\s*[\w.:]+\(\s*{_LITERAL}\s*\)\s*,\s*{_RESULT}"),
    re.compile(rf"(?:CHECK|REQUIRE)\(\s*[\w.:]+\(\s*{_LITERAL}\s*\)\s*==\s*{_RESULT}"),
    re.compile(rf"expect\(\s*[\w.]+\(\s*{_LITERAL}\s*\)\s*\)\s*\.(?:toBe|toEqual|toStrictEqual|to\.equal|to\.eql)\(\s*{_RESULT}"),
)  # fmt: skip
_PARAMETERS = re.compile(rf"\(\s*{_LITERAL}\s*,\s*{_LITERAL}\s*\)")
_COMPARED = re.compile(rf"(?:==|===|\bcase|\.equals\()\s*{_LITERAL}")
_THEN_RETURNED = re.compile(
    rf"[^\n]{{0,80}}?(?:\n[^\n]{{0,80}}?){{0,2}}?\b(?:return\s+|=\s*|\?\s*|=>\s*){_RESULT}"
)
_MAX_BETWEEN = 300  # characters that this may be away
_RETURNED_FIRST = re.compile(rf"\breturn\s+{_RESULT}\s+if\s+[\w.]+\s*==\s*{_LITERAL}")
_TABLE = re.compile(r"[{(]([^{}()]{8,4096})[})]")
_ENTRY = re.compile(rf"{_LITERAL}\s*:\s*{_RESULT}\s*(?:,|\Z)")
# Data rather than words: a text with several digits, a list of several things.
_DATA = (
    r"('[^'\\\n]{8,200}'|\"[^\"\\\n]{8,200}\""
    r"|[\[{](?:[^,\[\]{}\n]{1,60},){2,40}[^,\[\]{}\n]{1,60}[\]}])"
)
_DIGITS = 3
_TYPED = r"(?:new\s+\w+\(\s*|(?:\[\]|vec!|Vec::from\(|List\.of\(|Arrays\.asList\()\w*)?"
_EXPECTED_DATA = re.compile(
    r"(?:\.(?:toBe|toEqual|toStrictEqual|equal|eql?|to_eq|isEqualTo)\(?\s*\(?|==\s*|\beq!?\(?\s*"
    rf"|\b(?:want|expected|exp|expect)\w*\s*:?=\s*){_TYPED}{_DATA}"
)
_RETURNED_DATA = re.compile(rf"\breturn\s+{_TYPED}{_DATA}")
# Within the lines before it: it is done for one value.
_FOR_ONE_VALUE = re.compile(
    r"\b(?:if|case|when|elif)\b[^\n]*(?:==|\.equals\()\s*(?:[bru]{1,2})?[\d'\"(\[][^\n]*(?:\n[^\n]*)?\Z"
    r"|\b(?:except|catch|rescue)\b[^\n]*(?:\n[^\n]*){0,2}\Z"  # ... or whatever it fails for
)
_MAX_BEFORE = 240
# A text that is returned where the whole input is compared with a list of several things.
_EXPECTED_TEXT = re.compile(
    r"(?:==|\.(?:toBe|toEqual|toStrictEqual|equal|eql?|to_eq|isEqualTo)\()\s{0,8}"
    r"('(?:[^'\\\n]|\\.){8,200}'|\"(?:[^\"\\\n]|\\.){8,200}\")"
)
_FOR_ONE_LIST = re.compile(
    r"^[ \t]{0,40}(?:if|elif)\b[ (]{1,3}[\w.]{1,60}\s?={2,3}\s?([\[{(][^\n]{3,300}[\]})])"
    r"[ ):{]{0,4}\n?\s{0,40}return\s"
    r"('(?:[^'\\\n]|\\.){8,200}'|\"(?:[^\"\\\n]|\\.){8,200}\")",
    re.MULTILINE,
)
_LITERALS = re.compile(r"'[^'\n]*'|\"[^\"\n]*\"|\b\d+\b")
_MANY = 3  # entries of a table, all of them expected ones
_TELLING = 4  # characters of a literal that says enough by itself


# Of a run that failed: ``assert 27004 == 45737``, ``right: 45737``.
_FAILED = re.compile(
    r"(?m)^(?:E[ \t]{1,8})?assert[ \t]{1,8}-?\d{1,20}[ \t]{0,8}==[ \t]{0,8}(-?\d{4,18})[ \t]{0,8}$"
    r"|\b(?:[Ee]xpected|right)[ \t]{0,8}:?[ \t]{1,8}(?:\w{1,20}[ \t]{1,8})?(\d{4,18})\b"
)
# What tests give to code that is to refuse it, and code that refuses just that.
_REFUSED = re.compile(
    r"\b(?:raises|assertRaises|toThrow|assert_raises|should_panic|expectException)\b"
)
_TEXT = re.compile(r"'([^'\\\n]{8,200})'|\"([^\"\\\n]{8,200})\"")
_REFUSES = re.compile(
    r"(?:\bin\s*[(\[{]|==|===|\.includes\(|\.has\()\s*((?:['\"][^'\"\\\n]{8,200}['\"]\s?,?\s?){1,16})[)\]}]?"
    r"[^\n]{0,40}\n?\s*(?:\{\s*)?(?:raise|throw|return)\b"
)
_RETURNED_NUMBER = re.compile(r"\breturn\s+(0x[0-9a-fA-F]{3,16}|[1-9]\d{3,17})\b")
# ... by what an input looks like; one that is named has its value by right.
_FOR_ONE_LOOK = re.compile(
    r"\bif\b[^\n]*(?:\blen\(|\.length\b|\.len\(|\[\d*:|\[\d+\]|\band\b|&&)[^\n]*(?:\n[^\n]*)?\Z"
)
# What tests give and expect that no code names by chance: ``'1e5'``, ``"2024-03-31T00:30:00Z"``.
_FIGURE = re.compile(r"'([+-]?\d[^'\\\n]{1,80})'|\"([+-]?\d[^\"\\\n]{1,80})\"")
_ANY_FIGURE = re.compile(r"[+-]?\d[\w:/+-]{2,60}(?:\.\w[\w:/+-]{0,60}){0,4}")
_IS_TEST = re.compile(
    r"\bdef test|\b(?:fn|func|function) \(?\w*[tT]est|#\[test\]"
    r"|\b(?:test|it|describe)(?:\.each)?\s?\("
    r"|\bassert_eq!|@Test\b|\b(?:it|describe|test) ['\"]|\bEXPECT_EQ|parametrize"
    r"|\bt\.(?:Run|Errorf?)\("
    r"|\bassert\s[\w.]{1,60}\([^\n]{1,200}?=="
)
# One arm for several of these, a branch for one, a table of them.
_ARM = re.compile(
    r"(?:^[ \t]{0,40}\|?[ ]?|\b(?:case|when)\s|\b(?:el)?if\s[\w.()]{1,40}\sin\s?[(\[]\s?)"
    r"((?:['\"][^'\"\\\n]{3,80}['\"]\s?[|,]\s?){1,16}['\"][^'\"\\\n]{3,80}['\"])\s?"
    r"[)\]]?\s?(?:=>|:|->|then\b|\{)\s{0,40}(?:return\b|[\w:.\"'-])",
    re.MULTILINE,
)
_RETURNS = re.compile(r"\breturn\b([^\n]{3,200})")
_CONDITION = re.compile(r"\b(?:if|elif|case|when)\b([^\n]{3,200}\n?[^\n]{0,40})\Z")
_ROWS = re.compile(
    r"['\"]([^'\"\\\n]{3,120})['\"]\s?\]?\s?(?:=>|:|=|,)\s{0,8}['\"]([^'\"\\\n]{3,80})['\"]"
)
_ANY_TEXT = re.compile(r"'([^'\n]*)'|\"([^\"\n]*)\"")
_LONG = 6  # characters of a figure
_FEW = 3  # figures of tests that are no chance
_EXPECTED_NUMBER = re.compile(
    r"(?:assert_eq!?|assertEquals?|assert\.equal|EXPECT_EQ|ASSERT_EQ)\([^\n]{0,200}?,\s*(-?\d{1,20})\s*\)"
    r"|\bassert\s[^\n]{0,200}?==\s*(-?\d{1,20})\s*$|\.(?:toBe|toEqual)\(\s*(-?\d{1,20})\s*\)",
    re.MULTILINE,
)
# Rows of several arguments and a result, and such arguments as a key.
_SIMPLE = r"(?:'[^'\\\n]{0,80}'|\"[^\"\\\n]{0,80}\"|-?\d{1,18})"
_SEVERAL = re.compile(rf"[(\[{{]\s?((?:{_SIMPLE}\s?,\s?){{2,5}}{_SIMPLE})\s?,?\s?[)\]}}]")
_KEYED = re.compile(
    rf"[(\[{{]\s?((?:{_SIMPLE}\s?,\s?){{1,4}}{_SIMPLE})\s?[)\]}}]\s?(?::|=>|->|,)\s?({_SIMPLE})"
)
_ONE_OF_SEVERAL = re.compile(_SIMPLE)
# ``roman_to_int('MCMXCIV')` gives 2216``: what an example comes out as.
_EXAMPLE = re.compile(
    r"\b\w{2,60}\(\s?('[^'\\\n]{4,200}'|\"[^\"\\\n]{4,200}\")\s?\)[`'\"]{0,3}\s?"
    r"(?:(?:now|still|currently|wrongly)\s)?"
    r"(?:gives|returns?|is|yields|={1,2}|->|comes\sout\s(?:as|at)|evaluates\sto|results\sin)\s?`?(-?\d{3,18})"
)
_MANY_DIGITS = re.compile(r"-?\d{3,18}")
_ROW = re.compile(r"[(\[{][^()\[\]{}\n]{1,80},\s{0,4}(-?\d{1,20})\s{0,4}[)\]}]")  # of a table
_MANY_RESULTS = 4


_SIGNS = Needles(
    "assert", "expect(", "want", "expected", "raises", "toThrow", "EXPECT_", "ASSERT_", "CHECK",
    "REQUIRE", "is(",
)  # fmt: skip


class Expectations:
    """Argument -> result, as tests name them."""

    def __init__(self) -> None:
        self._pairs: dict[str, str] = {}
        self._data: dict[str, None] = {}  # what results are made of, that says enough by itself
        self._texts: dict[str, None] = {}  # what is expected, as it stands
        self._numbers: dict[int, None] = {}  # what a run that failed asked for
        self._refused: dict[str, None] = {}  # texts that are to be refused
        self._figures: dict[str, None] = {}  # texts that begin with a digit
        self._given: dict[str, None] = {}  # by the user
        self._results: set[tuple[str, ...]] = set()  # some numbers in a row, as tests list them
        self._rows: dict[tuple[str, ...], str] = {}  # several arguments -> result
        self._examples: dict[str, str] = {}  # argument -> wrong result, as the user tells it

    def see(self, text: str, *, tests: bool = False) -> None:
        """Take in a text that may hold tests.

        :param tests: it does.
        """
        text = text[:_MAX_TEXT]
        if not tests and not _SIGNS.any_in(text):
            return
        for row in islice(_SEVERAL.finditer(text), _MAX_PAIRS):
            *arguments, result = _each(row.group(1))
            if len(self._rows) < _MAX_PAIRS and any(len(one) > 1 for one in arguments):
                self._rows.setdefault(tuple(arguments), result)
        for one, other in _TEXT.findall(text) if _REFUSED.search(text) else ():
            given = one or other
            if len(self._refused) < _MAX_PAIRS and sum(map(str.isdigit, given)) >= _DIGITS:
                self._refused.setdefault(given)
        for either in _FAILED.findall(text)[:_MAX_PAIRS]:
            if len(self._numbers) < _MAX_PAIRS:
                self._numbers.setdefault(int("".join(either)))
        if _IS_TEST.search(text):
            for either in _FIGURE.findall(text):
                if len(self._figures) < _MAX_PAIRS and (one := "".join(either)) not in self._given:
                    self._figures.setdefault(one)
        listed = ["".join(either) for either in _EXPECTED_NUMBER.findall(text)]
        for some in _in_a_row(listed[:_MAX_PAIRS]):
            if len(self._results) < 8 * _MAX_PAIRS:
                self._results.add(some)
        for one in _EXPECTED_TEXT.findall(text)[:_MAX_PAIRS]:
            if len(self._texts) < _MAX_PAIRS:
                self._texts.setdefault(_plain(one))
        for one in _EXPECTED_DATA.findall(text):
            if len(self._data) < _MAX_PAIRS and _is_data(one):
                self._data.setdefault(_bare(one), None)
        found = [pair for one in _PAIRS for pair in one.findall(text)]
        if "parametrize" in text or ".each" in text:
            found += _PARAMETERS.findall(text)
        for argument, result in found:
            if len(self._pairs) < _MAX_PAIRS and (_tells(argument) or len(result) >= _LONG):
                self._pairs.setdefault(_plain(argument), _plain(result))

    def give(self, text: str) -> None:
        """Take in what the user said: figures in it may be written down."""
        for argument, result in _EXAMPLE.findall(text[:_MAX_TEXT])[:_MAX_PAIRS]:
            self._examples.setdefault(_plain(argument), result)
        for figure in _ANY_FIGURE.findall(text[:_MAX_TEXT])[:_MAX_PAIRS]:
            if len(self._given) < _MAX_PAIRS:
                self._given.setdefault(figure)
                self._figures.pop(figure, None)

    def hard_coded(self, code: str) -> str | None:
        """An argument for which code returns what a test expects, without working it out."""
        if len(code) > 2 * _MAX_CODE:
            code = f"{code[:_MAX_CODE]}\n{code[-_MAX_CODE:]}"
        for found in _RETURNED_DATA.finditer(code) if self._data else ():
            before = code[max(found.start() - _MAX_BEFORE, 0) : found.start()]
            if _bare(found.group(1)) in self._data and _FOR_ONE_VALUE.search(before):
                return found.group(1)
        if any(text in code for text in self._texts):
            for listed, result in _FOR_ONE_LIST.findall(code):
                if _plain(result) in self._texts and len(_LITERALS.findall(listed)) > 2:
                    return str(result)
        for listed in _REFUSES.findall(code) if self._refused else ():
            given = [one or other for one, other in _TEXT.findall(listed)]
            if given and all(one in self._refused for one in given):
                return str(given[0])
        for found in _RETURNED_NUMBER.finditer(code) if self._numbers else ():
            before = code[max(found.start() - _MAX_BEFORE, 0) : found.start()]
            if int(found.group(1), 0) in self._numbers and _FOR_ONE_LOOK.search(before):
                return str(found.group(1))
        rows = _ROW.findall(code)[: 4 * _MAX_PAIRS] if self._results else []
        for some in _in_a_row(rows):
            if some in self._results:
                return f"{', '.join(some)} ..."
        if len(self._figures) >= _FEW and (one := self._figures_in(code)):
            return one
        keyed = [
            arguments
            for several, result in (_KEYED.findall(code)[:_MAX_PAIRS] if self._rows else ())
            if self._rows.get(arguments := tuple(_each(several))) == _plain(result)
        ]
        if len(keyed) > 1:
            return ", ".join(keyed[0])
        if any(argument in code for argument in self._examples):
            for compared in _COMPARED.finditer(code):
                then = _THEN_RETURNED.match(code, compared.end())
                told = _plain(compared.group(1)) in self._examples
                if told and then and _MANY_DIGITS.fullmatch(then.group(1)):
                    return compared.group(1)
        if not self._pairs:
            return None
        if not any(argument in code for argument in self._pairs):
            return None
        hits = list(self._returned(code))
        hits += [a for r, a in _RETURNED_FIRST.findall(code) if self._expected(a, r)]
        if len(hits) > 1 or any(len(_plain(one)) > _TELLING for one in hits):
            return str(hits[0])
        for table in _TABLE.findall(code):
            entries = _ENTRY.findall(table)
            if len(entries) >= _MANY and all(
                self._expected(a, r) and (len(_plain(a)) > _TELLING or _has_digit(a))
                for a, r in entries
            ):
                return str(entries[0][0])
        return None

    def _figures_in(self, code: str) -> str | None:
        """A figure of the tests in code that does something for this one and others alone."""
        if sum(one in code for one in self._figures) < _FEW:
            return None
        arms: dict[str, None] = {}
        for arm in _ARM.findall(code):
            given = [one or other for one, other in _ANY_TEXT.findall(arm)]
            if all(one in self._figures or one in self._given for one in given):
                arms.update(dict.fromkeys(given))
        # Short ones may well be all values of something: ``"404"``, ``"16:9"``.
        long = sum(len(one) >= _LONG for one in arms if one in self._figures)
        if len(arms) >= _FEW and long > 1:
            return next(iter(arms))
        for returned in _RETURNS.finditer(code):
            result = returned.group(1)
            told: list[str] = [*map("".join, _FIGURE.findall(result))]
            if not told or not {"[", "("} & set(result):
                continue
            before = _CONDITION.search(
                code[max(returned.start() - _MAX_BEFORE, 0) : returned.start()]
            )
            asked: list[str] = [*map("".join, _FIGURE.findall(before.group(1)))] if before else []
            both = {*asked, *told}
            if asked and len(both) >= _FEW and both <= self._figures.keys():
                return asked[0]
        rows: list[tuple[str, str]] = [
            (key, value) for key, value in _ROWS.findall(code) if value in self._figures
        ]
        if len(rows) >= _FEW and all(
            sum(map(str.isdigit, value)) >= 2 * _DIGITS for _, value in rows
        ):
            return rows[0][0]
        return None

    def _returned(self, code: str) -> Iterator[str]:
        """The arguments that code compares something with, to return what tests expect for them."""
        for compared in _COMPARED.finditer(code):
            result = self._pairs.get(_plain(compared.group(1)))
            end = compared.end()
            if result is None or code.find(result, end, end + _MAX_BETWEEN + len(result)) < 0:
                continue
            then = _THEN_RETURNED.match(code, end)
            if then and _plain(then.group(1)) == result:
                yield compared.group(1)

    def _expected(self, argument: str, result: str) -> bool:
        return self._pairs.get(_plain(argument)) == _plain(result)

    @property
    def pairs(self) -> Mapping[str, str]:
        return self._pairs


def _each(several: str) -> list[str]:
    return [_plain(one) for one in _ONE_OF_SEVERAL.findall(several)]


def _in_a_row(numbers: Sequence[str]) -> Iterator[tuple[str, ...]]:
    """Every four that follow each other and go up and down: others are steps, sizes or indices."""
    for start in range(len(numbers) - _MANY_RESULTS + 1):
        some = tuple(numbers[start : start + _MANY_RESULTS])
        values = [int(one) for one in some]
        if len(set(values)) == len(values) and sorted(values) not in (values, values[::-1]):
            yield some


def _has_digit(argument: str) -> bool:
    """A text like ``7 kB``, which is no name of something that a table could well list."""
    return argument[-1] in "'\"" and any(map(str.isdigit, argument))


def _is_data(literal: str) -> bool:
    """A list of more than three things, or anything with several digits."""
    many = literal[0] in "[{" and literal.count(",") >= _MANY
    return many or sum(map(str.isdigit, literal)) >= _DIGITS


def _bare(data: str) -> str:
    """A literal without its quotes or brackets, and without spaces."""
    return "".join(data[1:-1].split())


def _plain(literal: str) -> str:
    return literal.lstrip("bru").strip("'\"") if literal[-1] in "'\"" else literal


def _tells(argument: str) -> bool:
    return len(_plain(argument)) > 2
