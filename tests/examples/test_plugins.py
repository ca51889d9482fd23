"""The example distributions, and new ones from ``ha plugin new``, each installed as a wheel."""

from __future__ import annotations

import asyncio
import json
import runpy
import shutil
import subprocess
from pathlib import Path

import pytest
from distributions import PLUGINS, ROOT, Environment, build_wheel

from harness_adapters.harness.node import find_node, minimum_version
from harness_adapters.harness.npm import install_npm

PYRIGHT = "1.1.414"
HARNESSES = ["claudecode", "codex", "mini-swe-agent"]
KINDS = ["guard", "harness", "task", "reward"]


@pytest.fixture(scope="session")
def core(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel of harness-adapters."""
    return build_wheel(ROOT, tmp_path_factory.mktemp("core"))


def installed(project: Path, core: Path, tmp_path: Path) -> Environment:
    """An environment with harness-adapters and one plugin; only wheels, no source tree."""
    wheel = build_wheel(project, tmp_path)
    return Environment(tmp_path / "env", [core, wheel])


def kit_of_its_own_tree(project: Path, environment: Environment, tmp_path: Path) -> str:
    """What its tests say, run from a copy that holds no source."""
    shutil.copytree(project / "tests", tmp_path / "tree" / "tests")
    shutil.copy(project / "pyproject.toml", tmp_path / "tree")
    done = environment.run(
        "-m", "pytest", "-q", "-W", "error", "-p", "no:cacheprovider", cwd=tmp_path / "tree"
    )
    assert done.returncode == 0, done.stdout[-4000:]
    return done.stdout.splitlines()[-1]


@pytest.mark.full
@pytest.mark.timeout(300)
def test_a_guard_in_one_page(core: Path, tmp_path: Path) -> None:
    project = PLUGINS / "ha-guard-no-package-install"
    environment = installed(project, core, tmp_path)

    listed = json.loads(environment.ha("plugins", "--json", cwd=tmp_path).stdout)
    (info,) = [one for one in listed["plugins"] if not one["builtin"]]
    assert (info["distribution"], info["status"]) == ("ha-guard-no-package-install", "loaded")
    assert info["offers"] == ["guard no_package_install"]
    where = environment.run(
        "-c", "import harness_adapters; print(harness_adapters.__file__)", cwd=tmp_path
    )
    assert where.stdout.startswith(str(tmp_path / "env")), "the wheel, not the source tree"

    assert " passed" in kit_of_its_own_tree(project, environment, tmp_path)


@pytest.mark.full
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("name", HARNESSES)
def test_a_harness_driver(name: str, core: Path, tmp_path: Path) -> None:
    project = PLUGINS / f"ha-harness-{name}"
    environment = installed(project, core, tmp_path)

    assert " passed" in kit_of_its_own_tree(project, environment, tmp_path)
    words = ("run", ROOT / "examples" / "tasks", "--harness", name, "--limit", "2", "--json")
    done = environment.ha(*words, "--engine", "scripted:oracle", "--out", "run", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout.splitlines()[-1])["solved"] == 2


@pytest.mark.timeout(300)
@pytest.mark.parametrize(
    "kind",
    [kind if kind == "guard" else pytest.param(kind, marks=pytest.mark.full) for kind in KINDS],
)
def test_a_new_distribution_passes_its_check_at_once(kind: str, core: Path, tmp_path: Path) -> None:
    environment = Environment(tmp_path / "env", [core])
    made = environment.ha("plugin", "new", kind, "one-of-mine", "--json", cwd=tmp_path)
    assert made.returncode == 0, made.stderr
    project = Path(json.loads(made.stdout)["folder"])
    assert project == tmp_path / f"ha-{kind}-one-of-mine"
    environment.install(build_wheel(project, tmp_path))

    checked = environment.ha("plugin", "check", "one-of-mine", "--json", cwd=tmp_path)

    assert checked.stdout, checked.stderr
    result = json.loads(checked.stdout)
    assert [one for one in result["tests"] if one["result"] != "passed"] == []
    assert (checked.returncode, result["failed"]) == (0, 0)
    assert result["passed"] >= 10


@pytest.mark.full
@pytest.mark.timeout(300)
def test_the_guides_own_guard_passes_its_check(core: Path, tmp_path: Path) -> None:
    """What docs/write-a-guard.md shows, and that a first try of it does not pass."""
    newcomer = runpy.run_path(str(ROOT / "scripts" / "claims" / "newcomer.py"))
    environment = Environment(tmp_path / "env", [core])
    environment.ha("plugin", "new", "guard", newcomer["NAME"], cwd=tmp_path)
    project = tmp_path / f"ha-guard-{newcomer['NAME']}"
    package = project / "src" / "ha_guard_no_force_push"
    (package / "contract.py").write_text(newcomer["CONTRACT"])
    environment.install(build_wheel(project, tmp_path))
    (installed_package,) = (tmp_path / "env").glob(f"lib/*/site-packages/{package.name}")
    for rule, failed in zip(newcomer["rules"](), (0, 1), strict=True):
        (installed_package / "__init__.py").write_text(rule)
        checked = environment.ha("plugin", "check", newcomer["NAME"], "--json", cwd=tmp_path)
        result = json.loads(checked.stdout)
        assert (checked.returncode, result["failed"]) == (failed, failed), result["tests"]


def projects_of_strangers(core: Path, tmp_path: Path) -> tuple[Environment, list[Path]]:
    """An environment with the wheel of harness-adapters; the examples, and a new one per kind."""
    environment = Environment(tmp_path / "env", [core])
    for kind in KINDS:
        environment.ha("plugin", "new", kind, "one-of-mine", cwd=tmp_path)
    projects = [*PLUGINS.glob("ha-*"), *tmp_path.glob("ha-*")]
    assert len(projects) == len(KINDS) + len(HARNESSES) + 1
    return environment, projects


@pytest.mark.full
@pytest.mark.timeout(600)
def test_pyright_holds_in_a_strangers_own_tree(core: Path, tmp_path: Path) -> None:
    """pyright in strict mode over each distribution, against the installed wheel."""
    environment, projects = projects_of_strangers(core, tmp_path)
    pyright = asyncio.run(install_npm("pyright", PYRIGHT))
    node = asyncio.run(find_node(minimum_version(pyright.engine, default=(18, 0, 0))))
    for project in projects:
        tree = tmp_path / "trees" / project.name
        shutil.copytree(project / "src", tree / "src")
        (tree / "pyrightconfig.json").write_text('{"typeCheckingMode": "strict"}')
        done = subprocess.run(
            [
                *(node.binary, pyright.root / pyright.program("pyright")),
                *("--project", tree, "--pythonpath", environment.python),
            ],
            capture_output=True,
            text=True,
        )
        assert done.returncode == 0, f"{project.name}\n{done.stdout}"
        assert "0 errors, 0 warnings" in done.stdout


@pytest.mark.full
@pytest.mark.timeout(600)
def test_types_hold_in_a_strangers_own_tree(core: Path, tmp_path: Path) -> None:
    """mypy --strict over each distribution, against the installed wheel."""
    environment, projects = projects_of_strangers(core, tmp_path)
    for project in projects:
        done = environment.run(
            *("-m", "mypy", "--strict", "--cache-dir", tmp_path / "cache", project / "src"),
            cwd=tmp_path,
        )
        assert done.returncode == 0, f"{project.name}\n{done.stdout}{done.stderr}"
