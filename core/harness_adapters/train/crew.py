"""What runs the sessions of a training run: harness, sandbox, a gateway per replica, and the
clients that load adapters there."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass

from harness_adapters.errors import BadInput
from harness_adapters.gateway.raw_logprobs import FIX
from harness_adapters.gateway.server import Gateway
from harness_adapters.gateway.upstream import Upstream
from harness_adapters.loop import Setup
from harness_adapters.parts import Parts
from harness_adapters.record.manifest import Manifest, make_manifest
from harness_adapters.sandbox.base import Isolation, SandboxProvider
from harness_adapters.sandbox.providers import provider
from harness_adapters.sandbox.reaper import leased_folder
from harness_adapters.serve.adapter_client import AdapterClient
from harness_adapters.tasks.images import check_images
from harness_adapters.train.plan import RunPlan
from harness_adapters.train.worker import Replica
from harness_adapters.types import Task, Toolchain


@dataclass(frozen=True, kw_only=True)
class Crew:
    """Open from ``assemble`` until ``close``, which must be called in the same loop."""

    replicas: tuple[Replica, ...]
    clients: dict[str, AdapterClient]
    toolchain: Toolchain
    sandboxes: SandboxProvider
    isolation: Isolation
    stack: AsyncExitStack

    @classmethod
    async def assemble(cls, plan: RunPlan, parts: Parts, tasks: Sequence[Task]) -> Crew:
        """:raises BadInput: harness, sandbox or a task's image is not to be had here, or an
        engine's logprobs are not those of what was sampled."""
        sandboxes = await provider(plan.sandbox)
        await check_images(tasks, sandboxes)
        toolchain = await parts.driver.install()
        isolation = await sandboxes.probe()
        async with AsyncExitStack() as stack:
            replicas, clients = [], {}
            for url in plan.urls:
                folder = stack.enter_context(leased_folder("gateway"))
                gateway = await stack.enter_async_context(
                    Gateway(
                        upstream=Upstream(url, plan.api_key),
                        guard=parts.guard,
                        socket=folder / "gateway.sock",
                    )
                )
                if await gateway.probe_logprobs(plan.base):
                    raise BadInput(f"{url}: its logprobs are raw: {FIX}")
                clients[url] = await stack.enter_async_context(AdapterClient(url, plan.api_key))
                setup = Setup(
                    driver=parts.driver,
                    toolchain=toolchain,
                    kinds=parts.kinds,
                    rewards=parts.rewards,
                    gateway=gateway,
                    sandboxes=sandboxes,
                    model=plan.base,
                    sampling=plan.recipe.sampling,
                    hidden=(plan.out.absolute(),),
                    require_tokens=True,
                    components=parts.provenance,
                )
                replicas.append(Replica(url=url, setup=setup))
            return cls(
                replicas=tuple(replicas),
                clients=clients,
                toolchain=toolchain,
                sandboxes=sandboxes,
                isolation=isolation,
                stack=stack.pop_all(),
            )

    async def close(self) -> None:
        await self.stack.aclose()

    def manifest(self, plan: RunPlan, parts: Parts, tasks: Sequence[Task]) -> Manifest:
        """Of the sessions; what is trained stands in ``training.json``."""
        recipe = plan.recipe
        return make_manifest(
            components=parts.provenance,
            component_options=parts.options,
            harness=parts.harness,
            harness_version=self.toolchain.version,
            engine={"name": plan.engine, **plan.flags},
            template=plan.template,
            model=plan.base,
            sampling=recipe.sampling,
            tasks=list(tasks),
            attempts=recipe.rollouts.group_size,
            infra_retries=recipe.rollouts.infra_retries,
            concurrency=recipe.rollouts.in_flight,
            sandbox=self.sandboxes.name,
            sandbox_lost=self.isolation.lost,
            policy=parts.guard.policy_hash,
        )
