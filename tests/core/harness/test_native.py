from __future__ import annotations

import platform
import sys
from pathlib import Path

import pytest

from harness_adapters import MissingPrerequisite
from harness_adapters.harness.native import is_native, native_version


async def test_a_program_is_asked_for_its_version() -> None:
    binary = Path(sys.executable).resolve()
    assert is_native(binary)
    version = await native_version(binary, harness="Python", says=r"Python (\S+)")
    assert version == platform.python_version()


@pytest.mark.parametrize("text", ["exit 1", "echo 1.2.3; exit 1", "echo hello", "kill -9 $$"])
async def test_one_that_does_not_tell_is_not_taken(tmp_path: Path, text: str) -> None:
    script = tmp_path / "tool"
    script.write_text(f"#!/bin/sh\n{text}\n")
    script.chmod(0o755)
    assert not is_native(script)
    with pytest.raises(MissingPrerequisite, match="is no tool: it does not tell its version"):
        await native_version(script, harness="tool")


async def test_nothing_there_does_not_start(tmp_path: Path) -> None:
    assert not is_native(tmp_path / "none")
    with pytest.raises(MissingPrerequisite, match="does not start"):
        await native_version(tmp_path / "none", harness="tool")
