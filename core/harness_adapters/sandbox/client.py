"""The host's side of a sandbox: the ``Sandbox`` protocol on top of the supervisor inside.

All providers open the same ``SupervisedSandbox``; they differ in how the supervisor is started
and in what its paths mean.
"""

from __future__ import annotations

import asyncio
import posixpath
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from harness_adapters.errors import AgentError, InfraError
from harness_adapters.sandbox.base import ExecResult, FileEntry, SandboxSpec, User
from harness_adapters.sandbox.cgroup import memory_kills
from harness_adapters.sandbox.configuration import Place, encode, is_below
from harness_adapters.sandbox.inside import wire
from harness_adapters.sandbox.link import Link, LinkLost
from harness_adapters.sandbox.programs import Program

MAX_FILES = 20_000
_REPLY_SECONDS = 60.0


class SupervisedSandbox:
    """A sandbox whose supervisor runs and is configured. See ``base.Sandbox``."""

    def __init__(self, link: Link, spec: SandboxSpec, place: Place, port: int) -> None:
        self._link = link
        self._spec = spec
        self._place = place
        self._port = port
        self._memory_group: Path | None = None

    def watch_memory(self, group: Path | None) -> None:
        """Tell from here on which programs ran while memory ran out.

        :param group: the cgroup that limits the sandbox's memory as a whole, if one does.
        """
        self._memory_group = group

    @property
    def spec(self) -> SandboxSpec:
        return self._spec

    @property
    def outlet_url(self) -> str:
        if not self._port:
            raise ValueError("this sandbox was opened without an outlet")
        return f"http://127.0.0.1:{self._port}"

    def path(self, inside: str) -> str:
        base = self._place.base
        if not base or is_below(inside, base):
            return inside
        places = (*self._spec.writable, *self._place.targets)
        return base + inside if any(is_below(inside, place) for place in places) else inside

    # --- files ----------------------------------------------------------------------------------

    async def put(
        self, files: Mapping[str, FileEntry], *, at: str, user: User = User.AGENT
    ) -> None:
        for name in files:
            if name.startswith("/") or not set(name.split("/")).isdisjoint(("", ".", "..")):
                raise ValueError(f"not a relative path below a folder: {name!r}")
        request = _Request()
        with self._link.channel(request.receive, request.lost) as channel:
            folder = encode(self._below_writable(at))
            await channel.send(wire.PUT, wire.pack(user.value.encode(), folder))
            for name, entry in files.items():
                await channel.send(wire.FILE, wire.pack(encode(name), b"%d" % entry.mode))
                for start in range(0, len(entry.content), wire.CHUNK):
                    await channel.send(wire.DATA, entry.content[start : start + wire.CHUNK])
            await channel.send(wire.END)
            await request.done(f"cannot write to {at}")

    async def read_file(self, path: str, *, max_bytes: int) -> bytes | None:
        request = _Request(max_bytes)
        with self._link.channel(request.receive, request.lost) as channel:
            inside = encode(self._below_writable(path))
            await channel.send(wire.READ, wire.pack(inside, b"%d" % max_bytes))
            found = await request.done(f"cannot read {path}")
        return bytes(request.data) if found == b"1" else None

    async def read_tree(self, path: str, *, max_bytes: int) -> dict[str, FileEntry]:
        request = _Request(max_bytes)
        with self._link.channel(request.receive, request.lost) as channel:
            inside = encode(self._below_writable(path))
            limits = (b"%d" % max_bytes, b"%d" % MAX_FILES)
            await channel.send(wire.TREE, wire.pack(inside, *limits))
            await request.done(f"cannot read {path}")
        return request.files()

    # --- programs -------------------------------------------------------------------------------

    async def exec(
        self,
        argv: Sequence[str],
        *,
        user: User = User.AGENT,
        cwd: str | None = None,
        env: Mapping[str, str] | None = None,
        timeout: float = 60.0,
        stdin: bytes = b"",
        max_output: int | None = None,
    ) -> ExecResult:
        limit = self._spec.limits.output_bytes if max_output is None else max_output
        order = self._order(argv, user, cwd, env, limit)
        output = {wire.STDOUT: bytearray(), wire.STDERR: bytearray()}
        timed_out = False
        program = Program(
            self._link, self._memory_kills, lambda kind, data: output[kind].extend(data)
        )
        with program:
            try:
                async with asyncio.timeout(timeout):
                    await program.start(order)
                    await program.write(stdin)
                    await program.write_eof()
                    await program.wait()
            except TimeoutError:
                timed_out = True
                await program.kill()
            except BaseException:
                with suppress(InfraError):  # what ended this, mostly a cancellation, goes first
                    await program.kill()
                raise
        return ExecResult(
            returncode=program.returncode,
            stdout=bytes(output[wire.STDOUT]),
            stderr=bytes(output[wire.STDERR]),
            timed_out=timed_out,
            truncated=program.truncated,
            out_of_memory=program.out_of_memory,
        )

    async def spawn(
        self,
        argv: Sequence[str],
        *,
        user: User = User.AGENT,
        cwd: str | None = None,
        env: Mapping[str, str] | None = None,
    ) -> Program:
        order = self._order(argv, user, cwd, env, None)
        program = Program(self._link, self._memory_kills)
        await program.start(order)
        return program

    async def freeze(self) -> None:
        request = _Request()
        with self._link.channel(request.receive, request.lost) as channel:
            await channel.send(wire.FREEZE)
            await request.done("cannot freeze")

    def _memory_kills(self) -> int:
        return memory_kills(self._memory_group) if self._memory_group else 0

    def _order(
        self,
        argv: Sequence[str],
        user: User,
        cwd: str | None,
        env: Mapping[str, str] | None,
        limit: int | None,
    ) -> bytes:
        if not argv or user is User.OWNER:
            raise ValueError("nothing to run" if not argv else "nothing runs as the owner")
        environment = {**self._place.environment, **self._spec.environment, **(env or {})}
        return wire.pack(
            user.value.encode(),
            encode(self.path(self._spec.workdir if cwd is None else cwd)),
            b"" if limit is None else b"%d" % limit,
            wire.pack(*(encode(f"{name}={value}") for name, value in environment.items())),
            wire.pack(*map(encode, argv)),
        )

    def _below_writable(self, path: str) -> str:
        clean = posixpath.normpath(path)
        base = self._place.base
        if base and is_below(clean, base):
            clean = clean[len(base) :]
        if ".." in path.split("/") or not any(
            is_below(clean, folder) for folder in self._spec.writable
        ):
            raise ValueError(f"not below a writable folder: {path!r}")
        return base + clean


