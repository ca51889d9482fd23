"""pyproject.toml lists every plugin package by hand; this keeps the lists true to the tree."""

import tomllib
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
CONFIG: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text())
TREE = sorted(str(p.parent.relative_to(ROOT)) for p in ROOT.glob("plugins/*/ha_*/__init__.py"))
MODULES = sorted(Path(path).name for path in TREE)


def test_every_plugin_package_ships_in_the_wheel() -> None:
    packages = CONFIG["tool"]["hatch"]["build"]["targets"]["wheel"]["packages"]
    assert sorted(packages) == ["core/harness_adapters", *TREE]


def test_every_plugin_package_has_an_entry_point() -> None:
    assert sorted(CONFIG["project"]["entry-points"]["harness_adapters"].values()) == MODULES


def test_every_import_contract_knows_every_plugin() -> None:
    contracts = {one["id"]: one for one in CONFIG["tool"]["importlinter"]["contracts"]}
    assert sorted(contracts["core-knows-no-plugin"]["forbidden_modules"]) == MODULES
    assert sorted(contracts["plugins-independent"]["modules"]) == MODULES
    assert sorted(contracts["plugins-public-api-only"]["source_modules"]) == MODULES


def test_source_roots_are_no_packages() -> None:
    for root in CONFIG["tool"]["hatch"]["build"]["dev-mode-dirs"]:
        assert not (ROOT / root / "__init__.py").exists()


def test_every_package_says_that_it_is_typed() -> None:
    for path in [*TREE, "core/harness_adapters"]:
        assert (ROOT / path / "py.typed").exists(), path
