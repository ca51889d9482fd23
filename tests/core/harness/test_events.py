from __future__ import annotations

import itertools
import json

from hypothesis import given
from hypothesis import strategies as st

from harness_adapters.harness.events import LineSplitter, read_events


class Chunks:
    def __init__(self, chunks: list[bytes]) -> None:
        self._chunks = [chunk for chunk in chunks if chunk]

    async def read(self, n: int = -1) -> bytes:
        return self._chunks.pop(0) if self._chunks else b""


async def events(*chunks: bytes, max_line: int = 1000) -> list[object]:
    return [event async for event, _ in read_events(Chunks(list(chunks)), max_line=max_line)]


@given(
    lines=st.lists(st.binary(max_size=12).map(lambda line: line.replace(b"\n", b" "))),
    cuts=st.lists(st.integers(0, 100)),
)
def test_lines_do_not_depend_on_where_the_bytes_were_cut(
    lines: list[bytes], cuts: list[int]
) -> None:
    data = b"".join(line + b"\n" for line in lines)
    places = sorted({0, len(data), *(cut for cut in cuts if cut <= len(data))})
    splitter = LineSplitter(max_line=8)

    got: list[bytes] = []
    for start, end in itertools.pairwise(places):
        got += splitter.feed(data[start:end])
    got += splitter.end()

    assert got == [line for line in lines if len(line) <= 8]
    assert splitter.dropped == sum(len(line) > 8 for line in lines)


async def test_only_json_objects_are_events() -> None:
    noise = b"warning: x\n[1]\n\n\xff\xfe\n" + b"[" * 900 + b"\n" + b'{"torn": \n'

    assert await events(noise, b'{"a": 1}\n', b'{"b"', b": 2}") == [{"a": 1}, {"b": 2}]


async def test_a_line_that_never_ends_is_not_held() -> None:
    long = json.dumps({"x": "y" * 5000}).encode()

    assert await events(long[:2000], long[2000:], b"\n", b'{"next": 1}\n') == [{"next": 1}]
    splitter = LineSplitter(max_line=1000)
    for _ in range(100):
        assert splitter.feed(b"z" * 500) == []
    assert splitter.end() == []
    assert splitter.dropped == 1
