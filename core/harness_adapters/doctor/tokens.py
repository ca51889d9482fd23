"""Exact token ids with each reply: without them a session cannot be trained on."""

from __future__ import annotations

from harness_adapters.doctor.line import Line, fail, ok, warn
from harness_adapters.doctor.probe import EngineProbe, complaint
from harness_adapters.gateway.capture import read_tokens
from harness_adapters.gateway.failures import WireError

HELLO = ({"role": "user", "content": "Count from one to five."},)


async def check(engine: EngineProbe) -> list[Line]:
    """Read as the gateway reads a turn."""
    status, reply = await engine.chat(HELLO)
    if status != 200:
        return [
            fail(f"a chat completion fails: {complaint(status, reply)}", "see the engine's log")
        ]
    try:
        tokens = read_tokens(reply)
    except WireError as error:
        return [
            warn(
                f"no exact tokens ({error}): sessions with this engine are eval-only",
                "for training use an engine with return_token_ids, such as vLLM",
            )
        ]
    return [ok(f"token ids and logprobs come back ({len(tokens.sampled)} sampled)")]
