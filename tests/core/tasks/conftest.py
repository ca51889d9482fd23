"""Small task bundles, written on the spot."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

TOML = """\
schema_version = "1.4"
[task]
name = "harness-adapters/{id}"
[metadata]
difficulty = "easy"
[metadata.harness_adapters]
kind = "repair"
cluster = "shop"
split = "train"
[metadata.harness_adapters.repair]
fail_to_pass = ["test_cart.py::test_total"]
[agent]
timeout_sec = 60
[verifier]
timeout_sec = 30
environment_mode = "separate"
[environment]
allow_internet = false
"""
FILES = {
    "instruction.md": "Fix the total of a cart.\n",
    "task.toml": TOML.format(id="cart"),
    "environment/Dockerfile": "FROM debian:12\nCOPY repo/ /work/\nWORKDIR /work\n",
    "environment/repo/shop/__init__.py": "",
    "environment/repo/shop/cart.py": "def total(prices):\n    return sum(prices[1:])\n",
    "environment/repo/tests/test_cart.py": "def test_total(): ...\n",
    "tests/test.sh": "echo 1 > /logs/verifier/reward.txt\n",
    "tests/test_cart.py": "def test_total(subject): ...\n",
}

Bundle = Callable[..., Path]


@pytest.fixture
def bundle(tmp_path: Path) -> Bundle:
    """Write a bundle: the files above, with some replaced, added, or (``None``) left out."""

    def write(changes: Mapping[str, str | bytes | None] = {}, *, at: str = "cart") -> Path:
        folder = tmp_path / at
        for name, content in {**FILES, **changes}.items():
            if content is None:
                continue
            path = folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return folder

    return write


@pytest.fixture
def task_toml() -> str:
    """The ``task.toml`` of ``bundle``, to change a line in."""
    return FILES["task.toml"]
