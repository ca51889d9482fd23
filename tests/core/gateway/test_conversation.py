"""New messages of requests that grow, repeat, branch, or share nothing."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from harness_adapters.gateway.conversation import Conversations


def take(conversations: Conversations, words: str) -> str:
    messages: list[dict[str, Any]] = [{"role": "user", "content": word} for word in words]
    continued = conversations.find(messages)
    conversations.add(messages, continued)
    return "".join(message["content"] for message in messages[continued.length :])


def test_growing_repeating_branching() -> None:
    conversations = Conversations()
    words = ["ab", "abc", "abc", "ab", "abXY", "abXYZ", "abcd", "q", "qr", ""]
    new = [take(conversations, word) for word in words]
    assert new == ["ab", "c", "", "", "XY", "Z", "d", "q", "r", ""]


@given(st.lists(st.text("ab", max_size=5), max_size=12))
def test_new_is_what_follows_the_longest_known_prefix(requests: list[str]) -> None:
    conversations = Conversations()
    for number, words in enumerate(requests):
        known = [
            size
            for earlier in requests[:number]
            for size in range(len(words) + 1)
            if earlier[:size] == words[:size]
        ]
        assert take(conversations, words) == words[max(known, default=0) :]
