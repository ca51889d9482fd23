from __future__ import annotations

import base64
import hashlib
import io
import json
import tarfile
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from aiohttp import web

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


def test_a_package_is_found_from_its_command(tmp_path: Path) -> None:
    """What a user would name: npm's link to the script, among other commands."""
    modules = tmp_path / "lib/node_modules"
    folder = package(modules / "@me/tool", name="@me/tool", version="1.2.3")
    (folder / "dist").mkdir()
    (folder / "dist/cli.js").write_text("")
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin/tool").symlink_to("../lib/node_modules/@me/tool/dist/cli.js")

    assert read_npm_package(tmp_path / "bin/tool") == read_npm_package(folder)


def tarball() -> bytes:
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w:gz") as tar:
        manifest = json.dumps({"name": "little-tool", "version": "1.2.3"}).encode()
        member = tarfile.TarInfo("package/package.json")
        member.size = len(manifest)
        tar.addfile(member, io.BytesIO(manifest))
    return packed.getvalue()


def integrity(content: bytes) -> str:
    return "sha512-" + base64.b64encode(hashlib.sha512(content).digest()).decode()


class Registry:
    """As much of a registry as npm needs, with one package."""

    content = tarball()
    url = ""

    async def metadata(self, request: web.Request) -> web.Response:
        dist = {"tarball": f"{self.url}/tool.tgz", "integrity": integrity(self.content)}
        version = {"name": "little-tool", "version": "1.2.3", "dist": dist}
        return web.json_response(
            {
                "name": "little-tool",
                "dist-tags": {"latest": "1.2.3"},
                "versions": {"1.2.3": version},
            }
        )

    async def package(self, request: web.Request) -> web.Response:
        return web.Response(body=self.content)


@pytest.fixture
async def registry(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Registry]:
    """The only one that npm knows here."""
    one = Registry()
    app = web.Application()
    app.router.add_get("/little-tool", one.metadata)
    app.router.add_get("/tool.tgz", one.package)
    runner = web.AppRunner(app, shutdown_timeout=0.1)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    one.url = f"http://127.0.0.1:{runner.addresses[0][1]}"
    monkeypatch.setenv("HA_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("npm_config_cache", str(tmp_path / "npm"))
    monkeypatch.setenv("npm_config_registry", f"{one.url}/")
    yield one
    await runner.cleanup()


async def test_a_lock_is_kept_to(tmp_path: Path, registry: Registry) -> None:
    """The real npm: a package other than the one that was locked is not installed."""
    lock = tmp_path / "lock.json"
    locked = {"version": "1.2.3", "integrity": integrity(registry.content)}
    root = {"dependencies": {"little-tool": "1.2.3"}}
    content = {"lockfileVersion": 3, "packages": {"": root, "node_modules/little-tool": locked}}
    lock.write_text(json.dumps(content))

    installed = await install_npm("little-tool", "1.2.3", lock=lock)
    assert installed.version == "1.2.3"

    locked["integrity"] = integrity(b"what it was when it was locked")
    lock.write_text(json.dumps(content))
    with pytest.raises(MissingPrerequisite, match="something else for little-tool"):
        await install_npm("little-tool", "1.2.3", lock=lock)
    assert len(list((tmp_path / "cache").glob("npm*"))) == 1
