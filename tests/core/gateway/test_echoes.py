"""Calls that come back from a harness, with the model's own text put back."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.core.gateway.conftest import Wire, call

from harness_adapters.gateway.echoes import SampledCalls

SAMPLED = '{"b":  1,\n"a": "\\u00e9"}'


def calls_with(*sampled: str) -> SampledCalls:
    calls = SampledCalls()
    for raw in sampled:
        calls.add({"role": "assistant", "content": None, "tool_calls": [call(raw)]})
    return calls


def echoed(arguments: Any, **more: Any) -> Wire:
    return {"role": "assistant", "content": "x", "tool_calls": [call(arguments, **more)]}


@pytest.mark.parametrize(
    "echo", [SAMPLED, '{"a":"é","b":1}', '{"b": 1, "a": "\\u00e9"}', ' {"b":1.0,"a":"é"}']
)
def test_the_sampled_text_is_put_back(echo: str) -> None:
    calls = calls_with(SAMPLED, '{"other": 1}')  # engines may use an id twice
    for _ in range(2):
        (restored,) = calls.restore([echoed(echo)])
        assert restored == echoed(SAMPLED if "1.0" not in echo else echo)


@pytest.mark.parametrize("echo", ['{"b": 2, "a": "é"}', "{}", "", "{", '{"b": 1}', None, 5])
def test_what_says_something_else_stays(echo: Any) -> None:
    message = echoed(echo)
    assert calls_with(SAMPLED).restore([message])[0] is message


def test_another_call_with_the_same_arguments_stays() -> None:
    message = echoed('{"a":"é","b":1}', id="call_2")
    assert calls_with(SAMPLED).restore([message])[0] is message


@pytest.mark.parametrize("listed", ["x", {"a": 1}, [1], [{}], [{"id": 1, "function": 2}]])
def test_calls_of_any_shape_pass(listed: Any) -> None:
    message = {"role": "assistant", "tool_calls": listed}
    assert calls_with(SAMPLED).restore([message])[0] is message


@given(st.text(max_size=20), st.text(max_size=20))
def test_texts_of_any_kind_pass(sampled: str, echo: str) -> None:
    message = echoed(echo)
    assert calls_with(sampled).restore([message]) == [message]
