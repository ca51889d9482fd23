"""The gateway of a benchmark: ``python -m harness_adapters.bench.proxy ENGINE_URL``.

As in training: every reply's tokens captured, every built-in guard on. Lines of input open and
close sessions and ask for what was captured.
"""

from __future__ import annotations

import asyncio
import gc
import sys
from array import array

import uvloop

from harness_adapters.bench.child import Json, answer_lines, say
from harness_adapters.bench.words import answer, sampled_ids
from harness_adapters.garbage import collect_rarely
from harness_adapters.gateway.server import Gateway
from harness_adapters.gateway.sessions import GatewaySession
from harness_adapters.gateway.upstream import Upstream
from harness_adapters.parts import make_guard
from harness_adapters.plugins import Plugins
from harness_adapters.types import Limits

LAG_STEP_SECONDS = 0.005
LIMITS = Limits(max_requests=1_000_000)


class Proxy:
    """Answers what the owner asks of a running gateway."""

    def __init__(self, gateway: Gateway) -> None:
        self._gateway = gateway
        self._sessions: list[GatewaySession] = []
        self._lags: list[float] = []
        self._sampler: asyncio.Task[None] | None = None

    async def answer(self, question: Json) -> Json:
        match question["do"]:
            case "open":
                return {"keys": [self._open() for _ in range(question["sessions"])]}
            case "close":
                return self._close()
            case "captured":
                return self._captured()
            case "check":
                return self._check()
            case "sample lag":
                self._lags.clear()
                self._sampler = asyncio.ensure_future(self._sample_lag())
                return {}
            case "lag":
                assert self._sampler is not None
                self._sampler.cancel()
                return {"lags": self._lags}
        raise ValueError(question["do"])

    def _open(self) -> str:
        session = self._gateway.open_session(model="m", limits=LIMITS, require_tokens=True)
        self._sessions.append(session)
        return session.key

    def _close(self) -> Json:
        for session in self._sessions:
            session.close()
        self._sessions.clear()
        gc.collect()
        return {}

    def _captured(self) -> Json:
        """How much all open sessions hold."""
        tokens = turns = 0
        for session in self._sessions:
            transcript = session.transcript()
            turns += len(transcript.turns)
            tokens += sum(len(t.new_prompt_ids) + len(t.sampled_ids) for t in transcript.turns)
        gc.collect()
        return {"sessions": len(self._sessions), "turns": turns, "unique_tokens": tokens}

    def _check(self) -> Json:
        """Each turn's sampled ids against what the engine says to that turn's last message."""
        compared = wrong = turns = inexact = 0
        for number, session in enumerate(self._sessions):
            transcript = session.transcript()
            inexact += not transcript.token_exact
            turns += len(transcript.turns)
            for turn in transcript.turns:
                asked = str(turn.new_messages[-1]["content"])
                expected = array("i", sampled_ids(answer(asked)))
                own = asked.startswith(f"canary-{number:05d}x")
                compared += len(expected)
                if turn.sampled_ids != expected or not own:
                    wrong += len(expected)
        return {"compared": compared, "wrong": wrong, "turns": turns, "inexact": inexact}

    async def _sample_lag(self) -> None:
        """How late the loop wakes up whoever asked to be woken."""
        clock = asyncio.get_running_loop().time
        while True:
            begun = clock()
            await asyncio.sleep(LAG_STEP_SECONDS)
            self._lags.append(clock() - begun - LAG_STEP_SECONDS)


async def serve(engine: str) -> None:
    guard = make_guard(Plugins.load())
    async with Gateway(upstream=Upstream(engine), guard=guard, port=0) as gateway:
        say({"url": gateway.url, "rules": [rule.name for rule in guard.rules]})
        await answer_lines(Proxy(gateway).answer)


if __name__ == "__main__":
    collect_rarely()
    uvloop.run(serve(sys.argv[1]))
