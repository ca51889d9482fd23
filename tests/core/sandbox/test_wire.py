from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness_adapters.sandbox.inside import wire

frames = st.lists(
    st.tuples(st.integers(0, 2**32 - 1), st.integers(0, 255), st.binary(max_size=200)), max_size=8
)


@given(frames, st.lists(st.integers(0, 2000), max_size=10))
def test_frames_survive_any_split(sent: list[wire.Frame], cuts: list[int]) -> None:
    stream = b"".join(wire.frame(*one) for one in sent)
    edges = [0, *sorted(min(cut, len(stream)) for cut in cuts), len(stream)]
    decoder = wire.Decoder()
    got: list[wire.Frame] = []
    for start, end in itertools.pairwise(edges):
        got += decoder.feed(stream[start:end])
    assert got == sent


@given(st.lists(st.binary(max_size=50), max_size=8))
def test_fields_survive(fields: list[bytes]) -> None:
    assert wire.unpack(wire.pack(*fields)) == fields


@given(st.binary(max_size=64))
def test_any_payload_is_fields_or_an_error(payload: bytes) -> None:
    try:
        fields = wire.unpack(payload)
    except wire.ProtocolError:
        return
    assert wire.pack(*fields) == payload


def test_a_frame_that_is_too_long_is_refused() -> None:
    header = wire.HEADER.pack(1, wire.DATA, wire.MAX_PAYLOAD + 1)
    with pytest.raises(wire.ProtocolError):
        list(wire.Decoder().feed(header))
