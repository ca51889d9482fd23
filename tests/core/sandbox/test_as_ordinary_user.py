"""What runs sandboxes again as an ordinary user: other uids, user namespaces, no cgroups."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

HERE = Path(__file__).parent
WHAT_DEPENDS_ON_IT = ("test_isolation.py", "test_parent_killed.py", "test_providers.py")
ROOT = HERE.parents[2]
UID = 64321


@pytest.fixture
def home() -> Iterator[Path]:
    """Outside of pytest's own folders, which are closed to other users."""
    folder = Path(tempfile.mkdtemp(prefix="ha-test-home-"))
    yield folder
    shutil.rmtree(folder)


@pytest.mark.skipif(os.geteuid() != 0, reason="this is the ordinary user's run")
@pytest.mark.timeout(400)
@pytest.mark.parametrize(
    "files",
    [
        pytest.param(WHAT_DEPENDS_ON_IT, id="isolation"),
        pytest.param(("test_contract.py",), id="contract", marks=pytest.mark.full),
    ],
)
def test_as_ordinary_user(home: Path, files: tuple[str, ...]) -> None:
    readable = {str(Path(path).resolve()) for path in (sys.base_prefix, sys.prefix, ROOT)}
    command = ["unshare", "--mount", "sh", str(HERE / "as_user.sh"), str(UID), str(home)]
    command += [*sorted(readable), "--", sys.executable, "-m", "pytest", "-q"]
    command += [str(HERE / name) for name in files]
    command += ["-p", "no:cacheprovider", "--rootdir", str(ROOT), "--basetemp", f"{home}/tmp"]
    done = subprocess.run(
        command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False
    )
    assert done.returncode == 0, done.stdout.decode()[-8000:]
