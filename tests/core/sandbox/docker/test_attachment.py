"""The engine's connection, with a made-up engine at its other end."""

from __future__ import annotations

import asyncio
import itertools
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from harness_adapters.sandbox.docker.attachment import Attachment
from harness_adapters.sandbox.inside import wire
from harness_adapters.sandbox.link import LinkLost


def piece(stream: int, content: bytes) -> bytes:
    return bytes([stream, 0, 0, 0]) + len(content).to_bytes(4, "big") + content


@asynccontextmanager
async def attached() -> AsyncIterator[tuple[Attachment, socket.socket]]:
    near, far = socket.socketpair()
    far.setblocking(False)
    attachment = Attachment(*await asyncio.open_unix_connection(sock=near))
    with far:
        try:
            yield attachment, far
        finally:
            attachment.kill()
            await attachment.wait()


@settings(max_examples=30)
@given(
    st.lists(st.tuples(st.sampled_from([1, 2]), st.binary(max_size=300)), max_size=8),
    st.lists(st.integers(0, 2500), max_size=8),
)
def test_streams_are_sorted_however_they_are_cut(
    pieces: list[tuple[int, bytes]], cuts: list[int]
) -> None:
    stream = b"".join(piece(*one) for one in pieces)

    async def sort() -> tuple[bytes, bytes]:
        async with attached() as (attachment, far):
            loop = asyncio.get_running_loop()
            edges = [0, *sorted(min(cut, len(stream)) for cut in cuts), len(stream)]
            for start, end in itertools.pairwise(edges):
                await loop.sock_sendall(far, stream[start:end])
            far.shutdown(socket.SHUT_WR)
            return await attachment.stdout.read(), await attachment.stderr.read()

    expected = tuple(b"".join(text for number, text in pieces if number == one) for one in (1, 2))
    assert asyncio.run(sort()) == expected


async def test_closing_its_input_leaves_what_the_container_still_says() -> None:
    async with attached() as (attachment, far):
        loop = asyncio.get_running_loop()
        attachment.write(b"last words")
        attachment.close()
        attachment.close()
        assert await loop.sock_recv(far, 100) == b"last words"
        assert await loop.sock_recv(far, 100) == b""
        await loop.sock_sendall(far, piece(1, b"heard"))
        far.close()
        assert await attachment.stdout.read() == b"heard"
        await attachment.wait()
        assert attachment.returncode == 0


@pytest.mark.parametrize("said", [b"", b"\x01\0\0", piece(1, b"cut off")[:-3], piece(9, b"x")])
async def test_an_engine_that_goes_away_or_talks_nonsense_is_the_end(said: bytes) -> None:
    async with attached() as (attachment, far):
        await asyncio.get_running_loop().sock_sendall(far, said)
        far.shutdown(socket.SHUT_WR)
        await attachment.wait()
        assert attachment.stdout.at_eof() or await attachment.stdout.read() == b"cut "


async def test_a_link_over_it_is_lost_with_it_and_can_be_closed() -> None:
    async with attached() as (attachment, far):
        link = attachment.link()
        waiting = asyncio.create_task(link.configure(b"what it is"))
        head = wire.frame(1, wire.CONFIGURE, b"what it is")
        assert await asyncio.get_running_loop().sock_recv(far, 100) == head
        await asyncio.get_running_loop().sock_sendall(far, piece(2, b"no python here\n"))
        far.close()
        with pytest.raises(LinkLost, match="no python here"):
            await waiting
        await link.close()
