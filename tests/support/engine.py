"""A scripted engine whose policy runs the shell commands that a test gives it."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from aiohttp import web

from harness_adapters.serve.scripted.app import build_app
from harness_adapters.serve.scripted.conversation import Conversation
from harness_adapters.serve.scripted.plays import Play
from harness_adapters.serve.scripted.policy import Policy
from harness_adapters.serve.scripted.vocabulary import Shell, Vocabulary
from harness_adapters.serve.tokens import Message


class Commands(Policy):
    """One shell call per command, then a final word.

    :param chokes_on: a word; a request in which somebody else than the policy says it gets 500.
    """

    def __init__(self, commands: Sequence[str], chokes_on: str = "") -> None:
        super().__init__([], Play("nop"))
        self._commands = commands
        self._chokes_on = chokes_on

    def reply(self, conversation: Conversation) -> Message:
        said = (message.text for message in conversation.messages if message.role != "assistant")
        if self._chokes_on and any(self._chokes_on in text for text in said):
            raise web.HTTPInternalServerError
        step = sum(len(message.calls) for message in conversation.messages)
        if step >= len(self._commands):
            return Message("assistant", "I am done.")
        calls = Vocabulary(conversation.tools, "/work").calls(Shell(self._commands[step]))
        return Message("assistant", "I will run a command.", tuple(calls))


@contextmanager
def engine_that_runs(*commands: str, chokes_on: str = "") -> Iterator[str]:
    """Its URL. It serves from a thread of its own, since ``ha.run`` blocks the caller's."""
    loop = asyncio.new_event_loop()
    runner = web.AppRunner(build_app(Commands(commands, chokes_on), model="scripted"))

    async def start() -> int:
        await runner.setup()
        site = web.TCPSite(runner, "127.0.0.1", 0)
        await site.start()
        (address,) = runner.addresses
        return int(address[1])

    thread = threading.Thread(target=loop.run_forever)
    thread.start()
    try:
        port = asyncio.run_coroutine_threadsafe(start(), loop).result(10)
        yield f"http://127.0.0.1:{port}"
    finally:
        asyncio.run_coroutine_threadsafe(runner.cleanup(), loop).result(10)
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()
