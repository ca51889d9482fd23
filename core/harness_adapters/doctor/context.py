"""Is there room for a coding session?"""

from __future__ import annotations

from harness_adapters.doctor.line import Line, ok, warn
from harness_adapters.doctor.probe import EngineProbe

LEAST = 16_384  # the system prompts and tools of coding harnesses alone take up to 12k tokens
FIX = f"start the engine with a context of {LEAST} tokens or more (vLLM: --max-model-len)"


async def check(engine: EngineProbe) -> list[Line]:
    _, reply = await engine.get("/v1/models")
    cards = reply.get("data")
    card = next(
        (c for c in cards if isinstance(c, dict) and c.get("id") == engine.model)
        if isinstance(cards, list)
        else iter(()),
        {},
    )
    length = card.get("max_model_len")
    if not isinstance(length, int):
        return [warn("the context length is not listed", FIX)]
    if length < LEAST:
        return [warn(f"a context of {length} tokens is short for coding harnesses", FIX)]
    return [ok(f"context of {length} tokens")]