class _Request:
    """What comes back for one request about files."""

    def __init__(self, max_bytes: int = 0) -> None:
        self.data = bytearray()
        self._max_bytes = max_bytes
        self._files: list[tuple[bytes, int, int]] = []  # name, mode, where its content starts
        self._reply: asyncio.Future[bytes] = asyncio.get_running_loop().create_future()

    def receive(self, kind: int, payload: bytes) -> None:
        if self._reply.done():
            return
        if kind == wire.DATA and len(self.data) + len(payload) <= self._max_bytes:
            self.data += payload
        elif kind == wire.FILE and len(self._files) < MAX_FILES:
            name, mode = wire.unpack(payload)
            self._files.append((name, int(mode), len(self.data)))
        elif kind == wire.DONE:
            self._reply.set_result(payload)
        elif kind == wire.FAILED:
            cause, message = wire.unpack(payload)
            error = AgentError if cause == wire.AGENT else InfraError
            self._reply.set_exception(error(message.decode(errors="replace")))
        else:
            self.lost(InfraError("the supervisor sent what was not asked for"))

    def lost(self, error: Exception) -> None:
        if not self._reply.done():
            self._reply.set_exception(error)

    async def done(self, doing: str) -> bytes:
        try:
            async with asyncio.timeout(_REPLY_SECONDS):
                return await self._reply
        except TimeoutError:
            raise InfraError(f"{doing}: no answer in {_REPLY_SECONDS:g} s") from None
        except LinkLost:
            raise
        except (AgentError, InfraError) as error:
            raise type(error)(f"{doing}: {error}") from None

    def files(self) -> dict[str, FileEntry]:
        ends = [start for _, _, start in self._files[1:]] + [len(self.data)]
        return {
            name.decode(errors="surrogateescape"): FileEntry(
                content=bytes(self.data[start:end]), mode=mode
            )
            for (name, mode, start), end in zip(self._files, ends, strict=False)
        }
