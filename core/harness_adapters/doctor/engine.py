"""An engine, probed as a training run would use it."""

from __future__ import annotations

import aiohttp

from harness_adapters.doctor import context, logprobs, lora, tokens, tools
from harness_adapters.doctor.line import Line, Subject, fail, ok
from harness_adapters.doctor.probe import EngineProbe, NoAnswer
from harness_adapters.errors import BadInput
from harness_adapters.serve.engine import EngineSpec, open_engine

PROBES = (tokens.check, logprobs.check, tools.check, lora.check, context.check)
SECONDS = 120.0
FIX = "start the engine, or give the URL that an OpenAI-compatible one serves at"


async def check(subject: Subject) -> list[Line]:
    """Nothing without an engine. Opening it asks for its models."""
    if subject.engine is None:
        return []
    try:
        return await _probed(subject.engine)
    except BadInput as error:
        return [fail(str(error), FIX)]


async def _probed(spec: EngineSpec) -> list[Line]:
    async with open_engine(spec, tasks=()) as engine:
        found = [ok(f"{spec} serves {engine.model!r}")]
        timeout = aiohttp.ClientTimeout(total=SECONDS)
        async with aiohttp.ClientSession(timeout=timeout) as http:
            probe = EngineProbe(http, engine.url, engine.model, engine.api_key)
            for one in PROBES:
                try:
                    found += await one(probe)
                except NoAnswer as error:
                    found.append(fail(str(error), "look at the engine's own log"))
    return found
