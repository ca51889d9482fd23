from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.core.gateway.interactive.conftest import splits

from harness_adapters.gateway.failures import UpstreamError
from harness_adapters.gateway.interactive.sse import SseEvent, SseParser, encode


def parse(chunks: list[bytes]) -> list[SseEvent]:
    parser = SseParser()
    found = [event for chunk in chunks for event in parser.feed(chunk)]
    return found + parser.end()


names = st.text(st.characters(codec="utf-8", exclude_characters="\r\n"), max_size=8)
lines = st.text(st.characters(codec="utf-8", exclude_characters="\r\n"), max_size=12)
events = st.lists(st.tuples(names, st.lists(lines, min_size=1, max_size=3)), max_size=5)
cuts = st.lists(st.integers(0, 400), max_size=12)


@given(events, st.sampled_from(["\n", "\r\n", "\r"]), cuts, st.booleans())
def test_events_survive_any_line_ending_and_any_split(
    sent: list[tuple[str, list[str]]], newline: str, where: list[int], comments: bool
) -> None:
    text = ""
    for name, data in sent:
        rows = [f"event: {name}"] if name else []
        rows += [": a comment", "retry: 5", "unknown"] if comments else []
        rows += [f"data: {line}" for line in data]
        text += "".join(row + newline for row in [*rows, ""])
    expected = [SseEvent(name, "\n".join(data).encode()) for name, data in sent]
    assert parse(splits(text.encode(), where)) == expected


@given(st.binary(max_size=200), cuts)
def test_the_split_never_matters_whatever_the_bytes(raw: bytes, where: list[int]) -> None:
    assert parse(splits(raw, where)) == parse([raw])


@given(st.binary(max_size=60).map(lambda raw: raw.replace(b"\r", b"").replace(b"\n", b"")))
def test_what_is_written_is_read_back(data: bytes) -> None:
    assert parse([encode(data, "x")]) == [SseEvent("x", data)]


def test_a_byte_order_mark_a_missing_space_and_a_missing_end() -> None:
    assert parse([b"\xef\xbb", b"\xbfdata:one\n\ndata: two"]) == [
        SseEvent("", b"one"),
        SseEvent("", b"two"),
    ]


def test_events_are_bounded_also_without_a_line_end() -> None:
    for piece in (b"data: " + b"x" * 40, b"data: xxxxx\n" * 8):
        parser = SseParser(limit=40)
        with pytest.raises(UpstreamError, match="more than 40 bytes"):
            for _ in range(3):
                parser.feed(piece)


@pytest.mark.parametrize("name", ["ping\ndata: {}", "ping\rdata: {}", "\ud800", "caf\xe9"])
def test_a_name_that_could_smuggle_in_an_event_is_refused(name: str) -> None:
    with pytest.raises(UpstreamError, match="name"):
        encode(b"{}", name)
