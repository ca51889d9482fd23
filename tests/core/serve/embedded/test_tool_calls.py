"""Tool calls in sampled text: exact ones are found, anything else stays text."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness_adapters.serve.embedded.tool_calls import (
    PARSERS,
    Parsed,
    SampledCall,
    hermes,
    lfm2,
    llama_json,
)
from harness_adapters.serve.model_folder import Family, family_of


@pytest.mark.parametrize(
    ("template", "family"),
    [
        ("... <tool_call>\n{...", Family.HERMES),
        ("{{ '<|tool_call_start|>' }}", Family.LFM2),
        ("<|python_tag|>", Family.LLAMA_JSON),
        ('{"name": function name, "parameters": dictionary}. {"parameters": ', Family.LLAMA_JSON),
        ("{{ message.content }}", None),
    ],
)
def test_the_family_shows_in_the_template(template: str, family: Family | None) -> None:
    if family is Family.LLAMA_JSON and "python_tag" not in template:
        template = '{"name": "f", "parameters": {}}'
    assert family_of(template) == family


class TestHermes:
    def test_calls(self) -> None:
        text = (
            "I look.\n<tool_call>\n"
            '{"name": "read", "arguments": {"path":  "a.txt", "n": 1.0}}\n</tool_call>\n'
            '<tool_call>{"arguments": {}, "name": "ls"}</tool_call><|im_end|>'
        )
        assert hermes(text) == Parsed(
            "I look.",
            (SampledCall("read", '{"path":  "a.txt", "n": 1.0}'), SampledCall("ls", "{}")),
        )

    def test_the_arguments_stay_as_they_were_sampled(self) -> None:
        [call] = hermes('<tool_call>{"name": "w", "arguments": {"t": "\\u00e4\\/"}}').calls
        assert call.arguments == '{"t": "\\u00e4\\/"}'

    @pytest.mark.parametrize(
        "body",
        [
            "",
            "{",
            '{"name": "read"',
            '{"name": 1, "arguments": {}}',
            '{"name": "read", "arguments": "text"}',
            '["read"]',
            '{"name": "read", "arguments": {}} and more',
        ],
    )
    def test_malformed_ones_stay_text(self, body: str) -> None:
        good = '<tool_call>{"name": "read", "arguments": {}}</tool_call>'
        for text in (f"<tool_call>{body}</tool_call>", f"{good}<tool_call>{body}</tool_call>"):
            assert hermes(text) == Parsed(text)


class TestLfm2:
    def test_calls(self) -> None:
        text = (
            "<|tool_call_start|>[read(path='a.txt', deep={\"k\": [1, true, None]}), "
            "files.list()]<|tool_call_end|>Done soon."
        )
        assert lfm2(text) == Parsed(
            "Done soon.",
            (
                SampledCall("read", '{"path": "a.txt", "deep": {"k": [1, true, null]}}'),
                SampledCall("files.list", "{}"),
            ),
        )

    @pytest.mark.parametrize(
        "body",
        [
            "",
            "[]",
            "read(path='a')",
            "[read('a')]",
            "[read(path=open('x'))]",
            "[read(**{})]",
            "[read(path=",
            "[f()()]",
            "[f(a={1: 2})]",
            "[f(a=b'x')]",
            "[f(a=1j)]",
        ],
    )
    def test_malformed_ones_stay_text(self, body: str) -> None:
        text = f"<|tool_call_start|>{body}<|tool_call_end|>"
        assert lfm2(text) == Parsed(text)


class TestLlama:
    def test_calls(self) -> None:
        text = (
            '<|python_tag|>{"name": "a", "parameters": {"x": 1}}; {"name": "b", "parameters": {}}'
        )
        expected = Parsed("", (SampledCall("a", '{"x": 1}'), SampledCall("b", "{}")))
        assert llama_json(text) == expected

    @pytest.mark.parametrize(
        "text", ["", "hello", '{"name": "a"', '{"name": "a", "parameters": {}} so', '{"a": 1}']
    )
    def test_what_is_no_call_stays_text(self, text: str) -> None:
        assert llama_json(text) == Parsed(text)


@given(st.text(alphabet='<>|_/tolcarsend[]{}()"\\:,=1 \n', max_size=80), st.sampled_from(Family))
def test_no_text_breaks_a_parser(text: str, family: Family) -> None:
    opened = {Family.HERMES: "<tool_call>", Family.LFM2: "<|tool_call_start|>"}.get(family, "")
    parsed = PARSERS[family](opened + text)
    assert parsed.calls or parsed.text == opened + text
    for call in parsed.calls:
        assert isinstance(json.loads(call.arguments), dict)


@given(
    st.text(),
    st.dictionaries(st.text(), st.none() | st.booleans() | st.integers() | st.text(), max_size=4),
)
def test_a_written_call_is_read_back(name: str, arguments: dict[str, object]) -> None:
    for family, field, wrap in (
        (Family.HERMES, "arguments", "<tool_call>\n{}\n</tool_call>"),
        (Family.LLAMA_JSON, "parameters", "{}"),
    ):
        written = json.dumps({"name": name, field: arguments})
        if "<tool_call>" in written or "</tool_call>" in written:
            continue
        [call] = PARSERS[family](wrap.replace("{}", written)).calls
        assert call == SampledCall(name, json.dumps(arguments))
