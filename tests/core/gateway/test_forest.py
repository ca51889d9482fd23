"""The forest against a plain model of it: lists of whole prompts."""

from __future__ import annotations

from array import array

from hypothesis import given
from hypothesis import strategies as st

from harness_adapters.gateway.forest import Forest, rows
from harness_adapters.gateway.transcript import Turn

Ids = list[int]


def plant(exchanges: list[tuple[Ids, Ids]], **options: dict[int, object]) -> list[Turn]:
    forest, turns = Forest(), []
    for index, (prompt, sample) in enumerate(exchanges):
        parent, new = forest.place(array("i", prompt))
        sampled = array("i", sample)
        forest.add(index, parent, new, sampled)
        turns.append(
            Turn(
                index=index,
                new_messages=(),
                reply={},
                parent=parent,
                new_prompt_ids=new,
                sampled_ids=sampled,
                logprobs=array("f", [-float(index + 1)] * len(sample)),
                model="m",
                **{name: values[index] for name, values in options.items() if index in values},  # type: ignore[arg-type]
            )
        )
    return turns


ids = st.lists(st.integers(0, 2), min_size=1, max_size=4)


@st.composite
def sessions(draw: st.DrawFn) -> list[tuple[Ids, Ids]]:
    """Prompts that continue any earlier turn, or start anew; few ids, so that they often clash."""
    exchanges: list[tuple[Ids, Ids]] = []
    for _ in range(draw(st.integers(1, 8))):
        base: Ids = []
        if draw(st.booleans()) and exchanges:
            prompt, sample = draw(st.sampled_from(exchanges))
            base = prompt + sample
        new = draw(st.lists(st.integers(0, 2), min_size=0 if base else 1, max_size=4))
        exchanges.append((base + new, draw(ids)))
    return exchanges


@given(sessions())
def test_parent_is_the_longest_exact_prefix(exchanges: list[tuple[Ids, Ids]]) -> None:
    for turn in plant(exchanges):
        prompt = exchanges[turn.index][0]
        whole = [p + s for p, s in exchanges[: turn.index]]
        fitting = [(len(w), i) for i, w in enumerate(whole) if prompt[: len(w)] == w]
        assert turn.parent == (max(fitting)[1] if fitting else None)
        start = len(whole[turn.parent]) if turn.parent is not None else 0
        assert list(turn.new_prompt_ids) == prompt[start:]


@given(sessions())
def test_each_sampled_id_has_loss_exactly_once(exchanges: list[tuple[Ids, Ids]]) -> None:
    turns = plant(exchanges)
    made = rows(turns)
    trained = [p for row in made for p, loss in zip(row.logprobs, row.loss, strict=True) if loss]
    # each turn's logprob is its own number, so this counts every turn's every id
    assert sorted(trained) == sorted(p for turn in turns for p in turn.logprobs)
    leaves = [t for t in turns if all(other.parent != t.index for other in turns)]
    assert [list(row.ids) for row in made] == [
        [*exchanges[t.index][0], *exchanges[t.index][1]] for t in leaves
    ]


def test_a_reply_never_delivered_and_sampled_again_is_not_trained() -> None:
    turns = plant([([1], [5]), ([1], [6]), ([1, 6, 2], [7])], delivered={0: False})
    assert [list(row.ids) for row in rows(turns)] == [[1, 6, 2, 7]]
    kept = plant([([1], [5]), ([1], [6])])  # the harness got both: two samples
    assert [list(row.ids) for row in rows(kept)] == [[1, 5], [1, 6]]
    last = plant([([1], [5])], delivered={0: False})  # never asked again: still the policy's own
    assert [list(row.ids) for row in rows(last)] == [[1, 5]]


def test_auxiliary_turns_are_no_rows() -> None:
    turns = plant([([1], [5]), ([2], [6])], auxiliary={1: "title"})
    assert [list(row.ids) for row in rows(turns)] == [[1, 5]]
    (row,) = rows(plant([([1], [5]), ([1, 5, 2], [6])], auxiliary={0: "undeclared"}))
    assert (list(row.ids), row.loss) == ([1, 5, 2, 6], bytes([0, 0, 0, 1]))


def test_no_turns_no_rows() -> None:
    """RF39"""
    assert rows([]) == []
