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


FUNCTIONS = (
    "run", "rollout", "evaluate", "compare", "load_recipe", "load_task", "load_tasks", "mixture"
)  # fmt: skip


@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_public_function_is_never_hidden_by_a_module(name: str) -> None:
    """A submodule of the same name would take its place as soon as anything imports it."""
    code = (
        "import pkgutil, harness_adapters as ha\n"
        f"assert {name!r} not in [m.name for m in pkgutil.iter_modules(ha.__path__)]\n"
        "import harness_adapters.runs, harness_adapters.evaluation.evaluate\n"
        f"assert callable(ha.{name}), ha.{name}\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("first", ["harness_adapters.train.recipe", "harness_adapters"])
def test_the_package_train_is_callable_whatever_is_imported_first(first: str) -> None:
    code = (
        f"import {first}\n"
        "import harness_adapters as ha\n"
        "from harness_adapters.errors import BadInput\n"
        "assert ha.train.__name__ == 'harness_adapters.train', ha.train\n"
        "try:\n"
        "    ha.train([])\n"
        "except BadInput as error:\n"
        "    print(error)\n"
        "import harness_adapters.train as again\n"
        "assert again is ha.train\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "no recipe" in done.stdout
