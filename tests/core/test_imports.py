"""Listing commands and plugins stays light: a command line is judged by its first second."""

from __future__ import annotations

import subprocess
import sys

import pytest

HEAVY = {"torch", "transformers", "trl", "vllm", "datasets", "pyarrow", "aiohttp", "tokenizers"}


@pytest.mark.parametrize("arguments", [["--help"], ["plugins"], ["plugins", "--json"]])
def test_listing_imports_nothing_heavy(arguments: list[str]) -> None:
    code = (
        "import sys\n"
        "from harness_adapters.cli import main\n"
        "try:\n"
        f"    main({arguments!r})\n"
        "except SystemExit as end:\n"
        "    assert not end.code, end.code\n"
        f"print('heavy:', *sorted({HEAVY!r} & set(sys.modules)))\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[-1].strip() == "heavy:"
