"""What one training run is: a checked, frozen ``Recipe``, written as TOML or made in Python.

The defaults are those of the published recipe (one LoRA per model and harness, GRPO in the
unmodified harness); the recipes that ship beside this module say what differs by model.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, StringConstraints, ValidationError
from pydantic import model_validator as validates

from harness_adapters.errors import did_you_mean
from harness_adapters.serve.vllm.flags import RANKS, max_lora_rank
from harness_adapters.tasks.split import HeldOut
from harness_adapters.train.recipe_file import COMPONENTS, explain, read_tables, shipped_path
from harness_adapters.types import Sampling

Word = Annotated[str, StringConstraints(min_length=1, max_length=200, pattern=r"^[!-~]+$")]
Words = Annotated[tuple[Word, ...], Field(strict=False)]
Count = Annotated[int, Field(ge=1, le=10_000_000)]
Rate = Annotated[float, Field(gt=0, le=1, allow_inf_nan=False)]
Weight = Annotated[float, Field(ge=0, le=1e6, allow_inf_nan=False)]
Share = Annotated[float, Field(ge=0, le=1, allow_inf_nan=False)]


class _Table(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)


class HeldOutTable(_Table):
    """``[tasks.held_out]``: how many tasks are never trained on, in whole clusters.

    :ivar repository: tasks of the kinds about a source tree.
    :ivar data: questions about data (``qa``).
    """

    repository: Annotated[int, Field(ge=0)] = HeldOut().repository
    data: Annotated[int, Field(ge=0)] = HeldOut().data


class TaskTable(_Table):
    """``[tasks]``: the mixture, see ``harness_adapters.mixture``.

    :ivar path: a folder of bundles; in a file, relative to the file's folder.
    :ivar weights: share of each kind in an epoch, by kind; empty for all tasks as they are.
    :ivar caps: at most so many tasks, by kind.
    :ivar difficulty: lowest and highest measured solve rate that is trained on.
    """

    path: Annotated[Path | None, Field(strict=False)] = None
    weights: dict[Word, Weight] = {}
    caps: dict[Word, Count] = {}
    difficulty: Annotated[tuple[Share, Share], Field(strict=False)] = (0.0, 1.0)
    held_out: HeldOutTable = HeldOutTable()
    self_graded: bool = False

    @validates(mode="after")
    def _ordered(self) -> Self:
        if self.difficulty[0] > self.difficulty[1]:
            raise ValueError("difficulty: the lowest solve rate comes first")
        return self


class RolloutTable(_Table):
    """``[rollouts]``: how the policy is sampled.

    :ivar group_size: rollouts of one task that are compared with each other.
    :ivar min_group: a group with fewer scored rollouts is dropped and counted.
    :ivar in_flight: sessions at a time.
    :ivar max_output_tokens: sampled tokens per turn.
    :ivar max_staleness: a rollout begun more adapter versions ago than this is dropped.
    :ivar session_seconds: wall time of a session instead of the task's own.
    :ivar max_requests: model requests of a session instead of the task's own.
    :ivar keep_thinking: serve a chat template that keeps the model's thinking in the history, so
        that a session stays one row.
    """

    group_size: Annotated[int, Field(ge=2, le=1024)] = 8
    min_group: Annotated[int, Field(ge=2, le=1024)] = 4
    in_flight: Annotated[int, Field(ge=1, le=4096)] = 48
    temperature: Annotated[float, Field(gt=0, le=5, allow_inf_nan=False)] = 0.8
    max_output_tokens: Count = 32_768
    max_staleness: Annotated[int, Field(ge=0, le=1000)] = 4
    infra_retries: Annotated[int, Field(ge=0, le=100)] = 2
    session_seconds: Annotated[float, Field(gt=0, le=86_400)] | None = None
    max_requests: Count | None = None
    keep_thinking: bool = False

    @validates(mode="after")
    def _can_be_filled(self) -> Self:
        if self.min_group > self.group_size:
            raise ValueError("min_group: no group could be large enough (it is above group_size)")
        return self


class LoraTable(_Table):
    """``[lora]``.

    :ivar target_modules: ``"all-linear"`` or names of modules, as in peft.
    :ivar target_parameters: parameters that are no module, such as the experts of a MoE layer.
    """

    rank: Annotated[int, Field(ge=1, le=RANKS[-1])] = 32
    alpha: Annotated[float, Field(gt=0, le=10_000, allow_inf_nan=False)] = 64.0
    target_modules: Literal["all-linear"] | Words = "all-linear"
    target_parameters: Words = ()

    @property
    def served_rank(self) -> int:
        """The ``--max-lora-rank`` that serves it."""
        return max_lora_rank(self.rank)


class OptimizerTable(_Table):
    """``[optimizer]``.

    :ivar micro_batches: forward passes per step.
    :ivar token_budget: tokens of one forward pass; a longer row is dropped and counted.
    :ivar dtype: of the trained model; serve it in the same.
    """

    learning_rate: Rate = 1e-5
    micro_batches: Annotated[int, Field(ge=1, le=1024)] = 4
    token_budget: Annotated[int, Field(ge=16)] = 65_536
    dtype: Literal["float32", "bfloat16", "float16"] = "bfloat16"
    gradient_checkpointing: bool = True


class AdvantageTable(_Table):
    """``[advantage]``: see ``group_advantages``.

    :ivar scale: ``group`` divides by the group's standard deviation, ``none`` does not.
    :ivar std_floor: the smallest number that is divided by.
    :ivar shuffled: a control run: advantages are dealt at random inside each group. What such a
        run learns, it did not learn from the rewards.
    """

    scale: Literal["group", "none"] = "group"
    std_floor: Share = 0.05
    shuffled: bool = False


class EvaluationTable(_Table):
    """``[evaluation]``: the adapter on the development tasks while it trains, beside the sessions
    that are trained on, with their limits and their temperature.

    :ivar every: steps between two evaluations, the first before any step; 0 for none.
    :ivar attempts: rollouts per task.
    :ivar limit: at most so many tasks.
    """

    every: Annotated[int, Field(ge=0)] = 25
    attempts: Count = 1
    limit: Count | None = None


class TrackioTable(_Table):
    """``[trackio]``: the live view.

    :ivar space_id: a Hugging Face Space to send it to; empty keeps it on this machine.
    """

    enabled: bool = True
    project: Word = "harness-adapters"
    space_id: Annotated[str, StringConstraints(pattern=r"^([\w.-]+/[\w.-]+)?$")] = ""


class Recipe(_Table):
    """One training run.

    In Python the fields are those of ``ha.run``. In a file, what a component is given stands in a
    table of its own: ``[guards.tamper]``, ``[rewards.tool_efficiency]``, ``[harness.pi]``; which
    ones are used stands in ``use`` of the table above it, or instead of that table.

    :ivar model: an id on the Hub, or a folder (in a file: relative to the file's folder when it
        starts with ``.``).
    :ivar guards: names; ``None`` for every built-in guard.
    :ivar rewards: names; ``None`` for every built-in reward.
    :ivar options: ``{"guards": {"tamper": {...}}, "rewards": {...}, "harness": {...}}``.
    :ivar steps: optimizer steps.
    :ivar seed: of the task order, the sampling and the initial adapter.
    """

    model: Word
    harness: Word
    steps: Count
    seed: Annotated[int, Field(ge=0, lt=2**31)] = 0
    guards: Words | None = None
    rewards: Words | None = None
    options: dict[str, dict[Word, dict[str, Any]]] = {}
    tasks: TaskTable = TaskTable()
    rollouts: RolloutTable = RolloutTable()
    lora: LoraTable = LoraTable()
    optimizer: OptimizerTable = OptimizerTable()
    advantage: AdvantageTable = AdvantageTable()
    evaluation: EvaluationTable = EvaluationTable()
    trackio: TrackioTable = TrackioTable()

    @validates(mode="after")
    def _known_components(self) -> Self:
        for kind in self.options:
            if kind not in COMPONENTS:
                raise ValueError(f"options.{kind}: unknown key{did_you_mean(kind, COMPONENTS)}")
        return self

    @validates(mode="after")
    def _recordable_options(self) -> Self:
        """A run records its recipe as JSON, which has neither infinity nor NaN."""
        for kind, components in self.options.items():
            for name, given in components.items():
                if key := _not_finite(given):
                    raise ValueError(f"{kind}.{name}{key}: must be a finite number")
        return self

    @property
    def model_slug(self) -> str:
        """The model's part of an adapter's name: path-safe, without owner or folders."""
        last = Path(self.model).name or "model"
        return re.sub(r"[^a-z0-9-]+", "-", last.lower()).strip("-")[:60] or "model"

    @property
    def sampling(self) -> Sampling:
        """What the gateway pins. The seed stays open: a group needs unlike rollouts."""
        return Sampling(temperature=self.rollouts.temperature)

    @property
    def lora_slots(self) -> int:
        """Adapters of this run that a server holds at once: every version that may still be
        sampled from, the new one, one that is on its way out, and one that is evaluated."""
        return self.rollouts.max_staleness + 2 + bool(self.evaluation.every)

    def replace(self, changes: Mapping[str, Any]) -> Recipe:
        """A checked copy: ``recipe.replace({"steps": 3, "lora": {"rank": 8}})`` changes two fields.

        :raises BadInput: the result is no recipe; one line with table and key.
        """
        return make_recipe(_merged(self.model_dump(), changes))


def make_recipe(fields: Mapping[str, Any], *, source: str = "recipe") -> Recipe:
    """A recipe from plain data.

    :param source: what errors call it.
    :raises BadInput: one line with table and key, and a near match for an unknown key.
    """
    try:
        return Recipe.model_validate(dict(fields))
    except ValidationError as error:
        raise explain(error, Recipe, source) from None


def load_recipe(path: Path | str) -> Recipe:
    """Read a recipe file, or one that ships with this package by its name (``lfm3-1.7b``).

    :raises BadInput: it is missing, no TOML, or no recipe; one line with file, table and key.
    """
    file = shipped_path(path)
    return make_recipe(read_tables(file), source=str(file))


def _not_finite(value: object) -> str:
    """Where infinity or NaN stands inside a value, as ``.key.2``; empty if nowhere."""
    if isinstance(value, float):
        return "" if math.isfinite(value) else "."
    inner: Iterable[tuple[object, object]] = ()
    if isinstance(value, Mapping):
        inner = value.items()
    elif isinstance(value, list | tuple):
        inner = enumerate(value)
    for key, one in inner:
        if found := _not_finite(one):
            return f".{key}{found}".removesuffix(".")
    return ""


def _merged(fields: Mapping[str, Any], changes: Mapping[str, Any]) -> dict[str, Any]:
    merged = dict(fields)
    for name, value in changes.items():
        old = merged.get(name)
        both = isinstance(old, Mapping) and isinstance(value, Mapping) and name not in _WHOLE
        merged[name] = _merged(old, value) if both and old is not None else value
    return merged


_WHOLE = frozenset({"weights", "caps"})  # one statement each: half a new mixture is none
