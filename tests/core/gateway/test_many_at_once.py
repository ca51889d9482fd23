"""Clients that all connect at one moment, before the gateway gets round to any of them."""

from __future__ import annotations

import socket
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from harness_adapters.gateway.guard.judge import Guard
from harness_adapters.gateway.server import Gateway
from harness_adapters.gateway.upstream import Upstream

CLIENTS = 500


@pytest.fixture
def short_path() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="ha-") as folder:
        yield Path(folder, "s")


async def test_a_burst_of_connections_is_not_refused(short_path: Path) -> None:
    upstream = Upstream("http://127.0.0.1:9")
    async with Gateway(upstream=upstream, guard=Guard(()), socket=short_path):
        with ExitStack() as stack:
            for _ in range(CLIENTS):
                client = stack.enter_context(socket.socket(socket.AF_UNIX))
                client.setblocking(False)
                client.connect(str(short_path))  # raises where the backlog is full
