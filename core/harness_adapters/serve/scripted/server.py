"""Serving the scripted engine from a process: alone, or as somebody's child."""

from __future__ import annotations

import asyncio
import os
import sys
import threading
from collections.abc import Sequence
from pathlib import Path

import orjson
import uvloop
from aiohttp import web

from harness_adapters.errors import BadInput
from harness_adapters.serve.scripted.app import build_app
from harness_adapters.serve.scripted.plays import Play
from harness_adapters.serve.scripted.policy import Policy
from harness_adapters.tasks.bundle import load_tasks
from harness_adapters.types import Task


def serve(
    play: Play,
    roots: Sequence[Path],
    *,
    port: int,
    model: str,
    strict: bool = False,
    child: bool = False,
) -> None:
    """Serve until interrupted. Prints one JSON line with ``url``, ``port`` and ``tasks`` on
    standard output once it answers.

    :param port: 0 for any free one; always on the loopback interface.
    :param child: end when standard input does, as it does with the parent's life.
    :raises BadInput: a folder cannot be read, or the port is taken.
    """
    tasks: list[Task] = []
    for root in roots:
        found, broken = load_tasks(root)
        tasks += found
        for error in broken:
            print(f"ha: {error}", file=sys.stderr)
        if broken and not found:
            raise BadInput(f"{root}: no readable task")
    if child:
        threading.Thread(target=_end_with_parent, daemon=True).start()
    try:
        uvloop.run(_serve(build_app(Policy(tasks, play), model=model, strict=strict), port, tasks))
    except KeyboardInterrupt:
        pass


async def _serve(app: web.Application, port: int, tasks: Sequence[Task]) -> None:
    runner = web.AppRunner(app, access_log=None, handle_signals=False)
    await runner.setup()
    try:
        await web.TCPSite(runner, "127.0.0.1", port).start()
    except OSError as error:
        raise BadInput(f"port {port} cannot be used: {error.strerror}") from None
    port = runner.addresses[0][1]
    ready = {"url": f"http://127.0.0.1:{port}", "port": port, "tasks": len(tasks)}
    print(orjson.dumps(ready).decode(), flush=True)
    try:
        await asyncio.Event().wait()
    finally:
        await runner.cleanup()


def _end_with_parent() -> None:
    # Read the descriptor itself: an interpreter that shuts down must not find a lock held.
    while os.read(sys.stdin.fileno(), 4096):
        pass
    os._exit(0)
