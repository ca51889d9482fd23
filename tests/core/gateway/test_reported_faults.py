"""Faults that were reported of other harness gateways: each that concerns this one has its tests.

A test names the faults that it covers in its documentation. The ids are those of the collection
that the right behaviours were taken from.
"""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from pathlib import Path

import pytest

TESTS = Path(__file__).resolve().parents[2]
ID = re.compile(r"\bRF\d\d\b")

FAULTS = {
    # token drift
    "RF01": "trained ids are the sampled ones, though the engine splits the same text otherwise",
    "RF02": "rows equal a full render, whatever a template puts after a turn",
    "RF03": "a training session refuses a reply without ids or logprobs",
    "RF04": "raw logprobs are found out, and nothing of such an engine is trained on",
    "RF05": "the logprob is the sampled token's own",
    "RF06": "results that come together are one suffix, as the engine rendered it",
    "RF07": "one request per turn; ids that contradict each other are refused",
    # streams and tool calls
    "RF08": "a client that leaves on the last event loses no turn",
    "RF09": "empty arguments are an empty object",
    "RF10": "malformed arguments are judged and scored, and end no session",
    "RF11": "the same calls and verdicts, streamed or not, in each dialect",
    "RF12": "real harnesses stream or do not, as they like",
    "RF13": "what harnesses send and engines refuse does not reach the engine",
    # sessions
    "RF14": "many sessions at once hold only their own words",
    "RF15": "a program that the agent starts is never trained on",
    "RF16": "a title request is a side request without trained tokens",
    "RF17": "a retry is replayed, the same request again is not",
    "RF18": "a system prompt that is rendered anew makes new roots, and no false merges",
    "RF19": "no service beyond loopback without a key of its own",
    # versions and limits
    "RF20": "a turn names the adapter that it started with",
    "RF27": "every request to the engine names the session's adapter",
    "RF33": "a harness that loops is ended cleanly, and no turn is made up",
    "RF34": "a connection that the engine closed while idle is not seen by the harness",
    # memory and rows
    "RF38": "no row holds a logprob that is no number where it is trained",
    "RF39": "a session without turns makes no row",
    "RF42": "a session holds at most 24 bytes a token and a megabyte",
    "RF43": "an append-only session is one row of its final length",
}


def covered() -> dict[str, list[str]]:
    """Fault -> the tests that name it."""
    found: dict[str, list[str]] = defaultdict(list)
    for path in sorted(TESTS.rglob("test_*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name.startswith(
                "test_"
            ):
                for fault in ID.findall(ast.get_docstring(node) or ""):
                    found[fault].append(f"{path.relative_to(TESTS)}::{node.name}")
    return found


@pytest.fixture(scope="module")
def tests_by_fault() -> dict[str, list[str]]:
    return covered()


@pytest.mark.parametrize("fault", FAULTS)
def test_each_reported_fault_has_a_test(fault: str, tests_by_fault: dict[str, list[str]]) -> None:
    assert tests_by_fault.get(fault), f"no test names {fault}: {FAULTS[fault]}"
