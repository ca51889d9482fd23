from __future__ import annotations

import pytest

from harness_adapters.sandbox.base import FileEntry, SandboxProvider, SandboxSpec


@pytest.mark.parametrize("argv", [["pytest", "-v"], ["python", "-I", "-m", "pytest", "-v"]])
async def test_pytest_runs_as_an_agent_would_run_it(
    bounded: SandboxProvider, argv: list[str]
) -> None:
    test = {"test_a.py": FileEntry(content=b"def test_a(): pass\n")}
    async with bounded.open(SandboxSpec()) as sandbox:
        await sandbox.put(test, at="/work")
        result = await sandbox.exec(argv)
    assert result.returncode == 0, result.stdout + result.stderr
    assert b"pluggy-" in result.stdout
