"""``rollouts.parquet``: one row per rollout, loadable with ``datasets.load_dataset("parquet")``."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from harness_adapters.types import Rollout

_SCHEMA = pa.schema(
    [
        ("task_id", pa.string()),
        ("cluster", pa.string()),
        ("kind", pa.string()),
        ("attempt", pa.int32()),
        ("tries", pa.int32()),
        ("session_id", pa.string()),
        ("model", pa.string()),
        ("harness_version", pa.string()),
        ("outcome", pa.string()),
        ("flags", pa.list_(pa.string())),
        ("reward", pa.float64()),
        ("score", pa.float64()),
        ("calls", pa.int32()),
        ("blocked_calls", pa.int32()),
        ("blocked_by", pa.list_(pa.string())),
        ("turns", pa.int32()),
        ("roots", pa.int32()),
        ("prompt_tokens", pa.int64()),
        ("completion_tokens", pa.int64()),
        ("token_exact", pa.bool_()),
        ("seconds", pa.float64()),
        ("error", pa.string()),
    ]
)


def write_table(rollouts: Iterable[Rollout], path: Path) -> None:
    """Write to a temporary name, then rename: a reader never sees half a table."""
    rows = [_row(rollout) for rollout in rollouts]
    temporary = path.with_suffix(".tmp")
    pq.write_table(pa.Table.from_pylist(rows, schema=_SCHEMA), temporary)
    temporary.replace(path)


def _row(rollout: Rollout) -> dict[str, object]:
    turns = rollout.transcript.turns
    return {
        "task_id": rollout.task_id,
        "cluster": rollout.cluster,
        "kind": rollout.kind,
        "attempt": rollout.attempt,
        "tries": rollout.tries,
        "session_id": rollout.session_id,
        "model": rollout.model,
        "harness_version": rollout.harness_version,
        "outcome": rollout.outcome.value,
        "flags": sorted(rollout.flags),
        "reward": rollout.reward,
        "score": rollout.verdict.score if rollout.verdict else None,
        "calls": rollout.calls,
        "blocked_calls": len(rollout.transcript.blocked),
        "blocked_by": sorted(
            {finding.rule for call in rollout.transcript.blocked for finding in call.findings}
        ),
        "turns": len(turns),
        "roots": sum(turn.parent is None for turn in turns),
        "prompt_tokens": sum(turn.usage.get("prompt_tokens", 0) for turn in turns),
        "completion_tokens": sum(turn.usage.get("completion_tokens", 0) for turn in turns),
        "token_exact": rollout.transcript.token_exact,
        "seconds": rollout.seconds,
        "error": rollout.error,
    }
