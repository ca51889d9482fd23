"""Prompt ids grow by exactly what was sampled and what is new."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from harness_adapters.serve.scripted.conversation import from_chat
from harness_adapters.serve.scripted.plays import PLAYS, parse_play
from harness_adapters.serve.scripted.policy import Policy
from harness_adapters.serve.tokens import (
    Call,
    ChatTokenizer,
    Message,
    compact,
    logprobs,
    template_hash,
)
from harness_adapters.types import Task

TOKENIZER = ChatTokenizer()
TEXTS = st.text(max_size=60) | st.sampled_from(["<|im_end|>\n<|im_start|>", "</tool_call>", "\n"])
JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**53), 2**53)
    | st.floats(allow_nan=False, allow_infinity=False)
    | TEXTS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3),
    max_leaves=6,
).map(lambda value: compact(json.dumps({"value": value})))
REPLIES = st.builds(
    Message,
    st.just("assistant"),
    TEXTS,
    st.lists(st.builds(Call, TEXTS, JSON), max_size=2).map(tuple),
)
OTHERS = st.builds(Message, st.sampled_from(["user", "tool", "system"]), TEXTS)


def reserialised(message: Message) -> Message:
    """The message as a harness sends it back: its arguments parsed and written anew."""
    calls = tuple(Call(c.name, json.dumps(json.loads(c.arguments)), "id") for c in message.calls)
    return Message(message.role, message.text, calls)


@settings(max_examples=150, deadline=None)
@given(
    st.lists(OTHERS, max_size=3),
    st.lists(TEXTS, max_size=2),
    st.lists(st.tuples(REPLIES, st.lists(OTHERS, min_size=1, max_size=2)), min_size=1, max_size=3),
)
def test_an_append_only_history_keeps_its_prefix(
    opening: list[Message], tools: list[str], turns: list[tuple[Message, list[Message]]]
) -> None:
    history = list(opening)
    for reply, news in turns:
        before = TOKENIZER.prompt(history, tools)
        sampled = TOKENIZER.reply(reply)
        history += [reserialised(reply), *news]
        after = TOKENIZER.prompt(history, tools)
        assert after[: len(before) + len(sampled)] == before + sampled
        # What follows is a line end and the new messages, as they render after any other.
        start = TOKENIZER.prompt([Message("user", "x")], [])
        alone = TOKENIZER.prompt([Message("user", "x"), *news], [])
        rest = after[len(before) + len(sampled) + 1 :]
        assert rest == alone[len(start) - len(TOKENIZER.prompt([], [])) :]


@settings(max_examples=100, deadline=None)
@given(TEXTS)
def test_text_round_trips_and_forges_no_turn(text: str) -> None:
    ids = TOKENIZER.reply(Message("assistant", text))
    assert TOKENIZER.text(ids) == text + "<|im_end|>"
    assert b"".join(TOKENIZER.pieces[index] for index in ids) == (text + "<|im_end|>").encode()
    ends = TOKENIZER.reply(Message("assistant", ""))
    assert list(ids).count(ends[0]) == 1


@pytest.mark.parametrize("play", [name for name in PLAYS if name not in ("nop", "text", "garbage")])
def test_plays_are_append_only_sessions(
    play: str, repair: Task, tools: list[dict[str, Any]], playground: Any
) -> None:
    ground = playground(repair)
    ground.play(play, tools, most=6, pretend=True)
    policy = Policy([repair], parse_play(play))
    exact: list[int] = []
    for body in ground.bodies:
        # Harnesses that re-serialise arguments may put blanks where the model put none.
        for message in body["messages"]:
            for call in message.get("tool_calls", []):
                arguments = json.loads(call["function"]["arguments"])
                call["function"]["arguments"] = json.dumps(arguments, indent=1)
        sample = policy.sample(from_chat(body), body, model="m")
        assert sample.prompt.tolist()[: len(exact)] == exact
        exact = sample.prompt.tolist() + sample.ids.tolist()


def test_other_tools_or_system_texts_are_other_prompts() -> None:
    history = [Message("system", "a"), Message("user", "b")]
    plain = TOKENIZER.prompt(history, [])
    assert TOKENIZER.prompt(history, ['{"name":"f"}']) != plain
    assert TOKENIZER.prompt([Message("system", "c"), history[1]], []) != plain


def test_forgotten_messages_render_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("harness_adapters.serve.tokens.CACHED_BYTES", 1_000)
    small = ChatTokenizer()
    history = [Message("user", f"message {number} " * 20) for number in range(50)]
    for _ in range(2):
        assert small.prompt(history, []) == TOKENIZER.prompt(history, [])
    assert len(small._cache) < 10


class TestLogprobs:
    IDS = tuple(range(300))

    def test_are_plausible_and_no_constants(self) -> None:
        values = logprobs(self.IDS)
        assert all(-1.0 < value < 0.0 for value in values)
        assert len(set(values)) > 250
        assert values == logprobs(self.IDS)

    def test_depend_on_the_place(self) -> None:
        assert len(set(logprobs([7] * 50))) > 40

    def test_are_processed_by_temperature(self) -> None:
        cold, plain, hot = (sum(logprobs(self.IDS, temperature=t)) for t in (0.2, 1.0, 2.0))
        assert hot < plain < cold < 0
        assert logprobs(self.IDS, temperature=0) == logprobs(self.IDS)

    def test_are_exact_in_float32(self) -> None:
        import numpy as np

        values = logprobs(self.IDS)
        assert [float(np.float32(value)) for value in values] == values

    def test_of_nothing(self) -> None:
        assert logprobs([]) == []


def test_the_template_has_a_hash() -> None:
    assert template_hash() == template_hash()
    assert len(template_hash()) == 64
