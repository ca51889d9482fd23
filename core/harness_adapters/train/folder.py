"""One training run's folder on disk: that of a run, and what training adds to it.

``training.json`` (the recipe, what is trained, versions) | ``groups.log`` (what became of each
group) | ``steps.log`` (each optimizer step: metrics, and which rows of which versions it trained)
| ``evaluations.log`` and ``evaluations/step-N`` (see ``development``) | ``checkpoints/step-N`` |
``adapters/NAME`` (see ``store``). All logs hold a checksum per record.
"""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, ValidationError

from harness_adapters.errors import BadInput
from harness_adapters.record import log
from harness_adapters.record.folder import write_whole
from harness_adapters.train.recipe import Recipe
from harness_adapters.train.store import sync_file, sync_folder

KEPT_CHECKPOINTS = 2


class TrainingManifest(BaseModel):
    """``training.json``.

    :ivar run: ULID; part of every adapter name of the run.
    :ivar adapted: modules that carry a LoRA -> how many, and their share of the parameters.
    :ivar packages: versions of what trains.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    schema_version: int = 1
    run: str
    created: str
    recipe: Recipe
    adapted: dict[str, Any]
    packages: dict[str, str]


class TrainingFolder:
    """The part of a run folder that training adds, open for writing by this process alone."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._groups = log.Log(path / "groups.log")
        self._steps = log.Log(path / "steps.log")
        self._evaluations = log.Log(path / "evaluations.log")
        self._checkpoints = path / "checkpoints"
        self._staging = self._checkpoints / ".staged"
        shutil.rmtree(self._staging, ignore_errors=True)
        self._staging.mkdir(parents=True)

    @property
    def staging(self) -> Path:
        """Where a checkpoint is written before it gets its name."""
        return self._staging

    def add_group(self, record: dict[str, Any]) -> None:
        self._groups.append(record)

    def add_step(self, record: dict[str, Any]) -> None:
        self._steps.append(record)

    def add_evaluation(self, record: dict[str, Any]) -> None:
        self._evaluations.append(record)

    def keep_checkpoint(self, staged: Path, step: int) -> Path:
        """Give a whole checkpoint its name, and remove the oldest."""
        final = self._checkpoints / f"step-{step}"
        shutil.rmtree(final, ignore_errors=True)  # of a step that is trained again
        sync_folder(staged)
        staged.rename(final)
        sync_file(self._checkpoints)
        for old in checkpoints(self.path)[:-KEPT_CHECKPOINTS]:
            shutil.rmtree(old)
        return final

    def close(self) -> None:
        self._groups.close()
        self._steps.close()
        self._evaluations.close()


def checkpoints(run: Path) -> list[Path]:
    """Whole checkpoints, oldest first."""
    found = [path for path in (run / "checkpoints").glob("step-*") if path.is_dir()]
    return sorted(found, key=step_of)


def step_of(checkpoint: Path) -> int:
    return int(checkpoint.name.removeprefix("step-"))


def read_groups(run: Path) -> dict[int, dict[str, Any]]:
    """The last word on each group."""
    return {record["group"]: record for record in log.read(run / "groups.log")}


def read_steps(run: Path) -> dict[int, dict[str, Any]]:
    """Each step once, in order; of one that was trained again after a crash the last record."""
    steps = {record["step"]: record for record in log.read(run / "steps.log")}
    return dict(sorted(steps.items()))


def read_evaluations(run: Path) -> dict[int, dict[str, Any]]:
    """Each evaluation on the development tasks, by its step."""
    return {record["step"]: record for record in log.read(run / "evaluations.log")}


def read_training(run: Path) -> TrainingManifest:
    """:raises BadInput: this is no folder of a training run."""
    file = run / "training.json"
    try:
        return TrainingManifest.model_validate_json(file.read_bytes())
    except FileNotFoundError:
        raise BadInput(f"{run} is no training run: it has no training.json") from None
    except OSError as error:
        raise BadInput(f"cannot read {file}: {error.strerror}") from None
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(map(str, first["loc"]))
        raise BadInput(f"{file}: {place}: {first['msg']}") from None


def write_training(run: Path, manifest: TrainingManifest) -> None:
    write_whole(run / "training.json", manifest.model_dump_json(indent=2).encode() + b"\n")
