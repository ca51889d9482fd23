"""What is remembered of sequences, and what of it later requests may use."""

from __future__ import annotations

import numpy as np

from harness_adapters.serve.embedded.states import Shape, State, States, as_ids

SHAPE = Shape(
    attention=(0, 2), heads=2, head_size=4, convolution=(1,), hidden=3, window=2
)  # 2 * 2 * 2 * 4 + 3 floats a token
OWNER, OTHER = "adapter", "another"


def filled(states: States, ids: range, owner: str = OWNER) -> State:
    """A request's state after it has read a prompt; each value says which token it is of."""
    prompt = as_ids(ids)
    state = states.take(owner, prompt)
    state.reserve(len(prompt))
    for place in range(state.length, len(prompt)):
        state.layers[0][..., place, :] = state.layers[2][..., place, :] = float(prompt[place])
        state.layers[1][:, SHAPE.window + place] = float(prompt[place])
    state.append(prompt[state.length :])
    return state


def check(state: State) -> None:
    for place, id in enumerate(state.ids):
        for layer in (0, 2):
            assert (state.layers[layer][..., place, :] == float(id)).all()
        assert (state.layers[1][:, SHAPE.window + place] == float(id)).all()
    assert (state.layers[1][:, : SHAPE.window] == 0).all()


def test_bytes_of_a_token() -> None:
    assert SHAPE.bytes_per_token == 4 * (2 * 2 * 2 * 4 + 3)


def test_growing_keeps_what_was_read() -> None:
    state = filled(States(SHAPE, 10**9), range(100))
    for tokens in (500, 501, 5000):
        state.reserve(tokens)
        check(state)


def test_the_next_turn_goes_on_where_the_last_ended() -> None:
    states = States(SHAPE, 10**9)
    first = filled(states, range(100))
    states.give_back(first)
    second = filled(states, range(150))
    assert second is first
    check(second)


def test_all_of_a_prompt_is_never_taken() -> None:
    states = States(SHAPE, 10**9)
    states.give_back(filled(states, range(100)))
    assert states.take(OWNER, as_ids(range(100))).length == 99


def test_a_shared_beginning_is_copied() -> None:
    """From a session that goes on elsewhere, finished or running; both stay right."""
    states = States(SHAPE, 10**9)
    running = filled(states, range(100))
    branch = filled(states, range(60))
    assert branch is not running
    check(branch)
    check(running)
    states.give_back(running)
    again = as_ids([*range(40), *range(900, 950)])
    copied = states.take(OWNER, again)
    assert copied.length == 40
    check(copied)
    assert states.take(OWNER, as_ids(range(120))).length == 100


def test_another_adapter_has_another_memory() -> None:
    states = States(SHAPE, 10**9)
    states.give_back(filled(states, range(100)))
    assert states.take(OTHER, as_ids(range(100))).length == 0


def test_what_is_kept_has_an_end() -> None:
    limit = 10 * 256 * SHAPE.bytes_per_token
    states = States(SHAPE, limit)
    for number in range(40):
        states.give_back(filled(states, range(1000 * number, 1000 * number + 100)))
        assert states.nbytes <= limit
    assert states.take(OWNER, as_ids(range(39_000, 39_100))).length == 99
    assert states.take(OWNER, as_ids(range(0, 100))).length == 0


def test_what_runs_bounds_what_may_start() -> None:
    states = States(SHAPE, 300 * SHAPE.bytes_per_token)
    assert states.fits(10**6), "one alone may always try"
    filled(states, range(100))
    assert not states.fits(100)


def test_forgetting() -> None:
    states = States(SHAPE, 10**9)
    states.give_back(filled(states, range(100)))
    states.forget(OTHER)
    assert states.take(OWNER, as_ids(range(90))).length == 89
    states.give_back(filled(states, range(2000, 2100)))
    states.forget(OWNER)
    assert states.take(OWNER, as_ids(range(2000, 2100))).length == 0
    assert not states.drop_kept()


def test_shared_beginnings() -> None:
    state = filled(States(SHAPE, 10**9), range(100))
    assert state.shared(as_ids(range(200))) == 100
    assert state.shared(as_ids(range(30))) == 30
    assert state.shared(as_ids([0, 1, 7])) == 2
    assert state.shared(np.empty(0, np.int32)) == 0
