"""What an evaluation is made of: its arms, in a grid of harnesses, models and guards."""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Sequence
from enum import StrEnum
from pathlib import Path

import pydantic
from pydantic import BaseModel, ConfigDict

from harness_adapters.errors import BadInput
from harness_adapters.record.folder import write_whole

FILE = "eval.json"
_LONGEST_NAME = 80


class Design(StrEnum):
    """What is compared with what."""

    MODELS = "models"  # in each harness, every model with the first
    MATRIX = "matrix"  # likewise, and every adapter's gain in one harness with that in another
    GUARDS = "guards"  # each model in each harness with the guards on, against them off


class ArmName(BaseModel):
    """One arm: ``path`` is its run folder, relative to the evaluation's.

    :ivar guards: ``on`` or ``off`` where that is compared, else empty.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    harness: str
    model: str
    guards: str = ""
    path: str

    @property
    def label(self) -> str:
        return " · ".join(filter(None, (self.harness, self.model, self.guards and self._guarded)))

    @property
    def _guarded(self) -> str:
        return f"guards {self.guards}"


class Plan(BaseModel):
    """``eval.json``. The first model is the base."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    schema_version: int = 1
    design: Design
    harnesses: tuple[str, ...]
    models: tuple[str, ...]
    arms: tuple[ArmName, ...]

    def groups(self) -> list[list[ArmName]]:
        """The arms to compare, each group's base first."""
        by_group: dict[tuple[str, ...], list[ArmName]] = {}
        for arm in self.arms:
            key = (arm.harness, arm.model) if self.design is Design.GUARDS else (arm.harness,)
            by_group.setdefault(key, []).append(arm)
        return list(by_group.values())

    def difference(self, other: Plan) -> str | None:
        """The first field in which two plans do not agree, with both values, or ``None``."""
        for name in type(self).model_fields:
            mine, theirs = getattr(self, name), getattr(other, name)
            if mine != theirs:
                return f"{name}: {_said(mine)} against {_said(theirs)}"
        return None


def make_plan(design: Design, harnesses: Sequence[str], models: Sequence[str]) -> Plan:
    """:raises BadInput: a name is missing or given twice, or the design needs more of them."""
    for what, names in (("harness", harnesses), ("model", models)):
        if not names or not all(names):
            raise BadInput(f"an evaluation needs a {what}")
        if twice := [name for name, count in Counter(names).items() if count > 1]:
            raise BadInput(f"{what} {twice[0]!r} is named twice")
    if design is Design.MATRIX and min(len(harnesses), len(models)) < 2:
        raise BadInput(
            "a transfer matrix needs two harnesses and two models at least, the base first"
        )
    folders = dict(zip(models, folder_names(models), strict=True))
    guarded = ("off", "on") if design is Design.GUARDS else ("",)
    return Plan(
        design=design,
        harnesses=tuple(harnesses),
        models=tuple(models),
        arms=tuple(
            ArmName(
                harness=harness,
                model=model,
                guards=guards,
                path="/".join(
                    filter(None, (harness, folders[model], guards and f"guards-{guards}"))
                ),
            )
            for harness in harnesses
            for model in models
            for guards in guarded
        ),
    )


def folder_names(models: Sequence[str]) -> list[str]:
    """One path-safe segment per model, each another; a model's own name where that is one."""
    safe = [re.sub(r"[^A-Za-z0-9._-]+", "-", model).lstrip(".-") or "model" for model in models]
    count = Counter(name.lower() for name in safe)
    return [
        name
        if count[name.lower()] == 1 and len(name) <= _LONGEST_NAME
        else f"{name[:_LONGEST_NAME]}-{hashlib.sha256(model.encode()).hexdigest()[:8]}"
        for name, model in zip(safe, models, strict=True)
    ]


def is_evaluation(path: Path) -> bool:
    return (path / FILE).is_file()


def read_plan(path: Path) -> Plan:
    """:raises BadInput: there is no evaluation at ``path``, or its plan cannot be read."""
    try:
        plan = Plan.model_validate_json((path / FILE).read_bytes())
    except FileNotFoundError:
        raise BadInput(f"{path} is no evaluation: it has no {FILE}") from None
    except OSError as error:
        raise BadInput(f"cannot read {path / FILE}: {error.strerror}") from error
    except pydantic.ValidationError as error:
        first = error.errors()[0]
        place = ".".join(map(str, first["loc"]))
        raise BadInput(f"{path / FILE}: {place}: {first['msg']}") from None
    for arm in plan.arms:
        if not (path / arm.path).resolve().is_relative_to(path.resolve()):
            raise BadInput(f"{path / FILE}: arm {arm.path!r} lies outside the folder")
    return plan


def check_folder(path: Path, plan: Plan, *, resume: bool) -> None:
    """:raises BadInput: the folder holds something and ``resume`` is off; or its plan is another,
    in the field that the message names."""
    try:
        if is_evaluation(path):
            if not resume:
                raise BadInput(f"{path} holds an evaluation already; add --resume or name another")
            if field := read_plan(path).difference(plan):
                raise BadInput(f"cannot resume {path}: its plan differs in {field}")
        elif path.exists() and (not path.is_dir() or any(path.iterdir())):
            raise BadInput(f"{path} is not empty and holds no evaluation; name another folder")
    except OSError as error:
        raise BadInput(f"cannot read {path}: {error.strerror}") from error


def write_plan(path: Path, plan: Plan) -> None:
    """Nothing is written where this plan stands already.

    :raises BadInput: it cannot be written.
    """
    if is_evaluation(path):
        return
    try:
        path.mkdir(parents=True, exist_ok=True)
        write_whole(path / FILE, plan.model_dump_json(indent=2).encode() + b"\n")
    except OSError as error:
        raise BadInput(f"cannot write {path}: {error.strerror}") from error


def _said(value: object) -> str:
    text = ", ".join(map(str, value)) if isinstance(value, tuple) else str(value)
    return text if len(text) <= 80 else f"{text[:77]}..."
