"""Training traces against our own rows, and against the package whose shape they have."""

from __future__ import annotations

from array import array
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from harness_adapters.gateway.forest import Forest
from harness_adapters.gateway.transcript import Transcript, Turn
from harness_adapters.openenv.traces import training_trace

ids = st.lists(st.integers(0, 2), min_size=1, max_size=4)


@st.composite
def transcripts(draw: st.DrawFn) -> Transcript:
    """Sessions that go on, branch, start anew, make side requests and lose replies."""
    forest, turns, wholes = Forest(), list[Turn](), list[list[int]]()
    for index in range(draw(st.integers(1, 7))):
        base: list[int] = []
        if draw(st.booleans()) and wholes:
            base = draw(st.sampled_from(wholes))
        prompt, sample = array("i", base + draw(ids)), array("i", draw(ids))
        parent, new = forest.place(prompt)
        forest.add(index, parent, new, sample)
        wholes.append([*prompt, *sample])
        turns.append(
            Turn(
                index=index,
                new_messages=(),
                reply={"role": "assistant", "content": "hi"},
                parent=parent,
                new_prompt_ids=new,
                sampled_ids=sample,
                logprobs=array("f", [-0.5 * (index + 1)] * len(sample)),
                auxiliary=draw(st.sampled_from(["", "", "title"])),
                delivered=draw(st.booleans()),
                finish="stop",
            )
        )
    return Transcript(turns=tuple(turns), token_exact=True)


@settings(deadline=None)
@given(transcripts())
def test_a_trace_trains_on_what_our_rows_train_on(transcript: Transcript) -> None:
    turns = training_trace(transcript)["turns"]
    ours = sorted(
        (token, logprob)
        for row in transcript.rows()
        for token, loss, logprob in zip(row.ids, row.loss, row.logprobs, strict=True)
        if loss
    )
    theirs: list[tuple[int, float]] = []
    for turn in turns:
        whole = turn["prompt_token_ids"] + turn["completion_token_ids"]
        start = len(turn["prompt_token_ids"])
        assert turn["loss_mask"] == [0] * start + [1] * (len(whole) - start)
        theirs += zip(turn["completion_token_ids"], turn["per_token_logps"], strict=True)
    assert sorted(theirs) == ours


@settings(deadline=None)
@given(transcripts())
def test_each_prompt_is_whole(transcript: Transcript) -> None:
    def whole(turn: Turn) -> list[int]:
        before = [] if turn.parent is None else whole(transcript.turns[turn.parent])
        return [*before, *turn.new_prompt_ids, *turn.sampled_ids]

    for turn in training_trace(transcript)["turns"]:
        found = transcript.turns[turn["metadata"]["index"]]
        assert turn["prompt_token_ids"] + turn["completion_token_ids"] == whole(found)


@settings(deadline=None)
@given(transcripts())
def test_the_real_package_accepts_them(transcript: Transcript) -> None:
    training = pytest.importorskip("openenv.core.harness.training", reason="extra openenv")
    document: dict[str, Any] = training_trace(transcript)
    trace = training.TrainingTrace.model_validate(document)
    assert [turn.node_id for turn in trace.turns] == [one["node_id"] for one in document["turns"]]


def test_a_logprob_just_above_zero_is_zero() -> None:
    turn = Turn(
        index=0,
        new_messages=(),
        reply={},
        parent=None,
        new_prompt_ids=array("i", [1]),
        sampled_ids=array("i", [2]),
        logprobs=array("f", [1e-7]),
    )
    (found,) = training_trace(Transcript(turns=(turn,), token_exact=True))["turns"]
    assert found["per_token_logps"] == [0.0]


def test_an_eval_only_session_has_none() -> None:
    with pytest.raises(ValueError, match="no token ids"):
        training_trace(Transcript())
