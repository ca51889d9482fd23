from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from harness_adapters.errors import BadInput
from harness_adapters.tasks.mixture import Mixture, mixture
from harness_adapters.types import Task, TaskMetadata

NONE: dict[str, int] = {"repository": 0, "data": 0}


def task(
    id: str, kind: str = "qa", cluster: str = "", split: str = "train", difficulty: str = ""
) -> Task:
    metadata = TaskMetadata(kind=kind, cluster=cluster or id, split=split, difficulty=difficulty)
    return Task(id=id, instruction="do it", path=Path(id), metadata=metadata)


def several(kind: str, count: int, clusters: int = 10_000) -> list[Task]:
    return [
        task(f"{kind}-{number:04}", kind, f"{kind}-c{number % clusters}") for number in range(count)
    ]


def ids(tasks: Sequence[Task]) -> list[str]:
    return [one.id for one in tasks]


# --- held out ---------------------------------------------------------------------------------


def test_by_default_forty_repository_and_a_hundred_and_fifty_data_tasks_are_held_out() -> None:
    made = mixture([*several("repair", 50), *several("build", 50), *several("qa", 400)])
    kinds = Counter(one.kind for one in made.held_out)
    assert kinds["repair"] + kinds["build"] == 40
    assert kinds["qa"] == 150
    assert len(made.train) == 500 - 190


@settings(deadline=None)
@given(
    sizes=st.lists(st.integers(1, 9), min_size=3, max_size=30),
    number=st.integers(1, 20),
    seed=st.integers(0, 9),
)
def test_whole_clusters_are_held_out(sizes: list[int], number: int, seed: int) -> None:
    tasks = [
        task(f"t{c}-{n}", cluster=f"c{c}") for c, size in enumerate(sizes) for n in range(size)
    ]
    wanted = min(number, len(tasks) - max(sizes))
    made = mixture(tasks, held_out={"repository": 0, "data": wanted}, seed=seed)
    held = {one.metadata.cluster for one in made.held_out}
    assert held.isdisjoint(one.metadata.cluster for one in made.train)
    assert len(made.held_out) >= wanted
    assert len(made.held_out) < wanted + max(sizes), "no more than the last cluster's surplus"
    assert sorted(ids(made.train + made.held_out)) == sorted(ids(tasks))


def test_what_bundles_say_counts_and_is_never_trained_on() -> None:
    tasks = [
        *several("qa", 20),
        task("a", cluster="x", split="test"),
        task("b", cluster="x", split="test"),
        task("c", cluster="y", split="dev"),
    ]
    made = mixture(tasks, held_out={"repository": 0, "data": 5})
    assert {"a", "b"} <= set(ids(made.held_out))
    assert len(made.held_out) == 5
    assert ids(made.dev) == ["c"]
    assert {"a", "b", "c"}.isdisjoint(ids(made.train))


def test_the_split_depends_on_nothing_but_ids_clusters_and_seed() -> None:
    tasks = several("qa", 100, clusters=20)
    one = mixture(tasks, held_out={"data": 30})
    other = mixture(list(reversed(tasks)), held_out={"data": 30})
    assert ids(one.held_out) == ids(other.held_out)
    assert ids(one.order(1, 0)) == ids(other.order(1, 0))
    assert ids(mixture(tasks, held_out={"data": 30}, seed=1).held_out) != ids(one.held_out)


def test_too_few_to_hold_out_is_said_and_not_done_by_halves() -> None:
    with pytest.raises(BadInput) as caught:
        mixture(several("repair", 8))
    assert str(caught.value) == (
        "held out are to be 40 repository tasks, but there are only 8; "
        "ask for fewer (held_out: repository), so that some are left to train on"
    )
    with pytest.raises(BadInput, match=r"held_out: no part 'repo'"):
        mixture(several("repair", 8), held_out={"repo": 1})
    for number in (-1, 1.5, "3", True, None):
        wrong: dict[str, Any] = {"repository": number}
        with pytest.raises(BadInput, match="repository must be a whole number of 0 or more"):
            mixture(several("repair", 8), held_out=wrong)


