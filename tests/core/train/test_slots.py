from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path

import pytest

from harness_adapters.train.names import new_run_id
from harness_adapters.train.slots import TooFewSlots, claim

URL = "http://127.0.0.1:1"


@pytest.fixture(autouse=True)
def own_state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))


def test_the_claims_of_all_runs_on_a_server_count() -> None:
    with ExitStack() as runs:
        for _ in range(2):
            runs.enter_context(claim(URL, run=new_run_id(), needed=6, slots=16, loaded=[]))
        with pytest.raises(TooFewSlots, match=r"holds 16 .* 12 of them are taken .* needs 6"):
            runs.enter_context(claim(URL, run=new_run_id(), needed=6, slots=16, loaded=[]))
        runs.enter_context(claim(URL, run=new_run_id(), needed=4, slots=16, loaded=[]))
        other = "http://127.0.0.1:2"
        runs.enter_context(claim(other, run=new_run_id(), needed=6, slots=6, loaded=[]))
    with claim(URL, run=new_run_id(), needed=16, slots=16, loaded=[]):
        pass  # what ended is free again


def test_a_claim_whose_owner_is_gone_counts_no_more(tmp_path: Path) -> None:
    with claim(URL, run=new_run_id(), needed=6, slots=6, loaded=[]):
        (file,) = tmp_path.rglob("*.claim")
    file.write_text("6")  # as a kill would have left it
    with claim(URL, run=new_run_id(), needed=6, slots=6, loaded=[]):
        assert not file.exists()


def test_adapters_of_runs_elsewhere_count_and_own_ones_do_not() -> None:
    mine, elsewhere = new_run_id(), new_run_id()
    loaded = [f"m.pi.{mine}.v3", f"m.pi.{elsewhere}.v1", "somebodys-adapter"]
    with claim(URL, run=mine, needed=4, slots=6, loaded=loaded):
        pass
    with (
        pytest.raises(TooFewSlots, match="2 of them"),
        claim(URL, run=mine, needed=5, slots=6, loaded=loaded),
    ):
        pass


def test_a_server_that_does_not_say_is_not_counted() -> None:
    with claim(URL, run=new_run_id(), needed=1_000, slots=None, loaded=[]):
        pass
