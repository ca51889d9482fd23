"""Packages from PyPI: the pin, what is read from an installed one, and clear refusals."""

from __future__ import annotations

import hashlib
import sys
import zipfile
from pathlib import Path

import pytest

from harness_adapters import BadInput, MissingPrerequisite
from harness_adapters.harness.program import run_program
from harness_adapters.harness.pypi import check_pypi_pin, install_pypi, read_python_package


@pytest.mark.parametrize("version", ["1", "0.19.0", "2026.5.20", "1.0rc1", "1.0.post2", "1.0.dev3"])
def test_one_exact_version_is_a_pin(version: str) -> None:
    check_pypi_pin("hermes-agent", version)


@pytest.mark.parametrize(
    ("package", "version", "message"),
    [
        ("hermes agent", "1.0", "is no PyPI package name"),
        ("--index-url", "1.0", "is no PyPI package name"),
        ("../x", "1.0", "is no PyPI package name"),
        ("x", "latest", "'latest' is not one exact version"),
        ("x", ">=1", "is not one exact version"),
        ("x", "1.*", "is not one exact version"),
        ("x", "1.0 --pre", "is not one exact version"),
    ],
)
def test_anything_else_is_not(package: str, version: str, message: str) -> None:
    with pytest.raises(BadInput, match=message.replace("*", r"\*")):
        check_pypi_pin(package, version)


def metadata(site: Path, name: str, version: str) -> None:
    folder = site / f"{name}-{version}.dist-info"
    folder.mkdir(parents=True)
    (folder / "METADATA").write_text(f"Metadata-Version: 2.1\nName: x\nVersion: {version}\n\nText")


@pytest.mark.parametrize("spelled", ["my_tool", "My.Tool", "my-tool"])
def test_a_flat_folder_is_read_however_the_name_is_spelled(tmp_path: Path, spelled: str) -> None:
    metadata(tmp_path, spelled.lower(), "1.2.3")

    package = read_python_package("my-tool", tmp_path)

    assert (package.version, package.site) == ("1.2.3", tmp_path.resolve())


def test_a_virtual_environment_is_read_if_it_is_for_this_python(tmp_path: Path) -> None:
    (tmp_path / "pyvenv.cfg").touch()
    with pytest.raises(MissingPrerequisite, match="is an environment of another Python"):
        read_python_package("my-tool", tmp_path)
    site = tmp_path / f"lib/python3.{sys.version_info.minor}/site-packages"
    metadata(site, "my_tool", "1.2.3")

    assert read_python_package("my-tool", tmp_path).site == site.resolve()


def test_a_folder_without_it_is_said_so(tmp_path: Path) -> None:
    metadata(tmp_path, "my_tool_two", "1.2.3")

    with pytest.raises(MissingPrerequisite, match="holds no installed my-tool"):
        read_python_package("my-tool", tmp_path)


async def test_what_cannot_be_installed_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("HA_CACHE", str(tmp_path))

    with pytest.raises(MissingPrerequisite, match="installing my-tool failed: the package index"):
        await install_pypi("my-tool", "1.2.3")

    assert [path.name for path in tmp_path.iterdir() if path.is_dir()] == []


async def test_an_installed_package_runs_from_its_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    wheels = tmp_path / "wheels"
    wheels.mkdir()
    build_wheel(wheels / "my_tool-1.2.3-py3-none-any.whl")
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(wheels))
    monkeypatch.setenv("HA_CACHE", str(tmp_path / "cache"))

    lock = tmp_path / "lock.txt"
    lock.write_text("my-tool==1.2.3 --hash=sha256:" + "0" * 64 + "\n")
    with pytest.raises(MissingPrerequisite, match="is not what the lock says"):
        await install_pypi("my-tool", "1.2.3", lock=lock)
    right = hashlib.sha256((wheels / "my_tool-1.2.3-py3-none-any.whl").read_bytes()).hexdigest()
    lock.write_text(f"my-tool==1.2.3 --hash=sha256:{right}\n")

    package = await install_pypi("my-tool", "1.2.3", lock=lock)

    assert package.version == "1.2.3"
    assert list(package.site.glob("__pycache__/my_tool.*.pyc"))
    shown = await run_program(
        [sys.executable, "-I", "-S", "-c", f"import sys; sys.path.insert(0, {str(package.site)!r});"
         "import my_tool; print(my_tool.SAID)"],
        timeout=20.0,
    )  # fmt: skip
    assert shown.output == "hello"
    (wheels / "my_tool-1.2.3-py3-none-any.whl").unlink()
    assert await install_pypi("my-tool", "1.2.3", lock=lock) == package


def build_wheel(path: Path) -> None:
    info = "my_tool-1.2.3.dist-info"
    files = {
        "my_tool.py": "SAID = 'hello'\n",
        f"{info}/METADATA": "Metadata-Version: 2.1\nName: my-tool\nVersion: 1.2.3\n",
        f"{info}/WHEEL": "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    }
    with zipfile.ZipFile(path, "w") as wheel:
        for name, content in files.items():
            wheel.writestr(name, content)
        wheel.writestr(f"{info}/RECORD", "".join(f"{name},,\n" for name in files))
