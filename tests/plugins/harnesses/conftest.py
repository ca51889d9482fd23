"""One session of a driver: a real sandbox, and a chat server at the other end of its outlet."""

from __future__ import annotations

from collections.abc import Awaitable, Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Protocol

import pytest

from harness_adapters import (
    Endpoint,
    FileEntry,
    HarnessDriver,
    HarnessExit,
    Limits,
    MissingPrerequisite,
    Sampling,
    SandboxProvider,
    SandboxSpec,
    Session,
    Task,
    TaskMetadata,
)
from harness_adapters.sandbox.providers import provider
from harness_adapters.testing.chat_server import ChatServer, Reply

KEY = "0123456789abcdef0123456789abcdef"


@dataclass(frozen=True, kw_only=True)
class Run:
    """:param work: the files in the workspace afterwards."""

    exit: HarnessExit
    server: ChatServer
    work: dict[str, bytes]
    log_dir: Path

    @property
    def asked(self) -> list[dict[str, Any]]:
        return self.server.asked


class RunHarness(Protocol):
    def __call__(
        self,
        driver: HarnessDriver,
        replies: Sequence[Reply],
        *,
        instruction: str = ...,
        seconds: float = ...,
        model: str = ...,
        files: Mapping[str, FileEntry] = ...,
        sandbox_name: str = ...,
    ) -> Awaitable[Run]: ...


async def _best_provider() -> SandboxProvider:
    """Bubblewrap where it works; the driver is the same in both."""
    try:
        return await provider("bubblewrap")
    except MissingPrerequisite:
        return await provider("process")


@pytest.fixture
def run_harness(tmp_path: Path) -> RunHarness:
    """Run a driver's harness, from the user's cache, against a server that plays ``replies``."""

    async def run(
        driver: HarnessDriver,
        replies: Sequence[Reply],
        *,
        instruction: str = "Make the file.",
        seconds: float = 60.0,
        model: str = "m",
        files: Mapping[str, FileEntry] | None = None,
        sandbox_name: str | None = None,
    ) -> Run:
        log_dir = tmp_path / "log"
        log_dir.mkdir()
        sandboxes = await (provider(sandbox_name) if sandbox_name else _best_provider())
        toolchain = await driver.install()
        async with AsyncExitStack() as stack:
            # A socket's path is short, and pytest's folders are not.
            folder = Path(stack.enter_context(TemporaryDirectory(prefix="ha-")))
            outlet = folder / "s"
            server = await stack.enter_async_context(ChatServer(replies).serve(outlet))
            spec = SandboxSpec(mounts=toolchain.mounts, outlet=outlet)
            sandbox = await stack.enter_async_context(sandboxes.open(spec))
            session = Session(
                task=Task(
                    id="t",
                    instruction=instruction,
                    path=tmp_path,
                    metadata=TaskMetadata(kind="repair", cluster="c"),
                ),
                sandbox=sandbox,
                endpoint=Endpoint(
                    base_url=f"{sandbox.outlet_url}/s/{KEY}", model=model, api_key=KEY
                ),
                sampling=Sampling(temperature=0.7, top_p=0.9),
                limits=Limits(session_seconds=seconds, max_output_tokens=1234),
                log_dir=log_dir,
            )
            await sandbox.put(files or {}, at="/work")
            await driver.prepare(session)
            exit = await driver.run(session)
            tree = await sandbox.read_tree("/work", max_bytes=1 << 20)
        work = {name: entry.content for name, entry in tree.items()}
        return Run(exit=exit, server=server, work=work, log_dir=log_dir)

    return run
