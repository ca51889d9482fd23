"""One run's folder on disk.

``manifest.json`` | ``rollouts.log`` (the truth) | ``verdicts.log`` (redacted) | ``harness/`` (the
harnesses' own logs) | derived: ``rollouts.parquet``, ``trajectories/*.json``.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pydantic

from harness_adapters.errors import BadInput
from harness_adapters.record import log
from harness_adapters.record.codec import from_record, to_record
from harness_adapters.record.manifest import Manifest
from harness_adapters.types import Outcome, Rollout


class RunFolder:
    """A run being written. Finished rollouts are safe on disk as soon as ``add`` returns."""

    def __init__(self, path: Path, manifest: Manifest) -> None:
        self.path = path
        self.manifest = manifest
        self._rollouts = log.Log(path / "rollouts.log")
        self._verdicts = log.Log(path / "verdicts.log")
        self.torn = self._rollouts.torn

    @classmethod
    def create(cls, path: Path, manifest: Manifest, *, resume: bool = False) -> RunFolder:
        """Start a run folder, or go on with one.

        :raises BadInput: it exists and ``resume`` is off; it is to be resumed and its manifest
            differs, in the field that the message names; it cannot be written.
        """
        file = path / "manifest.json"
        check_run_folder(path, resume=resume)
        try:
            if file.exists() and (field := read_manifest(path).difference(manifest)):
                raise BadInput(f"cannot resume {path}: its manifest differs in {field}")
            path.mkdir(parents=True, exist_ok=True)
            if not file.exists():
                write_whole(file, manifest.model_dump_json(indent=2).encode() + b"\n")
            return cls(path, manifest)
        except OSError as error:
            raise BadInput(f"cannot write the run folder {path}: {error.strerror}") from error

    def finished(self) -> dict[tuple[str, int], Rollout]:
        """What need not be run again: everything scored, by (task id, attempt)."""
        return {
            (rollout.task_id, rollout.attempt): rollout
            for rollout in read_rollouts(self.path)
            if rollout.outcome is not Outcome.INFRA
        }

    def log_dir(self, name: str) -> Path:
        """A fresh folder for one session's harness log."""
        folder = self.path / "harness" / name
        folder.mkdir(parents=True, exist_ok=True)
        return folder

    def add(self, rollout: Rollout) -> None:
        self._rollouts.append(to_record(rollout))
        for turn in rollout.transcript.turns:
            for call in turn.calls:
                self._verdicts.append(
                    {
                        "session_id": rollout.session_id,
                        "turn": turn.index,
                        "tool": call.name,
                        "decision": call.decision.value,
                        "rules": [[f.rule, f.severity.value, f.span] for f in call.findings],
                        "faults": len(call.faults),
                        "policy": call.policy,
                    }
                )

    def close(self) -> None:
        self._rollouts.close()
        self._verdicts.close()


def check_run_folder(path: Path, *, resume: bool) -> None:
    """Look whether a run may be recorded here, before anything is started.

    :raises BadInput: there is a run already and ``resume`` is off, or something else is here.
    """
    try:
        if (path / "manifest.json").exists():
            if not resume:
                raise BadInput(f"{path} holds a run already; add --resume or name another")
        elif path.exists() and (not path.is_dir() or any(path.iterdir())):
            raise BadInput(f"{path} is not empty and holds no run; name another folder")
    except OSError as error:
        raise BadInput(f"cannot write the run folder {path}: {error.strerror}") from None


def read_manifest(path: Path) -> Manifest:
    """:raises BadInput: there is no run here, or its manifest cannot be read."""
    try:
        return Manifest.model_validate_json((path / "manifest.json").read_bytes())
    except FileNotFoundError:
        raise BadInput(f"{path} is no run folder: it has no manifest.json") from None
    except OSError as error:
        raise BadInput(f"cannot read {path / 'manifest.json'}: {error.strerror}") from error
    except pydantic.ValidationError as error:
        first = error.errors()[0]
        place = ".".join(map(str, first["loc"]))
        raise BadInput(f"{path / 'manifest.json'}: {place}: {first['msg']}") from None


def read_rollouts(path: Path) -> Iterator[Rollout]:
    """The last record of each (task, attempt), in order of first appearance."""
    latest: dict[tuple[str, int], Rollout] = {}
    for number, record in enumerate(log.read(path / "rollouts.log"), start=1):
        try:
            rollout = from_record(record)
        except (KeyError, TypeError, ValueError) as error:
            raise BadInput(
                f"{path / 'rollouts.log'}: record {number} is none of this version's ({error!r})"
            ) from error
        latest[rollout.task_id, rollout.attempt] = rollout
    yield from latest.values()


def derive(path: Path) -> list[str]:
    """Write the table and the trajectories of a run anew from its log; one line per rollout that
    makes no valid trajectory.

    :raises BadInput: there is no run here.
    """
    from harness_adapters.record.table import write_table

    harness = read_manifest(path).harness
    rollouts = list(read_rollouts(path))
    problems = []
    for rollout in rollouts:
        try:
            _write_trajectory(path, rollout, harness)
        except (TypeError, ValueError, RecursionError) as error:
            name = file_name(rollout.task_id, rollout.attempt)
            problems.append(f"{name}: no trajectory: {type(error).__name__}: {error}")
    write_table(rollouts, path / "rollouts.parquet")
    return problems


def _write_trajectory(path: Path, rollout: Rollout, harness: str) -> None:
    from harness_adapters.record.trajectory import to_json

    if rollout.transcript.turns:
        folder = path / "trajectories"
        folder.mkdir(exist_ok=True)
        name = f"{file_name(rollout.task_id, rollout.attempt)}.json"
        write_whole(folder / name, to_json(rollout, harness=harness))


def file_name(task_id: str, attempt: int) -> str:
    """A path-safe name for one rollout. Loading a set of tasks checks that no two ids give one."""
    return f"{task_id.replace('/', '__')}.{attempt}"


def write_whole(path: Path, content: bytes) -> None:
    temporary = path.with_name(f".{path.name}.tmp")
    with temporary.open("wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
    temporary.replace(path)
