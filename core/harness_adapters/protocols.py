"""The verbs: what a plugin's objects must do. Duck-typed; there is no base class to inherit."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Protocol, TypeVar, runtime_checkable

if TYPE_CHECKING:
    from harness_adapters.gateway.guard.calls import ToolCall
    from harness_adapters.gateway.guard.ledger import Ledger
    from harness_adapters.sandbox.base import FileEntry, Sandbox, SandboxProvider
    from harness_adapters.types import (
        Attempt,
        AuxiliaryRequest,
        Finding,
        HarnessExit,
        RewardTerm,
        Session,
        Task,
        TaskPolicy,
        Toolchain,
        Verdict,
    )

Options = Mapping[str, Any]
C = TypeVar("C", contravariant=True)


class HarnessDriver(Protocol):
    """Runs one coding-agent harness, unmodified and headless, inside a sandbox.

    The driver is told where the model is (``session.endpoint``) and what to do
    (``session.task.instruction``). It must not trust exit codes, must end the whole process tree
    within ``session.limits.session_seconds``, and keeps the harness's own log in
    ``session.log_dir``.
    """

    @property
    def auxiliary(self) -> tuple[AuxiliaryRequest, ...]:
        """Side requests this harness is known to make; all others without tools are refused."""
        ...

    async def install(self) -> Toolchain:
        """Make the pinned harness available on this machine; cheap when it already is.

        :raises MissingPrerequisite: it cannot be installed; the message says what to do.
        """
        ...

    async def prepare(self, session: Session) -> None:
        """Write the harness's configuration into the sandbox.

        :raises InfraError: the sandbox does not take it.
        """
        ...

    async def run(self, session: Session) -> HarnessExit:
        """Run the harness on the instruction until it ends or the time is over."""
        ...


class TaskKind(Protocol):
    """Prepares a workspace for a task and judges, in a fresh place, what the agent left in it."""

    def check(self, task: Task) -> None:
        """Look whether the bundle holds what this kind needs, before anything is started.

        :raises BrokenTask: it does not; the message names file and field.
        """
        ...

    def policy(self, task: Task) -> TaskPolicy:
        """Which places the agent may edit: the task's own globs over this kind's defaults."""
        ...

    async def prepare(self, task: Task, sandbox: Sandbox) -> None:
        """Fill the workspace. The agent must not be able to see tests or solution.

        :raises InfraError: the sandbox does not take the files.
        """
        ...

    async def verify(self, task: Task, left: Sandbox, sandboxes: SandboxProvider) -> Verdict:
        """Grade what the agent left.

        :param left: the agent's sandbox, frozen: all its processes are dead, its files readable.
        :param sandboxes: opens fresh sandboxes to run the agent's code in.
        :raises InfraError: a fault that the graded tree did not cause. Everything the tree did
            cause (hang, crash, nonsense) is a ``Verdict`` with ``broke_verifier``.
        """
        ...


@runtime_checkable
class KnowsDegenerate(Protocol):
    """What a ``TaskKind`` may offer beside: attempts that only look like work, for ``ha tasks
    check``, which demands that each scores 0."""

    def degenerate(self, task: Task) -> Mapping[str, Mapping[str, FileEntry]]:
        """A name for each attempt -> the files that it writes, relative to the working folder."""
        ...


class GuardRule(Protocol):
    """Judges one tool call before the harness sees it.

    Pure and deterministic: same call, same ledger, same finding. Work is O(size of this call);
    what came before is in the ledger, which the rule only reads. A rule that raises blocks the
    call (fail closed) and is reported as a fault, not as a hack.
    """

    def judge(self, call: ToolCall, ledger: Ledger) -> Finding | None: ...


class RewardShaper(Protocol):
    """Adds one named term to the reward of a graded attempt. Terms are summed, so order never
    matters; none is asked for a blocked rollout, whose reward is 0."""

    def shape(self, attempt: Attempt) -> RewardTerm: ...


class Register(Protocol[C]):
    """Handed to a registration hook. The factory runs only when the component is used."""

    def __call__(self, name: str, factory: Callable[[Options], C], *, summary: str) -> None: ...
