"""Are logprobs those of the distribution that was sampled from, or raw ones?

Raw ones do not depend on the temperature. They look right and make every importance ratio wrong.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from harness_adapters.doctor.line import Line, fail, ok, warn
from harness_adapters.doctor.probe import EngineProbe, Json, complaint

TEMPERATURES = (0.8, 1.6)
PROMPTS = (
    "Name a colour.",
    "Continue this sentence in your own words: The old lighthouse",
    "Give me a random word.",
)
CERTAIN = 1e-3  # a logprob nearer to 0 is the same at any temperature
SAME = 0.02  # numbers of one distribution differ by less than this share, even in bf16
FIX = "start vLLM with --logprobs-mode processed_logprobs; until then train on none of its sessions"


async def check(engine: EngineProbe) -> list[Line]:
    """Ask the same at two temperatures, and compare the logprobs of the same tokens after the same
    prefix."""
    differences, sizes = 0.0, 0.0
    for prompt in PROMPTS:
        replies = []
        for temperature in TEMPERATURES:
            status, reply = await engine.chat(
                [{"role": "user", "content": prompt}],
                temperature=temperature,
                seed=7,
                max_tokens=16,
                top_logprobs=5,
            )
            if status != 200:
                said = complaint(status, reply)
                return [warn(f"no logprobs to compare: {said}", "see the engine's log")]
            replies.append(reply)
        for one, other in _pairs(*replies):
            differences += abs(one - other)
            sizes += max(abs(one), abs(other))
    if not sizes:
        return [
            warn(
                "logprobs cannot be told to be raw or processed: no token to compare",
                "make sure that vLLM runs with --logprobs-mode processed_logprobs",
            )
        ]
    if differences < SAME * sizes:
        cold, hot = TEMPERATURES
        return [fail(f"logprobs are raw: the same at temperature {cold} and {hot}", FIX)]
    return [ok("logprobs are processed: they follow the temperature")]


def _pairs(one: Json, other: Json) -> Iterator[tuple[float, float]]:
    """Logprobs of one token at the same place, as long as what was sampled before is the same."""
    for left, right in zip(_entries(one), _entries(other), strict=False):
        known = _by_token(right)
        for token, value in _by_token(left).items():
            against = known.get(token)
            if against is not None and min(value, against) < -CERTAIN:
                yield value, against
        if left.get("token") != right.get("token"):
            return


def _entries(reply: Json) -> list[Json]:
    choices = reply.get("choices")
    choice = choices[0] if isinstance(choices, list) and choices else None
    logprobs = choice.get("logprobs") if isinstance(choice, dict) else None
    content = logprobs.get("content") if isinstance(logprobs, dict) else None
    return [e for e in content if isinstance(e, dict)] if isinstance(content, list) else []


def _by_token(entry: Json) -> dict[str, float]:
    listed: list[Any] = [entry, *(entry.get("top_logprobs") or [])]
    return {
        str(one["token"]): float(one["logprob"])
        for one in listed
        if isinstance(one, dict)
        and "token" in one
        and isinstance(one.get("logprob"), int | float)
        and one["logprob"] > -1000  # masked out: no number to compare
    }
