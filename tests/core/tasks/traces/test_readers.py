"""Each log becomes the same sort of events: what was said, called and given back, in order."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from session_logs import LOGS, chat, claude_code, codex, lines, pi_v1, pi_v3

from harness_adapters import BadInput
from harness_adapters.tasks.traces import (
    FORMATS,
    Call,
    Compaction,
    Message,
    Reasoning,
    Result,
    Trace,
    read_traces,
)
from harness_adapters.tasks.traces.fields import seconds


@pytest.fixture
def read(tmp_path: Path) -> Any:
    def _read(text: str, **more: Any) -> list[Trace]:
        path = tmp_path / "log"
        path.write_text(text)
        return read_traces(path, **more)

    return _read


def told(trace: Trace) -> list[tuple[str, ...]]:
    """Events in short."""
    found: list[tuple[str, ...]] = []
    for event in trace.events:
        match event:
            case Message():
                found.append((event.role, event.text))
            case Reasoning():
                found.append(("reasoning", event.text))
            case Call():
                found.append(("call", event.name, event.raw))
            case Result():
                found.append(("result", str(event.call), event.text))
            case Compaction():
                found.append(("compaction", event.summary))
    return found


@pytest.mark.parametrize("name", LOGS)
def test_the_format_is_told_by_the_content(read: Any, name: str) -> None:
    format, text = LOGS[name]
    (trace, *_) = read(text)
    assert trace.format == format
    assert trace.calls and trace.results[0].call == 0
    assert (trace.malformed, trace.repaired) == (0, 0)
    assert read(text, format=format)[0] == trace


def test_pi_v1_is_a_list(read: Any) -> None:
    (trace,) = read(LOGS["pi_v1"][1])
    assert told(trace) == [
        ("user", "list files"),
        ("assistant", "ok"),
        ("call", "bash", '{"command":"ls"}'),
        ("result", "0", "a.py"),
    ]
    assert (trace.cwd, trace.model, trace.declared_tools) == ("/home/dev/app", "m", None)


def test_pi_v3_is_a_tree_read_from_its_last_entry(read: Any) -> None:
    (trace,) = read(LOGS["pi_v3"][1])
    assert [call.raw for call in trace.calls] == ['{"command":"ls"}', '{"command":"wc a.py"}']
    assert trace.abandoned == 2 and list(trace.results) == [0]
    assert ("compaction", "listed files") in told(trace)
    assert ("user", "Ran pwd\n/home/dev/app") in told(trace)
    assert trace.declared_tools is not None and list(trace.declared_tools) == ["bash"]


def test_what_pi_prints_in_json_mode(read: Any) -> None:
    events = [
        {**one, "type": "message_end"} if one["type"] == "message" else one for one in pi_v1()
    ]
    (trace,) = read(lines([*events, {"type": "agent_end"}]))
    assert told(trace) == told(read(LOGS["pi_v1"][1])[0])


def test_a_damaged_line_does_not_cut_the_tree(read: Any) -> None:
    text = lines(pi_v3()).replace('{"type": "compaction"', '{"type": compaction"')
    (trace,) = read(text)
    assert trace.malformed == 1
    assert len(trace.calls) == 2 and trace.abandoned == 2


def test_claude_keeps_parallel_results_and_leaves_other_branches(read: Any) -> None:
    (trace,) = read(LOGS["claude_code"][1])
    assert told(trace) == [
        ("user", "fix a.py"),
        ("call", "Read", '{"file_path":"/home/dev/app/a.py"}'),
        ("call", "Bash", '{"command":"ls"}'),
        ("result", "0", "x = 1"),
        ("result", "1", "a.py"),
        ("compaction", "so far"),
        ("assistant", "done"),
    ]
    assert trace.abandoned == 1
    assert trace.results[0].truncated and not trace.results[1].truncated
    assert trace.results[0].is_error is None and trace.results[1].is_error is False


def test_claude_sub_agents_are_sessions_of_their_own(read: Any) -> None:
    (trace,) = read(LOGS["claude_code"][1])
    (inside,) = trace.subagents
    assert (inside.session, inside.parent) == ("ag1", "s")
    assert told(inside) == [("assistant", "from inside")]
    alone = [{**one, "isSidechain": True, "agentId": "ag2"} for one in claude_code()]
    (child,) = read(lines(alone))
    assert (child.session, child.parent) == ("ag2", "s") and len(child.calls) == 2


def test_side_chains_in_the_main_file(read: Any) -> None:
    side = [
        {**one, "isSidechain": True, "uuid": f"z{one['uuid']}", "parentUuid": parent}
        for one, parent in zip(claude_code()[3:5], (None, "zb"), strict=True)
    ]
    (trace,) = read(lines([*side, *claude_code()]))
    assert [len(one.calls) for one in trace.subagents] == [2, 0]
    assert len(trace.calls) == 2


def test_codex_rolls_back_whole_turns(read: Any) -> None:
    (trace,) = read(LOGS["codex"][1])
    assert [call.name for call in trace.calls] == ["exec_command", "apply_patch"]
    assert trace.abandoned == 2
    assert json.loads(trace.calls[1].raw)["input"].startswith("*** Begin Patch")
    assert trace.results[0].truncated and ("user", "list files") in told(trace)
    assert (trace.commit, trace.cwd, trace.model) == ("abc", "/home/dev/app", "m")
    first = next(event for event in trace.events if isinstance(event, Message))
    assert first.synthetic and first.time == 1767225600.0


def test_codex_before_envelopes(read: Any) -> None:
    (trace,) = read(LOGS["codex_bare"][1])
    assert trace.session == "s"
    assert trace.results[0].text == "no such file" and trace.results[0].is_error


def test_a_codex_rollback_of_more_turns_than_there_are(read: Any) -> None:
    more = codex()
    more[9]["payload"]["num_turns"] = 99
    (trace,) = read(lines(more))
    assert [call.name for call in trace.calls] == ["apply_patch"]


def test_opencode_pairs_by_place_since_ids_repeat(read: Any) -> None:
    (trace,) = read(LOGS["opencode"][1])
    results = [(r.text, r.is_error, r.truncated) for r in trace.results.values()]
    assert len(trace.calls) == 3
    assert results == [("a.py", False, True), ("no such file", True, False)]
    assert trace.abandoned == 1
    synthetic = [event for event in trace.events if isinstance(event, Message) and event.synthetic]
    assert len(synthetic) == 1


def test_hermes_leaves_what_was_rewound(read: Any) -> None:
    (trace,) = read(LOGS["hermes"][1])
    assert trace.abandoned == 1 and told(trace)[-2:] == [("compaction", ""), ("assistant", "done")]
    assert trace.results[0].truncated, "the export holds previews only"
    rows = read(LOGS["hermes_rows"][1])
    assert len(rows) == 2
    assert told(rows[0])[0] == ("system", "You help.") and rows[0].abandoned == 1


def test_atif_pairs_inside_each_step(read: Any) -> None:
    (trace,) = read(LOGS["atif"][1])
    assert {call.raw: trace.results[call.number].text for call in trace.calls if not call.held} == {
        '{"command":"ls"}': "a.py",
        '{"command":"pwd"}': "/work",
        '{"command":"cat a.py"}': "x = 1",
    }
    assert [call.raw for call in trace.calls if call.held] == ['{"command":"cat /tests/x"}']


def test_swe_agent_with_and_without_tool_calling(read: Any) -> None:
    for name in ("swe_agent", "swe_agent_plain"):
        (trace,) = read(LOGS[name][1])
        assert [call.name for call in trace.calls] == ["bash"], name
        assert trace.results[0].text == "a.py"


def test_chat_messages_in_json_jsonl_and_parquet(read: Any, tmp_path: Path) -> None:
    (trace,) = read(LOGS["chat"][1])
    assert trace.declared_tools is not None and list(trace.declared_tools) == ["bash"]
    messages = chat()["messages"]
    whole = read(json.dumps(messages, indent=1))
    by_line = read(lines(messages))
    assert told(whole[0]) == told(by_line[0]) == told(trace)
    texts = [{"messages": json.dumps(messages)}, {"messages": json.dumps(messages)}]
    structs = [{"messages": [{"role": "user", "content": "hi"}]}]
    for number, (rows, sessions) in enumerate(((texts, 2), (structs, 1))):
        path = tmp_path / f"{number}.parquet"
        pq.write_table(pa.Table.from_pylist(rows), path)
        assert len(read_traces(path)) == sessions


def test_a_format_that_is_not_there_is_named(read: Any) -> None:
    with pytest.raises(BadInput, match="did you mean 'codex'"):
        read(LOGS["codex"][1], format="codx")


def test_our_own_trajectories_are_read_back(tmp_path: Path) -> None:
    from run_folders import attempt

    from harness_adapters import Outcome
    from harness_adapters.record.trajectory import to_json

    path = tmp_path / "t.json"
    path.write_bytes(to_json(attempt(outcome=Outcome.GUARD_BLOCKED), harness="pi"))
    (trace,) = read_traces(path)
    assert [call.held for call in trace.calls] == [False, False, False, True]


def test_every_format_has_a_log_here() -> None:
    assert {format for format, _ in LOGS.values()} == set(FORMATS)


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("2026-01-01T00:00:00Z", 1767225600.0),
        (1767225600, 1767225600.0),
        (1767225600500, 1767225600.5),
        (True, None),
        ("yesterday", None),
        (None, None),
    ],
)
def test_times_come_in_several_shapes(value: Any, expected: float | None) -> None:
    assert seconds(value) == expected
