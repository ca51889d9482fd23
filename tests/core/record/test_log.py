from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from harness_adapters import BadInput
from harness_adapters.record.log import Log, encode, read

JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**63), 2**63 - 1) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner),
    max_leaves=6,
)
RECORDS = st.lists(st.dictionaries(st.text(max_size=4), JSON, max_size=3), max_size=4)


@given(records=RECORDS, cut=st.integers(1, 200))
@settings(max_examples=60, deadline=None)
def test_a_torn_tail_is_cut_at_the_last_whole_record(
    tmp_path_factory: pytest.TempPathFactory, records: list[dict[str, Any]], cut: int
) -> None:
    path = tmp_path_factory.mktemp("log") / "rollouts.log"
    whole = [encode(record) for record in records]
    last = encode({"last": "record", "long": "x" * 200})
    path.write_bytes(b"".join(whole) + last[: min(cut, len(last) - 1)])
    log = Log(path)
    assert log.torn == min(cut, len(last) - 1)
    log.append({"next": 1})
    log.close()
    assert list(read(path)) == [*records, {"next": 1}]


def test_a_damaged_record_before_the_last_is_an_error_and_nothing_is_cut(tmp_path: Path) -> None:
    path = tmp_path / "rollouts.log"
    content = encode({"a": 1}) + encode({"b": 2}).replace(b"2", b"3") + encode({"c": 3})
    path.write_bytes(content)
    with pytest.raises(BadInput, match="record 2 is damaged"):
        Log(path)
    assert path.read_bytes() == content


@pytest.mark.parametrize("hostile", ["\ud800", 2**80, {"deep": ["\udfff"]}])
def test_what_a_model_may_send_never_breaks_the_log(tmp_path: Path, hostile: object) -> None:
    path = tmp_path / "rollouts.log"
    log = Log(path)
    log.append({"arguments": hostile})
    log.close()
    assert len(list(read(path))) == 1
