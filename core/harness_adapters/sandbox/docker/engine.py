"""The engine's API, as far as sandboxes need it. Its blocking calls run in threads."""

from __future__ import annotations

import asyncio
import json
import os
import secrets
import socket
import threading
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from harness_adapters.errors import BrokenTask, InfraError, MissingPrerequisite
from harness_adapters.sandbox.base import MIB
from harness_adapters.sandbox.docker import image
from harness_adapters.sandbox.reaper import PREFIX, lives, this_process

INSTALL = "pip install 'harness-adapters[docker]'"
START = "start Docker Engine, or set DOCKER_HOST to the unix socket of one on this machine"
OWNER = "harness-adapters.owner"
PLACE = "harness-adapters.place"

Connection = tuple[asyncio.StreamReader, asyncio.StreamWriter]

_DEFAULT = "unix:///var/run/docker.sock"
_STREAMS = "stream=1&stdin=1&stdout=1&stderr=1"
_BUFFER = 1 << 18
_SECONDS = 60.0  # for one answer
_GONE = 404
_BEING_REMOVED = 409
_importing = threading.Lock()


class Engine:
    """One client. Every method raises ``InfraError`` when the engine refuses or does not answer."""

    def __init__(self, api: Any, path: str) -> None:
        self._api = api
        self._path = path

    async def info(self) -> dict[str, Any]:
        return dict(await self._call(self._api.info))

    async def image(self, content: bytes) -> str:
        """The name of an image that holds just this, imported where it is not there yet."""
        return str(await self._call(self._image, content))

    async def inspect(self, name: str) -> dict[str, Any]:
        """What an image is.

        :raises MissingPrerequisite: the engine does not have it.
        """
        return dict(await self._call(self._inspect, name))

    async def contents(self, image: str, folders: Mapping[str, int]) -> dict[str, bytes]:
        """Folders of an image as tar archives, each below one folder; those that it has.

        :param folders: path -> the most bytes to take.
        :raises BrokenTask: there are more.
        """
        name = f"{PREFIX}{secrets.token_hex(8)}"
        try:
            await self.create(name, {"Image": image, "Entrypoint": ["none"], "Labels": labels()})
            return {
                folder: content
                for folder, size in folders.items()
                if (content := await self._call(self._archive, name, folder, size)) is not None
            }
        finally:
            await self.remove(name)

    async def create(self, name: str, configuration: dict[str, Any]) -> None:
        await self._call(self._api.create_container_from_config, configuration, name)

    async def attach(self, name: str) -> Connection:
        """Its standard streams; the container's standard input ends with this connection."""
        url = f"/v{self._api.api_version}/containers/{name}/attach?{_STREAMS}"
        request = (
            f"POST {url} HTTP/1.1\r\nHost: docker\r\nConnection: Upgrade\r\nUpgrade: tcp\r\n\r\n"
        )
        try:
            reader, writer = await asyncio.open_unix_connection(self._path, limit=_BUFFER)
        except OSError as error:
            raise InfraError(f"Docker Engine: {error}") from None
        try:
            writer.write(request.encode())
            async with asyncio.timeout(_SECONDS):
                answer = await reader.readuntil(b"\r\n\r\n")
            if b" 101 " not in answer.partition(b"\r\n")[0]:
                raise InfraError(f"Docker Engine does not attach: {answer[:100]!r}")
        except BaseException as error:
            writer.transport.abort()
            if isinstance(error, OSError | EOFError | asyncio.LimitOverrunError):
                raise InfraError(f"Docker Engine does not attach: {error!r}") from None
            raise
        return reader, writer

    async def start(self, name: str) -> None:
        await self._call(self._api.start, name)

    async def process(self, name: str) -> tuple[int, str]:
        """Pid of its first process, and the container's id, which names its cgroup."""
        found = await self._call(self._api.inspect_container, name)
        return int(found["State"]["Pid"]), str(found["Id"])

    async def remove(self, name: str) -> None:
        """Kill and remove it, and wait until it is gone; one that is gone is no error."""
        await self._call(self._remove, name)

    async def reap(self) -> list[str]:
        """Remove the containers of owners that are gone; their names."""
        return list(await self._call(self._reap))

    async def _call(self, function: Callable[..., Any], *arguments: Any) -> Any:
        try:
            return await _finished(function, *arguments)
        except _errors() as error:
            raise InfraError(f"Docker Engine: {_reason(error)}") from None

    def _image(self, content: bytes) -> str:
        tag = image.tag(content)
        name = f"{image.REPOSITORY}:{tag}"
        with _importing:
            if not self._api.images(name, quiet=True):
                self._api.import_image_from_data(content, image.REPOSITORY, tag)
        return name

    def _inspect(self, name: str) -> Any:
        from docker.errors import NotFound

        try:
            return self._api.inspect_image(name)
        except NotFound:
            raise MissingPrerequisite(
                f"the engine has no image {name!r}; get it by `docker pull {name}`"
            ) from None

    def _archive(self, name: str, folder: str, size: int) -> bytes | None:
        from docker.errors import NotFound

        try:
            chunks, _ = self._api.get_archive(name, f"{folder}/.")
        except NotFound:
            return None
        found = bytearray()
        for chunk in chunks:
            found += chunk
            if len(found) > size:
                raise BrokenTask(f"its image holds more than {size // MIB} MiB in {folder}")
        return bytes(found)

    def _remove(self, name: str) -> None:
        from docker.errors import APIError

        try:
            self._api.remove_container(name, v=True, force=True)
        except APIError as error:
            if error.status_code not in (_GONE, _BEING_REMOVED):
                raise
            if error.status_code == _BEING_REMOVED:
                self._wait_until_removed(name)

    def _wait_until_removed(self, name: str) -> None:
        from docker.errors import NotFound

        try:
            self._api.wait(name, condition="removed")
        except NotFound:
            pass

    def _reap(self) -> list[str]:
        removed: list[str] = []
        filters = {"label": f"{PLACE}={place()}"}
        for container in self._api.containers(all=True, filters=filters):
            name = container["Names"][0].lstrip("/")
            if name.startswith(PREFIX) and not lives(json.loads(container["Labels"][OWNER])):
                self._remove(name)
                removed.append(name)
        return removed


