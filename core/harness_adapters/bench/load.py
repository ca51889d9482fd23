"""The harnesses of a benchmark: ``python -m harness_adapters.bench.load``.

Each line of input names a load and the sessions to put it on; each line of output gives what it
took. Latencies are in seconds, from writing the request to the last byte of the reply.
"""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

import aiohttp
import uvloop

from harness_adapters.bench.child import Json, answer_lines, say
from harness_adapters.bench.words import CALL, HEREDOC, TOOL, Message, grow, opening, results

TIMEOUT_SECONDS = 120.0


@dataclass(frozen=True)
class Ask:
    """Sends requests of one session.

    :param ids: ask for token ids and logprobs, which the gateway asks for by itself.
    """

    http: aiohttp.ClientSession
    url: str
    key: str
    ids: bool

    async def __call__(
        self, messages: list[Message], *, stream: bool = False
    ) -> tuple[float, bytes]:
        body: dict[str, Any] = {
            "model": "m",
            "messages": messages,
            "tools": [TOOL],
            "max_tokens": 512,
            "temperature": 0.8,
        }
        if self.ids:
            body |= {"return_token_ids": True, "logprobs": True}
        if stream:
            body["stream"] = True
        headers = {"Authorization": f"Bearer {self.key}", "Content-Type": "application/json"}
        begun = time.perf_counter()
        async with self.http.post(
            f"{self.url}/v1/chat/completions", data=json.dumps(body), headers=headers
        ) as response:
            raw = await response.read()
            if response.status != 200:
                raise RuntimeError(f"status {response.status}: {raw[:200]!r}")
        return time.perf_counter() - begun, raw


async def short_calls(asks: list[Ask], load: Json) -> Json:
    """One after the other, each with a prompt of about 2k tokens: sessions of ``turns`` turns, of
    which the first session only warms up. ``label`` picks the replies (see ``words.answer``)."""
    times: list[float] = []
    for number, ask in enumerate(asks):
        messages = opening(f"{number:04d}", 7000, label=load["label"])
        for _, result in zip(range(load["turns"]), results(load["label"], 120), strict=False):
            took, _ = await ask(messages)
            times.append(took)
            grow(messages, result)
    return {"times": times[load["turns"] :], "requests": len(times)}


async def growing(asks: list[Ask], load: Json) -> Json:
    """All sessions at once, each with a history that grows by ``add`` characters a turn. ``label``
    picks the replies, except that of 20 KB files one is written every fourth turn."""
    times: list[float] = []

    async def session(number: int, ask: Ask) -> None:
        messages = opening(f"{number:04d}", 4000, label=load["label"])
        for turn, result in zip(
            range(load["turns"]), results(f"{load['label']}{number:04d}", load["add"]), strict=False
        ):
            took, _ = await ask(messages)
            times.append(took)
            grow(messages, result if turn % 4 == 3 else result.removeprefix(HEREDOC))

    begun = time.perf_counter()
    await asyncio.gather(*(session(number, ask) for number, ask in enumerate(asks)))
    return {"times": times, "requests": len(times), "seconds": time.perf_counter() - begun}


async def long_session(asks: list[Ask], load: Json) -> Json:
    """One session that grows to ``characters``; only its last turns count. A call in each reply."""
    turns = load["turns"]
    messages = opening("long", 8000)
    times = []
    for _, result in zip(range(turns), results(CALL, load["characters"] // turns), strict=False):
        took, _ = await asks[0](messages)
        times.append(took)
        grow(messages, result)
    return {"times": times[-load["counted"] :], "requests": turns}


async def streams(asks: list[Ask], load: Json) -> Json:
    """One streamed call of each session, all at once."""
    errors: list[str] = []

    async def one(number: int, ask: Ask) -> float:
        try:
            took, raw = await ask([{"role": "user", "content": f"x{number}" * 200}], stream=True)
            if b"[DONE]" not in raw or b"error" in raw[-300:]:
                errors.append(f"no proper end: {raw[-200:]!r}")
            return took
        except (aiohttp.ClientError, OSError, RuntimeError, TimeoutError) as error:
            errors.append(f"{type(error).__name__}: {error}")
            return TIMEOUT_SECONDS

    times = await asyncio.gather(*(one(number, ask) for number, ask in enumerate(asks)))
    return {"times": times, "requests": len(times), "errors": errors}


async def canaries(asks: list[Ask], load: Json) -> Json:
    """Sessions at once, of which each must be told its own word and no other's."""
    leaks: list[str] = []

    async def session(number: int, ask: Ask) -> None:
        word = f"canary-{number:05d}x"
        messages: list[Message] = [{"role": "user", "content": word}]
        for turn in range(load["turns"]):
            _, raw = await ask(messages)
            own = raw.count(word.encode())
            if own < 10 or raw.count(b"canary-") != own:
                leaks.append(f"{word}, turn {turn}: {raw[:120]!r}")
            grow(messages, f"{word} {turn}")

    await asyncio.gather(*(session(number, ask) for number, ask in enumerate(asks)))
    return {"leaks": leaks}


LOADS: dict[str, Callable[[list[Ask], Json], Awaitable[Json]]] = {
    "short calls": short_calls,
    "growing": growing,
    "long session": long_session,
    "streams": streams,
    "canaries": canaries,
}


async def put(load: Json) -> Json:
    """Connections are new for each load, so that no target has warm ones from another."""
    async with aiohttp.ClientSession(
        connector=aiohttp.TCPConnector(limit=0),
        timeout=aiohttp.ClientTimeout(total=TIMEOUT_SECONDS),
    ) as http:
        asks = [Ask(http, url, key, load["ids"]) for url, key in load["sessions"]]
        try:
            return await LOADS[load["load"]](asks, load)
        except (aiohttp.ClientError, OSError, RuntimeError, TimeoutError) as error:
            return {"failed": f"{type(error).__name__}: {error}"}


async def serve() -> None:
    say({})
    await answer_lines(put)


if __name__ == "__main__":
    uvloop.run(serve())
