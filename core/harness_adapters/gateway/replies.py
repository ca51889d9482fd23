"""What a session answers: the judged completion, or that its budget is used up."""

from __future__ import annotations

from typing import Any

from harness_adapters.gateway import notice
from harness_adapters.gateway.capture import Tokens
from harness_adapters.gateway.completions import Completion
from harness_adapters.gateway.dialects.base import Envelope, ModelReply
from harness_adapters.gateway.failures import Refused
from harness_adapters.gateway.judging import JudgedReply
from harness_adapters.gateway.main_loop import Awaits


async def budget_stop(envelope: Envelope) -> ModelReply:
    """A clean last word to a harness that has no requests left; it is no turn."""
    message = {"role": "assistant", "content": notice.BUDGET}
    usage = {"prompt_tokens": 0, "completion_tokens": 0, "total_tokens": 0}
    return ModelReply(envelope=envelope, message=message, finish="stop", usage=usage)


def used_up() -> Refused:
    """To one that does not take it for an answer."""
    return Refused(notice.BUDGET, status=429, code="budget_used_up")


def awaits(completion: Completion, judged: JudgedReply) -> Awaits:
    """What a harness does after this reply."""
    if judged.forwarded and not judged.malformed and completion.finish != "length":
        return Awaits.RESULTS
    if judged.forwarded or judged.notice or completion.finish not in ("stop", "tool_calls"):
        return Awaits.ANYTHING
    return Awaits.NOTHING if (completion.content or "").strip() else Awaits.ANYTHING


def compose(
    envelope: Envelope,
    completion: Completion,
    judged: JudgedReply,
    tokens: Tokens | None,
    *,
    turn: int,
) -> ModelReply:
    """The judged completion as the harness is to receive it."""
    content = completion.content
    if judged.notice is not None:
        content = notice.with_notice(content, judged.notice)
    message: dict[str, Any] = {"role": "assistant", "content": content, **completion.reasoning}
    finish = completion.finish
    if judged.forwarded:
        message["tool_calls"] = [call.wire() for call in judged.forwarded]
        finish = "length" if finish == "length" else "tool_calls"
    elif finish == "tool_calls":
        finish = "stop"
    usage = completion.usage
    if not usage and tokens is not None:
        prompt, sampled = len(tokens.prompt), len(tokens.sampled)
        usage = {
            "prompt_tokens": prompt,
            "completion_tokens": sampled,
            "total_tokens": prompt + sampled,
        }
    return ModelReply(
        envelope=envelope,
        message=message,
        finish=finish,
        usage=usage,
        stop_sequence=completion.stop_sequence,
        turn=turn,
    )
