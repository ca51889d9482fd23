"""Tasks that name a container image: where they run in it, and where they cannot run at all."""

from __future__ import annotations

from collections.abc import Sequence

from harness_adapters.errors import BrokenTask
from harness_adapters.sandbox.base import SandboxProvider
from harness_adapters.types import Task

CHOOSE = "choose --sandbox docker"


def image_for(task: Task, sandboxes: SandboxProvider) -> str:
    """``SandboxSpec.image`` for a task: its own image wherever there are images."""
    return task.image if sandboxes.images else ""


def without_images(tasks: Sequence[Task]) -> tuple[list[Task], list[BrokenTask]]:
    """The tasks that run where there are no images, and one error for each that does not."""
    broken = [BrokenTask(f"{task.needs_image}; {CHOOSE}") for task in tasks if task.needs_image]
    return [task for task in tasks if not task.needs_image], broken


async def check_images(tasks: Sequence[Task], sandboxes: SandboxProvider) -> None:
    """:raises BrokenTask: a task needs its image, and these sandboxes run none.
    :raises MissingPrerequisite: an image that a task is to run in is not there.
    """
    if not sandboxes.images:
        for error in without_images(tasks)[1]:
            raise error
    wanted = {image for task in tasks if (image := image_for(task, sandboxes))}
    await sandboxes.check_images(sorted(wanted))
