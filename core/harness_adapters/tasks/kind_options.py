"""A kind's own table of ``task.toml``, ``[metadata.harness_adapters.<kind>]``."""

from __future__ import annotations

from typing import TypeVar

from pydantic import BaseModel, ValidationError

from harness_adapters.errors import BrokenTask
from harness_adapters.tasks.task_toml import OURS, explain
from harness_adapters.types import Task

M = TypeVar("M", bound=BaseModel)


def kind_options(task: Task, model: type[M]) -> M:
    """The table, checked.

    :raises BrokenTask: a field is wrong or unknown; names file and field.
    """
    try:
        return model.model_validate(dict(task.options))
    except ValidationError as error:
        table = f"metadata.{OURS}.{task.kind}"
        text = explain(error, table=table, known=model.model_fields)
        raise BrokenTask(f"{task.path / 'task.toml'}: {text}") from None
