"""Real sessions, where a copy of them lies beside the repository; they are not ours to commit."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from harness_adapters.tasks.traces import read_traces

TRACES = Path(__file__).parents[5] / "shared" / "traces"
INDEX = json.loads((TRACES / "index.json").read_text()) if TRACES.is_dir() else []
# Calls that the index does not count: the harness's search for tools.
UNCOUNTED = {"codex-rollout__agentv-codex-qa.jsonl": 2}
FORMATS = {
    "codex-rollout": "codex",
    "opencode-export": "opencode",
    "pi-v1": "pi",
    "hermes-export": "hermes",
}


@pytest.mark.skipif(not INDEX, reason="there are no shared traces beside this clone")
@pytest.mark.parametrize("about", INDEX, ids=lambda about: str(about["file"]))
def test_all_calls_are_found_and_paired(about: dict[str, object]) -> None:
    name = str(about["file"])
    (trace,) = read_traces(TRACES / name)
    assert trace.format == FORMATS.get(str(about["format"]), about["format"])
    assert len(trace.calls) == int(str(about["tool_calls"])) + UNCOUNTED.get(name, 0)
    unanswered = len(trace.calls) - len(trace.results)
    assert unanswered == (18 if trace.format == "pi" else 0), "only pi's aborted turns have some"
    assert trace.malformed == 0
