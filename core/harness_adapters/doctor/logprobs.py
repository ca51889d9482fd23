"""Are logprobs processed, as training needs them, or raw?"""

from __future__ import annotations

from typing import Any

from harness_adapters.doctor.line import Line, fail, ok, warn
from harness_adapters.doctor.probe import EngineProbe, Json, complaint
from harness_adapters.errors import InfraError
from harness_adapters.gateway.raw_logprobs import FIX, TEMPERATURES, are_raw


class _Refused(InfraError):
    pass


async def check(engine: EngineProbe) -> list[Line]:
    async def ask(fields: dict[str, Any]) -> Json:
        status, reply = await engine.chat(**fields)
        if status != 200:
            raise _Refused(complaint(status, reply))
        return reply

    try:
        raw = await are_raw(ask)
    except _Refused as error:
        return [warn(f"no logprobs to compare: {error}", "see the engine's log")]
    if raw is None:
        return [
            warn(
                "logprobs cannot be told to be raw or processed: no token to compare",
                f"make sure of it: {FIX}",
            )
        ]
    if raw:
        cold, hot = TEMPERATURES
        return [
            fail(
                f"logprobs are raw: the same at temperature {cold} and {hot}",
                f"{FIX}; until then train on none of its sessions",
            )
        ]
    return [ok("logprobs are processed: they follow the temperature")]
