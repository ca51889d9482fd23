"""Each pinned harness has a lock: every package by version and hash, and no registry named."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from ha_harness_hermes.driver import LOCK
from ha_harness_hermes.options import PACKAGE, VERSION
from ha_harness_pi.options import VERSIONS, PiOptions

ROOT = Path(__file__).parents[3]
LOCKS = [
    *ROOT.glob("plugins/harnesses/*/lock.json"),
    *ROOT.glob("plugins/harnesses/*/locks/*.json"),
    *ROOT.glob("examples/plugins/*/src/*/lock.json"),
]


@pytest.mark.parametrize("path", LOCKS, ids=lambda path: path.parent.name + "-" + path.stem)
def test_npm(path: Path) -> None:
    lock = json.loads(path.read_text())
    ((name, version),) = lock["packages"].pop("")["dependencies"].items()
    assert lock["packages"][f"node_modules/{name}"]["version"] == version
    for package in lock["packages"].values():
        assert package["version"] and package["integrity"].startswith("sha512-")
    assert "://" not in path.read_text()


def test_every_tested_pi_has_one() -> None:
    for package, version in VERSIONS.items():
        lock = PiOptions(package=package, version=version).lock
        assert lock in LOCKS and f'"{package}": "{version}"' in lock.read_text()
    assert PiOptions(version="0.73.0").lock is None
    assert len(LOCKS) == 5


def test_pypi() -> None:
    text = LOCK.read_text().replace("\\\n", "")
    assert "://" not in text
    assert f"{PACKAGE}=={VERSION}" in text
    for line in text.splitlines():
        assert re.fullmatch(r"[\w.-]+==[\w.+-]+( *--hash=sha256:[0-9a-f]{64})+", line), line
