"""Logs are cut, garbled and hostile: a reader gives what is left, or says that it cannot."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from session_logs import LOGS, pi_v1

from harness_adapters.errors import UnreadableTrace
from harness_adapters.tasks.traces import FORMATS, read_traces, source
from harness_adapters.tasks.traces.events import Result, Trace

unhurried = settings(deadline=None)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=6), inner),
    max_leaves=10,
)


def read(data: bytes) -> list[Trace]:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "log"
        path.write_bytes(data)
        try:
            traces = read_traces(path)
        except UnreadableTrace as error:
            assert str(path) in str(error)
            return []
    for trace in traces:
        assert [call.number for call in trace.calls] == list(range(len(trace.calls)))
        answered = [e.call for e in trace.events if isinstance(e, Result) and e.call is not None]
        assert len(answered) == len(set(answered)), "no call has two results"
        assert set(answered) <= set(range(len(trace.calls)))
    return traces


@unhurried
@given(name=st.sampled_from(sorted(LOGS)), at=st.integers(0, 10_000))
def test_a_log_may_end_anywhere(name: str, at: int) -> None:
    read(LOGS[name][1].encode()[:at])


@unhurried
@given(
    name=st.sampled_from(sorted(LOGS)),
    at=st.integers(0, 5_000),
    noise=st.binary(max_size=12)
    | st.sampled_from([b'"', b"\\", b"}{", b"\n", b"\\ud800", b"9" * 40]),
    cut=st.integers(0, 30),
)
def test_any_place_may_be_garbled(name: str, at: int, noise: bytes, cut: int) -> None:
    data = LOGS[name][1].encode()
    at %= len(data)
    read(data[:at] + noise + data[at + cut :])


@unhurried
@given(name=st.sampled_from(sorted(LOGS)), data=st.data())
def test_any_field_may_hold_anything(name: str, data: Any) -> None:
    text = LOGS[name][1]
    documents = [json.loads(text)] if text.startswith("{\n") else map(json.loads, text.splitlines())
    records = list(documents)
    spots: list[tuple[Any, Any]] = []

    def walk(value: Any) -> None:
        keys = list(value) if isinstance(value, dict) else list(range(len(value)))
        for key in keys:
            spots.append((value, key))
            if isinstance(value[key], (dict, list)):
                walk(value[key])

    walk(records)
    for _ in range(data.draw(st.integers(1, 3))):
        holder, key = data.draw(st.sampled_from(spots))
        holder[key] = data.draw(JSON)
    read("\n".join(json.dumps(record) for record in records).encode())


@unhurried
@given(st.lists(JSON, max_size=4))
def test_any_json_at_all(values: list[Any]) -> None:
    read("\n".join(map(json.dumps, values)).encode())


@unhurried
@given(at=st.integers(0, 2_000), noise=st.binary(min_size=1, max_size=8))
def test_parquet_may_be_garbled(at: int, noise: bytes) -> None:
    sink = pa.BufferOutputStream()
    pq.write_table(pa.Table.from_pylist([{"messages": '[{"role": "user"}]'}]), sink)
    data = sink.getvalue().to_pybytes()
    at %= len(data)
    read(data[:at] + noise + data[at + len(noise) :])


def test_two_objects_on_one_line(tmp_path: Path) -> None:
    first, second, *rest = (json.dumps(one) for one in pi_v1())
    path = tmp_path / "log"
    path.write_text("\n".join([first + second, *rest, "not json", ""]))
    (trace,) = read_traces(path)
    assert len(trace.events) == 4
    assert (trace.repaired, trace.malformed) == (1, 1)


def test_bad_escapes_are_mended(tmp_path: Path) -> None:
    path = tmp_path / "log"
    text = "\n".join(json.dumps(one) for one in pi_v1()).replace("a.py", r"C:\work\d and \\n")
    path.write_text(text)
    (trace,) = read_traces(path)
    assert trace.repaired == 1 and trace.malformed == 0
    assert trace.results[0].text == r"C:\work\d and \n"


def test_lone_surrogates_and_huge_numbers_can_be_written_out_again(tmp_path: Path) -> None:
    arguments = r'{"command": "\ud800", "n": 123456789012345678901234567890}'
    call = f'{{"id": "1", "function": {{"name": "x", "arguments": {arguments}}}}}'
    path = tmp_path / "log"
    path.write_text(f'{{"role": "assistant", "tool_calls": [{call}]}}')
    (trace,) = read_traces(path)
    assert json.loads(trace.calls[0].raw) == {
        "command": "?",
        "n": "123456789012345678901234567890",
    }


@pytest.mark.parametrize("deep", ["[" * 200_000, '{"a":' * 200_000, '{"messages":' + "[" * 500])
def test_deep_nesting_is_malformed_and_fast(tmp_path: Path, deep: str) -> None:
    path = tmp_path / "log"
    path.write_text(deep + "\n" + "\n".join(json.dumps(one) for one in pi_v1()))
    (trace,) = read_traces(path)
    assert trace.malformed == 1 and len(trace.events) == 4


def test_a_cycle_ends(tmp_path: Path) -> None:
    def entry(id: str, parent: str) -> dict[str, Any]:
        message = {"role": "user", "content": id}
        return {"type": "message", "id": id, "parentId": parent, "message": message}

    path = tmp_path / "log"
    path.write_text("\n".join(json.dumps(entry(*one)) for one in (("a", "b"), ("b", "a"))))
    (trace,) = read_traces(path)
    assert len(trace.events) == 2


@pytest.mark.parametrize("content", [b"", b"\n\n", b"hello", b"[]", b"{}", b'{"a": 1}', b"PAR1"])
def test_what_is_no_session_is_said_to_be_none(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "log"
    path.write_bytes(content)
    with pytest.raises(UnreadableTrace, match="log"):
        read_traces(path)


def test_files_that_cannot_be_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(UnreadableTrace, match="No such file"):
        read_traces(tmp_path / "none")
    with pytest.raises(UnreadableTrace, match="directory"):
        read_traces(tmp_path)
    path = tmp_path / "log"
    path.write_text(LOGS["pi_v1"][1])
    monkeypatch.setattr(source, "MAX_RECORDS", 3)
    with pytest.raises(UnreadableTrace, match="more than 3 records"):
        read_traces(path)
    monkeypatch.setattr(source, "MAX_BYTES", 10)
    with pytest.raises(UnreadableTrace, match="larger than 10 bytes"):
        read_traces(path)


def test_every_reader_takes_every_log(tmp_path: Path) -> None:
    path = tmp_path / "log"
    for _, text in LOGS.values():
        path.write_text(text)
        for format in FORMATS:
            try:
                read_traces(path, format=format)
            except UnreadableTrace as error:
                assert format in str(error)
