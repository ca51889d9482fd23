from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness_adapters.tasks.subject.report import OUTCOMES, TestReport, judge
from harness_adapters.tasks.subject.values import strict_loads

CANARY = "test_canary.py::test_canary"


def report(rows: dict[str, list[Any]], **changes: Any) -> bytes:
    rows = {CANARY: ["failed", "assert not True"], **rows}
    return json.dumps({"nonce": "n", "collected": list(rows), "results": rows} | changes).encode()


def judged(raw: bytes | None, *expected: str) -> TestReport:
    return judge(raw, nonce="n", canary=CANARY, expected=expected)


def test_results_count_when_all_is_in_order() -> None:
    found = judged(report({"a": ["passed", ""], "b": ["failed", "why"], "c": ["skipped", ""]}), "a")
    assert found.broke == ""
    assert found.results == {"a": "passed", "b": "failed"}
    assert found.reasons == {"b": "why"}
    assert found.not_passed == ("b",)


@pytest.mark.parametrize(
    "raw",
    [
        None,
        b"",
        b"{}",
        b"[]",
        b"\xff",
        b"[" * 100_000,
        b'{"nonce": NaN}',
        report({"a": ["passed", ""]})[:-1],
        report({"a": ["passed", ""]}) * 2,
        report({"a": ["passed", ""]}, nonce="other"),
        report({"a": ["passed", ""]}, nonce=None),
        report({"a": ["passed", ""]}, collected=["a", CANARY, "b"]),
        report({"a": ["passed", ""]}, collected=[["a"]]),
        report({"a": ["won", ""]}),
        report({"a": ["passed"]}),
        report({"a": ["passed", 3]}),
        report({"a": ["passed", ""], CANARY: ["passed", ""]}),
        report({"a": ["passed", ""], CANARY: ["error", ""]}),
        report({"a": ["passed", ""]}, results={"a": ["passed", ""]}, collected=["a"]),
        report({}),
        report({"a": ["skipped", ""]}),
    ],
)
def test_anything_out_of_order_does_not_count(raw: bytes | None) -> None:
    found = judged(raw)
    assert found.broke
    assert found.results == {}


def test_an_expected_test_must_have_run() -> None:
    assert judged(report({"a": ["passed", ""]}), "a", "b").broke == "no result for b"
    assert judged(report({"a": ["passed", ""], "b": ["skipped", ""]}), "b").broke


@given(st.binary())
def test_bytes_never_fault_and_never_count(raw: bytes) -> None:
    assert judged(raw).broke


@given(st.dictionaries(st.text(min_size=1), st.sampled_from(OUTCOMES)))
def test_a_report_is_read_as_it_was_written(outcomes: dict[str, str]) -> None:
    outcomes.pop(CANARY, None)
    found = judged(report({name: [outcome, ""] for name, outcome in outcomes.items()}))
    ran = {name: outcome for name, outcome in outcomes.items() if outcome != "skipped"}
    assert found.results == ran
    assert bool(found.broke) is not bool(ran)


@pytest.mark.parametrize(
    "text", ["NaN", "Infinity", "-Infinity", "1e999", "-1e999", '{"a": 1, "a": 2}', "[", "1 2", ""]
)
def test_only_strict_json_is_read(text: str) -> None:
    with pytest.raises(ValueError, match=r"."):
        strict_loads(text.encode())
    with pytest.raises(ValueError, match=r"."):
        strict_loads(f"[{text}]x".encode())


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=20,
)  # fmt: skip


@given(json_values)
def test_values_keep_their_exact_types(value: Any) -> None:
    found = strict_loads(json.dumps(value).encode())
    assert repr(found) == repr(value)  # 1, 1.0 and True are equal, but not the same