@pytest.mark.parametrize(
    "window", [(0.9, 0.1), (-0.1, 1), (0, 1.1), (float("nan"), 1), ("a", "b"), (0.5,), ()]
)
def test_a_difficulty_window_is_two_rates_in_order(window: Any) -> None:
    with pytest.raises(BadInput, match="difficulty: must be the lowest and highest solve rate"):
        mixture(several("repair", 8), held_out=NONE, difficulty=window)


def test_a_cluster_in_two_splits_is_refused() -> None:
    with pytest.raises(BadInput, match="cluster 'x' is in two splits: 'a' is train, 'b' is test"):
        mixture([task("a", cluster="x"), task("b", cluster="x", split="test")], held_out=NONE)
    with pytest.raises(BadInput, match="twice"):
        mixture([task("a"), task("a")], held_out=NONE)


# --- what is left out ---------------------------------------------------------------------------


def test_a_cap_is_spread_over_the_clusters() -> None:
    tasks = [*several("qa", 100, clusters=5), *several("repair", 4)]
    made = mixture(tasks, caps={"qa": 10}, held_out=NONE)
    clusters = Counter(one.metadata.cluster for one in made.train if one.kind == "qa")
    assert clusters == dict.fromkeys(clusters, 2) and len(clusters) == 5
    assert made.left_out == {"above the cap of qa": 90}


def test_the_difficulty_window_looks_at_measured_tasks_only() -> None:
    found = {"a": "0/8", "b": "1/8", "c": "0.5", "d": "7/8", "e": "8/8", "f": "easy", "g": ""}
    tasks = [task(id, difficulty=difficulty) for id, difficulty in found.items()]
    made = mixture(tasks, held_out=NONE)
    assert ids(made.train) == ["b", "c", "d", "f", "g"], "0 of 8 and 8 of 8 teach nothing"
    assert made.left_out == {"never solved": 1, "always solved": 1}
    made = mixture(tasks, difficulty=(0.2, 0.8), held_out=NONE)
    assert ids(made.train) == ["c", "f", "g"]
    assert made.left_out["outside the difficulty window 0.2 to 0.8"] == 2


def test_tasks_graded_by_their_own_script_only_when_asked() -> None:
    own = replace(task("a", "self-graded"), self_graded=True)
    made = mixture([own, task("b")], held_out=NONE, weights={"qa": 1})
    assert ids(made.train) == ["b"]
    assert made.left_out == {"graded by their own script": 1}
    assert ids(mixture([own, task("b")], held_out=NONE, self_graded=True).train) == ["a", "b"]


def test_nothing_left_says_why() -> None:
    with pytest.raises(BadInput) as caught:
        mixture([task("a", difficulty="0/8"), task("b", split="dev")], held_out=NONE)
    assert str(caught.value) == (
        "no task to train on: of 2, 0 are held out, 1 are for development, 1 never solved"
    )


@pytest.mark.parametrize(
    ("weights", "caps", "said"),
    [
        ({"repiar": 1, "qa": 1}, {}, "none for the kind 'repair' (2 tasks); did you mean 'repiar'"),
        ({"repair": 1, "qa": -1}, {}, "weights: qa: must be a number of 0 or more"),
        ({"repair": float("nan"), "qa": 1}, {}, "weights: repair: must be a number"),
        ({}, {"repiar": 1}, "caps: no task of the kind 'repiar'; did you mean 'repair'"),
        ({}, {"repair": 0}, "caps: repair: must be a whole number of 1 or more, not 0"),
        ({}, {"repair": 2.5}, "caps: repair: must be a whole number of 1 or more, not 2.5"),
        ({"repair": "much", "qa": 1}, {}, "weights: repair: must be a number of 0 or more, not 'm"),
        ({"repair": 0, "qa": 0}, {}, "no task to train on"),
    ],
)
def test_a_wrong_weight_or_cap_is_named(
    weights: dict[str, Any], caps: dict[str, Any], said: str
) -> None:
    tasks = [*several("repair", 2), *several("qa", 2)]
    with pytest.raises(BadInput) as caught:
        mixture(tasks, weights=weights, caps=caps, held_out=NONE)
    assert said in str(caught.value)


