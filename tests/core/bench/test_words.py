from __future__ import annotations

from itertools import islice

from harness_adapters.bench.words import (
    TALK,
    answer,
    grow,
    opening,
    prompt_ids,
    python_source,
    results,
    sampled_ids,
)


def test_a_growing_conversation_continues_what_was_sampled() -> None:
    """The engine must be exact, or captured sessions would be no single row."""
    messages = opening("a", 400)
    for result in islice(results("heredoc", 200), 4):
        before, said = prompt_ids(messages), answer(str(messages[-1]["content"]))
        grow(messages, result)
        sampled = sampled_ids(said)
        assert prompt_ids(messages)[: len(before) + len(sampled)] == before + sampled


def test_a_conversation_without_calls() -> None:
    messages = opening("a", 400, label=TALK)
    for said in islice(results(TALK, 200), 3):
        grow(messages, said)
    assert [message["role"] for message in messages[1:]] == ["user", "assistant"] * 3 + ["user"]
    assert not any("tool_calls" in message for message in messages)


def test_replies_depend_on_the_last_message_alone() -> None:
    assert answer("go") == answer("go")
    assert answer("go")["tool_calls"][0]["id"] != answer("went")["tool_calls"][0]["id"]
    told = answer("canary-7 1")["content"]
    assert told.count("canary-7") == told.count("canary-") > 10
    assert len(answer("heredoc 1")["tool_calls"][0]["function"]["arguments"]) > 20_000


def test_sources_are_real_code_of_the_size_asked_for() -> None:
    source = python_source("x", 2000)
    compile(source, "x", "exec")
    assert 2000 <= len(source) < 2600
