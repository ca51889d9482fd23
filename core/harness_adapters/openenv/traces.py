"""Transcripts in the shape of ``openenv.core.harness.training.TrainingTrace``, version 1."""

from __future__ import annotations

from array import array
from typing import Any

from harness_adapters.gateway import forest
from harness_adapters.gateway.transcript import Transcript, Turn


def training_trace(transcript: Transcript) -> dict[str, Any]:
    """The turns that ``Transcript.rows`` trains on, each with its whole prompt.

    A turn has ``prompt_token_ids``, ``completion_token_ids``, ``per_token_logps`` (of the
    completion, at the sampling temperature), ``loss_mask`` (over prompt and completion) and a
    unique ``node_id``. Rewards are not part of the shape. Since each turn repeats its prompt, this
    grows with the square of a session's length; our own rows do not.

    :raises ValueError: the session is eval-only: the engine gave no ids to train on.
    """
    if not transcript.token_exact:
        raise ValueError("this session has no token ids to train on")
    ends: dict[int, array[int]] = {}  # prompt + sample, where a later turn continues it
    parents = {turn.parent for turn in transcript.turns}
    trained = set(forest.trained(transcript.turns))
    turns: list[dict[str, Any]] = []
    for turn in transcript.turns:
        prompt = array("i") if turn.parent is None else ends[turn.parent][:]
        prompt.extend(turn.new_prompt_ids)
        if turn.index in parents:
            ends[turn.index] = prompt + turn.sampled_ids
        if turn.index in trained:
            turns.append(_turn(turn, prompt))
    return {"schema_version": 1, "turns": turns}


def _turn(turn: Turn, prompt: array[int]) -> dict[str, Any]:
    sampled = len(turn.sampled_ids)
    return {
        "node_id": f"turn-{turn.index}",
        "prompt_token_ids": prompt.tolist(),
        "completion_token_ids": turn.sampled_ids.tolist(),
        # A probability of one comes as a logarithm just above zero from some engines.
        "per_token_logps": [min(0.0, value) for value in turn.logprobs],
        "loss_mask": [0] * len(prompt) + [1] * sampled,
        "response": {"choices": [{"message": turn.reply, "finish_reason": turn.finish}]},
        "metadata": {"index": turn.index, "model": turn.model},
    }
