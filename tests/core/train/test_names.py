from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness_adapters.train.names import AdapterName, new_run_id


def test_run_ids_are_ulids_that_sort_by_time_and_never_repeat() -> None:
    ids = [new_run_id() for _ in range(2_000)]
    assert len(set(ids)) == len(ids)
    assert {len(id) for id in ids} == {26}
    assert [id[:10] for id in ids] == sorted(id[:10] for id in ids)


@given(version=st.integers(1, 10**9), model=st.from_regex(r"[a-z0-9-]{1,20}", fullmatch=True))
def test_a_name_is_one_path_safe_segment_and_reads_back(version: int, model: str) -> None:
    name = AdapterName(model=model, harness="pi", run=new_run_id(), version=version)
    assert "/" not in str(name) and " " not in str(name)
    assert AdapterName.parse(str(name)) == name


@pytest.mark.parametrize("text", ["", "base", "a.b.c.v1", "m.pi.01M8MEYN72QG80G3ZPV2PXRHPA.v0"])
def test_other_names_are_not_taken_for_ours(text: str) -> None:
    assert AdapterName.parse(text) is None


def test_a_part_that_would_break_the_name_is_refused() -> None:
    with pytest.raises(ValueError, match="no adapter name"):
        AdapterName(model="a/b", harness="pi", run=new_run_id(), version=1)
