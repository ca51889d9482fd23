"""The core loop: one rollout, from a task to a rewarded, recordable result.

It takes objects, not names: plugins are only one way to get the objects.
"""

from __future__ import annotations

import time
import traceback
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from harness_adapters import outcomes
from harness_adapters.errors import InfraError
from harness_adapters.gateway.server import Gateway
from harness_adapters.gateway.transcript import Transcript
from harness_adapters.protocols import HarnessDriver, RewardShaper, TaskKind
from harness_adapters.record.redaction import clean_logs, without_key
from harness_adapters.sandbox.base import Sandbox, SandboxProvider, SandboxSpec
from harness_adapters.tasks.images import image_for
from harness_adapters.tasks.workspace import writable_folders
from harness_adapters.types import (
    Attempt,
    Endpoint,
    HarnessExit,
    Outcome,
    Provenance,
    RewardTerm,
    Rollout,
    Sampling,
    Session,
    Task,
    Toolchain,
    Verdict,
)


@dataclass(frozen=True, kw_only=True)
class Setup:
    """What the rollouts of a run share.

    :param kinds: task kind name -> the object that prepares and verifies.
    :param model: the adapter's or base model's name, as the engine knows it.
    :param hidden: host folders that no session may read, such as the run's own folder.
    :param require_tokens: refuse an engine that returns no token ids (training).
    """

    driver: HarnessDriver
    toolchain: Toolchain
    kinds: Mapping[str, TaskKind]
    rewards: Mapping[str, RewardShaper]
    gateway: Gateway
    sandboxes: SandboxProvider
    model: str
    sampling: Sampling = field(default_factory=Sampling)
    hidden: tuple[Path, ...] = ()
    require_tokens: bool = False
    components: tuple[Provenance, ...] = ()


async def rollout(task: Task, setup: Setup, *, log_dir: Path, attempt: int = 0) -> Rollout:
    """Run one task once, in its own sandbox and session, and grade what the agent left.

    Faults that the policy did not cause come back as outcome ``infra`` with no reward; they are
    never raised.

    :param log_dir: an empty folder for the harness's own log.
    :param attempt: number of this rollout inside its group.
    """
    started = time.monotonic()
    kind = setup.kinds[task.kind]
    session = setup.gateway.open_session(
        model=setup.model,
        policy=kind.policy(task),
        limits=task.limits,
        sampling=setup.sampling,
        auxiliary=setup.driver.auxiliary,
        require_tokens=setup.require_tokens,
    )
    exit: HarnessExit | None = None
    verdict: Verdict | None = None
    error = ""
    try:
        async with setup.sandboxes.open(sandbox_spec(task, setup)) as sandbox:
            await kind.prepare(task, sandbox)
            exit = await _drive(task, setup, sandbox, session.key, log_dir)
            await sandbox.freeze()
            session.close()
            await session.settle()
            clean_logs(log_dir, session.key)
            error = outcomes.fault(session.transcript(), exit) or ""
            if not error:
                verdict = await kind.verify(task, sandbox, setup.sandboxes)
    except InfraError as fault:
        error = str(fault)
    except Exception as fault:  # a full disk, no more descriptors, a bug: not the policy's doing
        error = f"{type(fault).__name__}: {fault}"
        with suppress(OSError):
            (log_dir / "traceback.txt").write_text(traceback.format_exc())
    finally:
        session.close()
    return _finish(
        task,
        setup,
        attempt=attempt,
        session_id=session.id,
        transcript=without_key(session.transcript(), session.key),
        exit=exit,
        verdict=verdict,
        error=error,
        seconds=time.monotonic() - started,
    )


async def _drive(
    task: Task, setup: Setup, sandbox: Sandbox, key: str, log_dir: Path
) -> HarnessExit:
    session = Session(
        task=task,
        sandbox=sandbox,
        endpoint=Endpoint(base_url=f"{sandbox.outlet_url}/s/{key}", model=setup.model, api_key=key),
        sampling=setup.sampling,
        limits=task.limits,
        log_dir=log_dir,
    )
    await setup.driver.prepare(session)
    return await setup.driver.run(session)


def _finish(
    task: Task,
    setup: Setup,
    *,
    attempt: int,
    session_id: str,
    transcript: Transcript,
    exit: HarnessExit | None,
    verdict: Verdict | None,
    error: str,
    seconds: float,
) -> Rollout:
    reward: float | None = None
    terms: list[RewardTerm] = []
    outcome = outcomes.blocked_outcome(transcript) or Outcome.INFRA
    flags = outcomes.flags(transcript, exit, verdict) if exit else transcript.flags
    if exit and verdict:
        outcome = outcomes.outcome(transcript, exit, verdict)
        graded = Attempt(
            task=task,
            transcript=transcript,
            exit=exit,
            verdict=verdict,
            outcome=outcome,
            flags=flags,
        )
        try:
            reward, terms = outcomes.reward(graded, list(setup.rewards.values()))
        except InfraError as fault:
            outcome, error = Outcome.INFRA, str(fault)
    elif outcome is not Outcome.INFRA:
        reward = 0.0  # blocked: a fault on the way to the verifier does not make it unscorable
    return Rollout(
        task_id=task.id,
        cluster=task.metadata.cluster,
        kind=task.kind,
        difficulty=task.metadata.difficulty,
        attempt=attempt,
        tries=1,
        session_id=session_id,
        model=setup.model,
        outcome=outcome,
        flags=flags,
        reward=reward,
        terms=terms,
        verdict=verdict,
        calls=transcript.calls,
        seconds=seconds,
        transcript=transcript,
        harness_version=setup.toolchain.version,
        exit=exit,
        error=error,
        components=setup.components,
    )


def sandbox_spec(task: Task, setup: Setup) -> SandboxSpec:
    """The agent's sandbox: its home, /tmp and the task's folders are writable, the harness is
    mounted read-only, and the gateway is the only way out."""
    return SandboxSpec(
        workdir=task.workdir,
        writable=writable_folders(task),
        mounts=setup.toolchain.mounts,
        hidden=(task.path, *setup.hidden),
        outlet=setup.gateway.socket,
        environment=task.environment,
        image=image_for(task, setup.sandboxes),
    )