@asynccontextmanager
async def connected() -> AsyncIterator[Engine]:
    """:raises MissingPrerequisite: no engine on this machine answers."""
    api, path = await _finished(client)
    try:
        yield Engine(api, path)
    finally:
        api.close()


async def _finished(function: Callable[..., Any], *arguments: Any) -> Any:
    """Call it in a thread. A cancellation waits for its end: what it makes is cleaned up after."""
    call = asyncio.ensure_future(asyncio.to_thread(function, *arguments))
    try:
        return await asyncio.shield(call)
    except asyncio.CancelledError:
        await asyncio.wait([call])
        if not call.cancelled():
            call.exception()
        raise


def client() -> tuple[Any, str]:
    """The SDK's client, which has to be closed, and the path of the engine's socket.

    :raises MissingPrerequisite: no engine on this machine answers.
    """
    try:
        from docker import APIClient
        from docker.utils import kwargs_from_env
    except ImportError:
        raise MissingPrerequisite(f"the package docker is not installed: {INSTALL}") from None
    where = kwargs_from_env()
    host = str(where.pop("base_url", _DEFAULT))
    scheme, _, path = host.partition("://")
    if scheme != "unix":
        raise MissingPrerequisite(f"Docker Engine at {host} is not on this machine: {START}")
    try:
        with socket.socket(socket.AF_UNIX) as tried:  # its error says more than the SDK's
            tried.connect(path)
        return APIClient(base_url=host, timeout=_SECONDS), path
    except _errors() as error:
        raise MissingPrerequisite(
            f"no Docker Engine answers at {host} ({_reason(error)}): {START}"
        ) from None


def labels() -> dict[str, str]:
    """Name this process as a container's owner."""
    return {OWNER: json.dumps(this_process()), PLACE: place()}


def place() -> str:
    """From where a container's owner can be seen: other users' processes and those of other
    containers that share this engine may be hidden from here."""
    return f"{Path('/proc/self/ns/pid').readlink()}/{os.getuid()}"


def _errors() -> tuple[type[Exception], ...]:
    from docker.errors import DockerException

    return DockerException, OSError  # those of requests too


def _reason(error: Exception) -> str:
    """In one line."""
    said = getattr(error, "explanation", None) or getattr(error, "strerror", None) or error
    return " ".join(str(said).split())[:500]
