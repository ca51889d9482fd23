"""An engine, probed as a training run would use it."""

from __future__ import annotations

import aiohttp

from harness_adapters.doctor import context, logprobs, lora, tokens, tools
from harness_adapters.doctor.line import Line, Subject, fail, ok
from harness_adapters.doctor.probe import EngineProbe, NoAnswer
from harness_adapters.serve.engine import open_engine

PROBES = (tokens.check, logprobs.check, tools.check, lora.check, context.check)
SECONDS = 120.0


async def check(subject: Subject) -> list[Line]:
    """Nothing without an engine. Opening it asks for its models."""
    if subject.engine is None:
        return []
    async with open_engine(subject.engine, tasks=()) as engine:
        found = [ok(f"{subject.engine} serves {engine.model!r}")]
        timeout = aiohttp.ClientTimeout(total=SECONDS)
        async with aiohttp.ClientSession(timeout=timeout) as http:
            probe = EngineProbe(http, engine.url, engine.model, engine.api_key)
            for one in PROBES:
                try:
                    found += await one(probe)
                except NoAnswer as error:
                    found.append(fail(str(error), "look at the engine's own log"))
    return found
