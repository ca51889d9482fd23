"""The images that exported tasks describe: built by a real engine, and the tasks run in them the
way Harbor does, the agent in one container and the verifier in another. No registry is needed: the
base image is made of this machine's Python."""

from __future__ import annotations

import io
import shutil
import subprocess
import sys
import tarfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import pytest
from containers import docker_sandboxes
from images import SHELL, local_image, python_files

from harness_adapters.harbor.additions import IMAGE, PYTEST
from harness_adapters.harbor.export import export_tasks
from harness_adapters.sandbox.docker.engine import client

pytestmark = [pytest.mark.full, pytest.mark.timeout(900), pytest.mark.xdist_group("images")]

EXAMPLES = Path(__file__).parents[3] / "examples"
TASKS = (
    "tasks/repair-bookings",
    "tasks/qa-accounts-0012",
    "projects/build-slugs",
    "projects/extend-tally",
)
VERIFY = "mkdir -p /logs/verifier && bash /tests/test.sh; cat /logs/verifier/reward.* >&2"


@pytest.fixture(scope="module")
def engine() -> Iterator[Any]:
    docker_sandboxes()
    api, _ = client()
    yield api
    api.close()


@pytest.fixture(scope="module")
def base(engine: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The image that exported Dockerfiles begin with. It installs packages from a folder in it."""
    if engine.images(IMAGE, quiet=True):
        pytest.skip(f"the engine has an {IMAGE} of its own, which would need a network")
    wheels = tmp_path_factory.mktemp("wheels")
    got = subprocess.run(
        [sys.executable, "-m", "pip", "download", "-q", "-d", wheels, f"pytest=={PYTEST}"],
        capture_output=True,
        text=True,
        check=False,
    )
    if got.returncode:
        pytest.skip(f"pytest {PYTEST} cannot be had: {got.stderr.strip().splitlines()[-1]}")
    files = {
        **python_files(),
        "/wheels": wheels,
        "/etc/pip.conf": "[global]\nno-index = true\nfind-links = /wheels\n",
        "/usr/local/bin/pip": '#!/bin/sh\nexec python3 -m pip "$@"\n',
        "/etc/passwd": "root:x:0:0::/root:/bin/sh\n",
        "/etc/group": "root:x:0:\n",
    }
    with local_image(files, programs=(*SHELL, "useradd"), name=IMAGE) as name:
        yield name


@pytest.fixture(scope="module")
def exported(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("exported")
    for name in TASKS:
        shutil.copytree(EXAMPLES / name, root / "ours" / Path(name).name)
    export_tasks(root / "ours", root / "theirs")
    return root / "theirs"


@contextmanager
def built(engine: Any, context: Path) -> Iterator[str]:
    name = f"ha-test-{context.parent.name}-{context.name}:1"
    steps = list(
        engine.build(
            path=str(context), tag=name, network_mode="none", rm=True, forcerm=True, decode=True
        )
    )
    said = "".join(step.get("stream", step.get("error", "")) for step in steps)
    assert f"Successfully tagged {name}" in said, said
    try:
        yield name
    finally:
        engine.remove_image(name, force=True)


def packed(folder: Path, at: str) -> bytes:
    data = io.BytesIO()
    with tarfile.open(fileobj=data, mode="w") as tar:
        tar.add(folder, at)
    return data.getvalue()


def ran(engine: Any, image: str, command: str, files: list[bytes], keep: str = "") -> Any:
    """Run a script as whom the image says; what it says on stderr, and a folder of what it left."""
    made = engine.create_container(
        image,
        ["bash", "-c", command],
        user="agent" if keep else "root",
        host_config=engine.create_host_config(network_mode="none"),
    )["Id"]
    try:
        for content in files:
            engine.put_archive(made, "/", content)
        engine.start(made)
        assert engine.wait(made)["StatusCode"] in (0, 1)
        said = engine.logs(made, stdout=False).decode()
        left = b"".join(engine.get_archive(made, keep)[0]) if keep else b""
        return said, left
    finally:
        engine.remove_container(made, force=True)


@pytest.mark.parametrize("name", [Path(task).name for task in TASKS])
def test_an_exported_task_is_built_and_solved_in_its_images(
    engine: Any, base: str, exported: Path, name: str
) -> None:
    task = exported / name
    solution, tests = packed(task / "solution", "solution"), packed(task / "tests", "tests")
    own = (task / "tests" / "Dockerfile").exists()
    with ExitStack() as stack:
        image = stack.enter_context(built(engine, task / "environment"))
        verifier = stack.enter_context(built(engine, task / "tests")) if own else image
        for play, reward in (("bash /solution/solve.sh", 1.0), ("true", 0.0)):
            whole = f"{play} && id -un >&2"
            said, left = ran(engine, image, whole, [solution], keep="/work")
            assert said.splitlines()[-1] == "agent", said
            graded, _ = ran(engine, verifier, VERIFY, [left] if own else [left, tests])
            assert float(graded.split()[-1]) == reward, graded
