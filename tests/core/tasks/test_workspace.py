from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

from harness_adapters.sandbox.base import FileEntry, SandboxSpec, User
from harness_adapters.sandbox.providers import provider
from harness_adapters.tasks.bundle import load_task
from harness_adapters.tasks.workspace import (
    original_files,
    original_tree,
    put_files,
    writable_folders,
)

Bundle = Callable[..., Path]
DOCKERFILE = """\
FROM debian:12
COPY repo/ /work/
WORKDIR /work
COPY data.csv /home/user/input/
COPY data.csv more/
"""


class Shelf:
    """Notes what is put into a sandbox."""

    def __init__(self) -> None:
        self.files: dict[str, bytes] = {}

    async def put(
        self, files: Mapping[str, FileEntry], *, at: str, user: User = User.AGENT
    ) -> None:
        self.files |= {f"{at}/{name}": entry.content for name, entry in files.items()}


async def test_folders_are_expanded_and_land_where_the_dockerfile_says(bundle: Bundle) -> None:
    folder = bundle({"environment/Dockerfile": DOCKERFILE, "environment/data.csv": "a,b\n"})
    (folder / "environment/repo/run.sh").write_text("true")
    (folder / "environment/repo/run.sh").chmod(0o755)
    (folder / "environment/repo/shop/__pycache__").mkdir()
    (folder / "environment/repo/shop/__pycache__/x.pyc").write_bytes(b"")
    task = load_task(folder)
    places = set(original_files(task))
    assert places == {
        "/work/run.sh",
        "/work/shop/__init__.py",
        "/work/shop/cart.py",
        "/work/tests/test_cart.py",
        "/work/more/data.csv",
        "/home/user/input/data.csv",
    }
    assert original_files(task)["/work/run.sh"].mode == 0o755
    assert original_files(task)["/work/shop/cart.py"].mode == 0o644
    assert set(original_tree(task)) == {p[6:] for p in places if p.startswith("/work/")}
    shelf = Shelf()
    await put_files(task, shelf)  # type: ignore[arg-type]
    assert set(shelf.files) == places


def test_a_sandbox_has_a_writable_folder_for_every_file(bundle: Bundle) -> None:
    task = load_task(
        bundle({"environment/Dockerfile": DOCKERFILE, "environment/data.csv": "a,b\n"})
    )
    assert set(writable_folders(task)) == {"/work", "/home/agent", "/tmp", "/home/user/input"}


async def test_folders_that_the_dockerfile_makes_are_there(bundle: Bundle) -> None:
    folder = bundle(
        {
            "environment/Dockerfile": "FROM x\nWORKDIR /work\nCOPY repo/ /work/\n"
            "RUN mkdir -p /work/out /data/in/deep\n"
        }
    )
    task = load_task(folder)
    assert "/data/in/deep" in writable_folders(task)
    spec = SandboxSpec(workdir=task.workdir, writable=writable_folders(task))
    async with (await provider()).open(spec) as sandbox:
        await put_files(task, sandbox, user=User.OWNER)
        result = await sandbox.exec(["test", "-d", "/work/out", "-a", "-d", "/data/in/deep"])
        assert result.returncode == 0
