"""Are logprobs those of the distribution that was sampled from, or raw ones?

Raw ones do not depend on the temperature. They look right and make every importance ratio wrong.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator, Mapping
from typing import Any

TEMPERATURES = (0.8, 1.6)
PROMPTS = (
    "Name a colour.",
    "Continue this sentence in your own words: The old lighthouse",
    "Give me a random word.",
)
CERTAIN = 1e-3  # a logprob nearer to 0 is the same at any temperature
SAME = 0.02  # numbers of one distribution differ by less than this share, even in bf16
FIX = "start vLLM with --logprobs-mode processed_logprobs"
Json = Mapping[str, Any]


async def are_raw(ask: Callable[[dict[str, Any]], Awaitable[Json]]) -> bool | None:
    """Ask the same at two temperatures, and compare the logprobs of the same tokens after the same
    prefix.

    :param ask: sends a chat completion with these fields, the model's name left out.
    :return: ``None`` when there is nothing to compare.
    """
    differences, sizes = 0.0, 0.0
    for prompt in PROMPTS:
        replies = [await ask(_request(prompt, temperature)) for temperature in TEMPERATURES]
        for one, other in _pairs(*replies):
            differences += abs(one - other)
            sizes += max(abs(one), abs(other))
    return differences < SAME * sizes if sizes else None


def _request(prompt: str, temperature: float) -> dict[str, Any]:
    return {
        "messages": [{"role": "user", "content": prompt}],
        "temperature": temperature,
        "seed": 7,
        "max_tokens": 16,
        "logprobs": True,
        "top_logprobs": 5,
    }


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
    alternatives = entry.get("top_logprobs")
    listed: list[Any] = [entry, *(alternatives if isinstance(alternatives, list) else ())]
    return {
        str(one["token"]): float(one["logprob"])
        for one in listed
        if isinstance(one, dict)
        and "token" in one
        and isinstance(one.get("logprob"), int | float)
        and one["logprob"] > -1000  # masked out: no number to compare
    }
