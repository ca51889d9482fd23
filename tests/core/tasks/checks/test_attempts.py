from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractAsyncContextManager
from pathlib import Path

import pytest

from harness_adapters.errors import InfraError
from harness_adapters.parts import make_kinds
from harness_adapters.plugins import Plugins
from harness_adapters.sandbox.base import Isolation, Sandbox, SandboxProvider, SandboxSpec
from harness_adapters.sandbox.providers import provider
from harness_adapters.tasks.bundle import load_task
from harness_adapters.tasks.checks.attempts import INFRA_RETRIES, Attempt, Bench, text

Write = Callable[..., Path]


class Unlucky:
    """Opens another provider's sandboxes, but not the first ones."""

    name = "unlucky"
    boundary = False
    images = False

    def __init__(self, inner: SandboxProvider, faults: int) -> None:
        self._inner = inner
        self.faults = faults

    async def probe(self) -> Isolation:
        return await self._inner.probe()

    async def check_images(self, names: Sequence[str]) -> None:
        pass

    def open(self, spec: SandboxSpec) -> AbstractAsyncContextManager[Sandbox]:
        self.faults -= 1
        if self.faults >= 0:
            raise InfraError("no sandbox within 30 s")
        return self._inner.open(spec)


async def test_what_the_machine_spoils_is_tried_again_and_not_for_ever(question: Write) -> None:
    task = load_task(question())
    kind = make_kinds(Plugins.load(), {task.kind})[task.kind]
    sandboxes = Unlucky(await provider("process"), INFRA_RETRIES)
    bench = Bench(task, kind, sandboxes)
    assert (await bench.grade(Attempt(files={"answer.txt": text("12.5")}))).passed
    sandboxes.faults = INFRA_RETRIES
    assert (await bench.solve()).verdict.passed
    sandboxes.faults = 99
    with pytest.raises(InfraError, match="no sandbox within 30 s"):
        await bench.grade(Attempt())
    assert sandboxes.faults == 99 - INFRA_RETRIES - 1
