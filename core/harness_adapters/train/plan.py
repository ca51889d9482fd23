"""What one training process is told: its recipe, where its engine answers, where it records."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, Field

from harness_adapters.train.recipe import Recipe

LOG = "train.log"
"""The training process's own log, in the run folder."""


class RunPlan(BaseModel):
    """One run, as its process gets it on standard input: JSON on one line.

    :ivar urls: replicas of one engine, without ``/v1``.
    :ivar engine: as it was named on the command line.
    :ivar flags: what the manifest records of it.
    :ivar base: the base model's name there.
    :ivar slots: adapters that a replica holds at once; ``None`` where it does not say.
    :ivar out: the run folder.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    recipe: Recipe
    urls: tuple[str, ...] = Field(min_length=1)
    api_key: str | None = Field(default=None, repr=False)
    engine: str
    flags: dict[str, Any] = {}
    template: str = ""
    base: str
    slots: int | None = None
    out: Path
    resume: bool = False
    sandbox: str | None = None
