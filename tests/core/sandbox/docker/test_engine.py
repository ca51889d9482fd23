"""Engines that are not there, or do not do their part."""

from __future__ import annotations

import asyncio
import builtins
import json
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from harness_adapters.errors import InfraError, MissingPrerequisite
from harness_adapters.sandbox.base import SandboxSpec
from harness_adapters.sandbox.docker.engine import connected
from harness_adapters.sandbox.docker.provider import Docker
from harness_adapters.sandbox.providers import provider

VERSION = {"ApiVersion": "1.41"}


@pytest.mark.parametrize(
    ("host", "says"),
    [
        ("unix:///nowhere/docker.sock", "no Docker Engine answers at unix:///nowhere/docker.sock"),
        ("unix:///nowhere/docker.sock", r"\(No such file or directory\).*DOCKER_HOST"),
        ("tcp://192.0.2.1:2375", "at tcp://192.0.2.1:2375 is not on this machine"),
        ("ssh://somewhere", "is not on this machine"),
    ],
)
async def test_without_an_engine_the_probe_says_what_to_do(
    host: str, says: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DOCKER_HOST", host)
    with pytest.raises(MissingPrerequisite, match=says) as told:
        await provider("docker")
    assert "\n" not in str(told.value)


async def test_without_the_package_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    real = builtins.__import__

    def without(name: str, *rest: Any, **more: Any) -> Any:
        if name == "docker":
            raise ImportError(name)
        return real(name, *rest, **more)

    monkeypatch.setattr(builtins, "__import__", without)
    found = await Docker().probe()
    assert not found.ok
    assert "pip install 'harness-adapters[docker]'" in found.reason


@asynccontextmanager
async def engine_that_answers(
    answers: Mapping[str, tuple[int, object]], socket: Path
) -> AsyncIterator[None]:
    """:param answers: a part of the URL -> status and content; ``None`` hangs up."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        order = (await reader.readline()).decode()
        length = 0
        while line := (await reader.readline()).lower().strip():
            if line.startswith(b"content-length:"):
                length = int(line.partition(b":")[2])
        await reader.readexactly(length)
        status, content = next(
            (answers[part] for part in answers if part in order), (404, {"message": "no"})
        )
        if content is not None:
            body = json.dumps(content).encode()
            lines = (
                f"HTTP/1.1 {status} -\r\nContent-Type: application/json\r\nConnection: close\r\n"
            )
            writer.write(f"{lines}Content-Length: {len(body)}\r\n\r\n".encode() + body)
        writer.close()

    async with await asyncio.start_unix_server(serve, socket):
        yield


@pytest.mark.parametrize(
    ("answers", "says"),
    [
        ({"containers/create": (500, {"message": "no space\nleft"})}, "no space left"),
        ({"containers/create": (200, None)}, "Docker Engine: "),
        ({"containers/create": (201, {"Id": "x"}), "attach": (409, {})}, "does not attach"),
        ({"containers/create": (201, {"Id": "x"}), "attach": (200, None)}, "does not attach"),
    ],
)
async def test_an_engine_that_refuses_is_an_infra_fault_in_one_line(
    answers: dict[str, tuple[int, object]],
    says: str,
    tmp_path: Path,
    state_folder: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("DOCKER_HOST", f"unix://{tmp_path}/docker.sock")
    answers = {"/version": (200, VERSION), "images/json": (200, [{"Id": "here"}]), **answers}
    async with engine_that_answers(answers, tmp_path / "docker.sock"):
        with pytest.raises(InfraError, match=says) as told:
            async with Docker().open(SandboxSpec()):
                pass
    assert "\n" not in str(told.value)
    assert list(state_folder.rglob("*.lease")) == []


async def test_something_else_at_the_socket_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DOCKER_HOST", f"unix://{tmp_path}/docker.sock")
    async with engine_that_answers({"/version": (200, None)}, tmp_path / "docker.sock"):
        with pytest.raises(MissingPrerequisite, match="no Docker Engine answers"):
            async with connected():
                pass
