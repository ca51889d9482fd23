from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from harness_adapters.chosen import choose_tasks
from harness_adapters.errors import BadInput, BrokenTask, MissingPrerequisite
from harness_adapters.plugins import Plugins
from harness_adapters.sandbox.base import SandboxSpec
from harness_adapters.sandbox.providers import PROVIDERS, provider
from harness_adapters.tasks.bundle import load_task
from harness_adapters.tasks.images import check_images
from harness_adapters.tasks.workspace import put_files

Bundle = Callable[..., Path]
IN_IMAGE = {
    "task.toml": '[environment]\ndocker_image = "example/app:1"\nworkdir = "/app"\n',
    "environment/Dockerfile": "FROM x\nRUN apt-get install -y gcc\n",
}
EITHER = {"task.toml": IN_IMAGE["task.toml"]}


def test_a_task_that_needs_its_image_is_broken_where_none_run(
    bundle: Bundle, tmp_path: Path
) -> None:
    bundle(IN_IMAGE, at="set/needs")
    bundle(EITHER, at="set/either")
    plugins = Plugins.load()
    for sandbox in (None, "bubblewrap", "process"):
        chosen = choose_tasks(plugins, tmp_path / "set", sandbox=sandbox)
        assert [task.id for task in chosen.tasks] == ["either"]
        (error,) = map(str, chosen.broken)
        assert error.endswith("needs docker: RUN apt-get at line 2; choose --sandbox docker")
    chosen = choose_tasks(plugins, tmp_path / "set", sandbox="docker")
    assert [task.id for task in chosen.tasks] == ["either", "needs"]
    assert chosen.broken == []
    with pytest.raises(BadInput, match=r"no readable task: .*; choose --sandbox docker"):
        choose_tasks(plugins, tmp_path / "set" / "needs")


async def test_nothing_else_opens_a_workspace_that_is_in_an_image(bundle: Bundle) -> None:
    task = load_task(bundle(IN_IMAGE))
    sandboxes = await provider("process")
    async with sandboxes.open(SandboxSpec()) as sandbox:
        with pytest.raises(BrokenTask, match="needs docker"):
            await put_files(task, sandbox)


@pytest.mark.parametrize("name", ["process", "bubblewrap"])
async def test_an_image_is_asked_of_a_sandbox_that_runs_it(bundle: Bundle, name: str) -> None:
    sandboxes = PROVIDERS[name]()
    await check_images([load_task(bundle(EITHER))], sandboxes)  # it runs without
    with pytest.raises(BrokenTask, match=r"needs docker: RUN apt-get .*; choose --sandbox docker"):
        await check_images([load_task(bundle(IN_IMAGE, at="needs"))], sandboxes)
    with pytest.raises(MissingPrerequisite, match="runs no images: example/app:1"):
        await sandboxes.check_images(["example/app:1"])