def test_a_weight_for_a_kind_that_is_not_there_is_no_fault() -> None:
    """A recipe names all kinds; a set need not have them."""
    made = mixture(several("qa", 4), weights={"qa": 1, "build": 3}, held_out=NONE)
    assert len(made.order(0, 0)) == 4


# --- order --------------------------------------------------------------------------------------


@settings(deadline=None)
@given(counts=st.lists(st.integers(1, 30), min_size=1, max_size=4), seed=st.integers(0, 99))
def test_without_weights_each_task_is_visited_once_per_epoch(counts: list[int], seed: int) -> None:
    tasks = [one for kind, count in enumerate(counts) for one in several(f"k{kind}", count)]
    made = mixture(tasks, held_out=NONE)
    for epoch in range(3):
        assert sorted(ids(made.order(seed, epoch))) == sorted(ids(tasks))
    assert ids(made.order(seed, 0)) == ids(made.order(seed, 0))


def test_each_epoch_and_seed_has_an_order_of_its_own() -> None:
    made = mixture(several("qa", 50), held_out=NONE)
    orders = {tuple(ids(made.order(seed, epoch))) for seed in range(3) for epoch in range(3)}
    assert len(orders) == 9
    with pytest.raises(ValueError, match="start at 0"):
        made.order(0, -1)


def test_kinds_are_mixed_evenly_along_an_epoch() -> None:
    made = mixture([*several("build", 90), *several("repair", 10)], held_out=NONE)
    for start in range(0, 100, 10):
        kinds = Counter(one.kind for one in made.order(3, 0)[start : start + 10])
        assert kinds["repair"] == 1


def test_weights_set_the_shares_and_no_task_is_lost_for_good() -> None:
    tasks = [*several("build", 94), *several("repair", 6)]
    made = mixture(tasks, weights={"build": 1, "repair": 1}, held_out=NONE)
    epochs = [made.order(5, epoch) for epoch in range(94)]
    for order in epochs:
        assert Counter(one.kind for one in order) == {"build": 6, "repair": 6}
        assert len(set(ids(order))) == 12, "no task twice in an epoch"
    visits = Counter(one.id for order in epochs for one in order if one.kind == "build")
    assert len(visits) == 94
    assert set(visits.values()) == {6}, "every build task as often as every other"
    early = {one.id for order in epochs[:16] for one in order if one.kind == "build"}
    assert len(early) == 94, "none twice before each was visited once"


@settings(deadline=None)
@given(done=st.integers(0, 60), weighted=st.booleans())
def test_rf40_a_resumed_run_goes_on_where_it_stopped(done: int, weighted: bool) -> None:
    tasks = [*several("build", 13), *several("repair", 5)]
    weights = {"build": 2.0, "repair": 1.0} if weighted else None
    made = mixture(tasks, weights=weights, held_out=NONE)
    whole = list(islice(made.visits(7), 90))
    assert [position for position, _ in whole] == list(range(90))
    first = list(islice(made.visits(7), done))
    resumed = list(islice(made.visits(7, done=done), 90 - done))
    assert first + resumed == whole
    epoch = len(made.order(7, 0))
    assert len({one.id for _, one in whole[:epoch]}) == epoch


def test_a_folder_is_read_and_broken_bundles_are_told(tmp_path: Path) -> None:
    root = Path(__file__).parents[3] / "examples" / "tasks"
    made = mixture(root, held_out={"repository": 2, "data": 3})
    assert isinstance(made, Mixture)
    assert made.train and not made.broken
    with pytest.raises(BadInput):
        mixture(tmp_path / "nowhere")
