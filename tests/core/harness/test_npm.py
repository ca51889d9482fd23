from __future__ import annotations

import json
from pathlib import Path

import pytest

from harness_adapters import BadInput, MissingPrerequisite
from harness_adapters.harness.npm import check_npm_pin, install_npm, read_npm_package


def package(folder: Path, **manifest: object) -> Path:
    folder.mkdir(parents=True)
    (folder / "package.json").write_text(json.dumps(manifest))
    return folder


@pytest.mark.parametrize(
    ("name", "version"),
    [
        ("@mariozechner/pi-coding-agent", "latest"),
        ("@mariozechner/pi-coding-agent", "^0.73.1"),
        ("@mariozechner/pi-coding-agent", "0.73"),
        ("../evil", "1.0.0"),
        ("--global", "1.0.0"),
        ("https://example.org/x.tgz", "1.0.0"),
        ("pi;true", "1.0.0"),
    ],
)
def test_only_one_exact_version_of_a_named_package(name: str, version: str) -> None:
    with pytest.raises(BadInput):
        check_npm_pin(name, version)


def test_a_package_is_read_from_its_own_manifest(tmp_path: Path) -> None:
    folder = package(
        tmp_path / "node_modules/@me/tool",
        name="@me/tool",
        version="1.2.3",
        bin={"tool": "dist/cli.js"},
        engines={"node": ">=20"},
    )
    (folder / "dist").mkdir()
    (folder / "dist/cli.js").write_text("")

    found = read_npm_package(folder)

    assert (found.name, found.version, found.engine) == ("@me/tool", "1.2.3", ">=20")
    assert found.root == tmp_path.resolve() / "node_modules"
    assert found.program("tool") == Path("@me/tool/dist/cli.js")
    with pytest.raises(MissingPrerequisite, match="no program 'other'"):
        found.program("other")


@pytest.mark.parametrize("manifest", [None, "", "[]", '{"name": "x"}', '{"name": 1, "version": 2}'])
def test_a_folder_without_a_package_is_said_so(tmp_path: Path, manifest: str | None) -> None:
    if manifest is not None:
        (tmp_path / "package.json").write_text(manifest)

    with pytest.raises(MissingPrerequisite, match="package"):
        read_npm_package(tmp_path)


async def test_without_a_network_the_reason_and_the_way_out_are_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HA_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("npm_config_cache", str(tmp_path / "npm"))
    monkeypatch.setenv("npm_config_registry", "http://127.0.0.1:9/")
    monkeypatch.setenv("npm_config_fetch_retry_mintimeout", "10")

    with pytest.raises(MissingPrerequisite) as caught:
        await install_npm("left-pad", "1.3.0")

    message = str(caught.value)
    assert message.startswith("cannot reach the npm registry for left-pad@1.3.0 (ECONNREFUSED): ")
    assert "option `path`" in message
    assert list((tmp_path / "cache").glob("npm*")) == []
