"""The nouns, in the order in which they flow.

``Task -> Sandbox -> Session(key) -> harness runs -> Turn* + Finding* -> Transcript -> Verdict
-> RewardTerm* -> Rollout``. All are frozen, keyword-only dataclasses.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from harness_adapters.gateway.transcript import Transcript
    from harness_adapters.sandbox.base import Mount, Sandbox

Json = Mapping[str, Any]


# --- what is to be done -------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """Caps of one rollout. They are part of the manifest: runs with unlike caps do not compare.

    :param session_seconds: wall time for the harness; a session stopped by it is still graded.
    :param max_requests: model requests per session, auxiliary ones included; past it the gateway
        answers a clean final message that is no turn.
    :param max_output_tokens: sampled tokens per request.
    :param verifier_seconds: wall time for the verifier.
    """

    session_seconds: float = 300.0
    max_requests: int = 60
    max_output_tokens: int = 4096
    verifier_seconds: float = 120.0


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskPolicy:
    """What an agent may touch while it works on a task. Guard rules read nothing else of the task.

    Globs (``fnmatch`` style, ``**`` crosses folders) are relative to the working folder; roots are
    absolute paths in the sandbox. An editable glob takes files out of a protected one only where
    it is the narrower of the two: ``tests/new/**`` out of ``tests/**``, but ``**`` nothing out of
    ``tests/test_a.py``. ``kind`` is empty in daily use, where no verifier waits and rules about
    answers do not apply.
    """

    workdir: str = "/work"
    kind: str = ""
    editable: tuple[str, ...] = ()
    protected: tuple[str, ...] = ()
    protected_roots: tuple[str, ...] = ("/tests", "/solution", "/logs/verifier")
    allowed_hosts: tuple[str, ...] = ()
    answer_sources: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskMetadata:
    """``[metadata.harness_adapters]`` of a ``task.toml``.

    :param kind: name of the task kind that prepares and verifies it.
    :param cluster: the source that tasks share (table, repository, trace): the unit of resampling.
    :param split: ``train``, ``dev`` or ``test``; whole clusters, never single tasks.
    """

    kind: str
    cluster: str
    split: str = "train"
    editable: tuple[str, ...] = ()
    protected: tuple[str, ...] = ()
    allowed_hosts: tuple[str, ...] = ()
    answer_sources: tuple[str, ...] = ()
    difficulty: str = ""
    provenance: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """One piece of verifiable work: a Harbor bundle on disk, read and checked.

    :param id: unique in its set; the folder's path relative to the set's root.
    :param instruction: exactly what the harness is told.
    :param path: the bundle's folder on the host.
    :param workdir: the working folder inside the sandbox.
    :param files: path inside the sandbox -> path on the host; copied in before the agent starts.
    :param folders: folders inside that are there before the agent starts, empty or not.
    :param environment: variables that the sandbox of this task has beside its own.
    :param image: a container image to run it in, where the sandbox runs images.
    :param needs_image: why no other sandbox will do; empty when any does.
    :param options: the kind's own table, ``[metadata.harness_adapters.<kind>]``.
    :param sha256: over every file of the bundle; recorded in the manifest.
    """

    id: str
    instruction: str
    path: Path
    metadata: TaskMetadata
    workdir: str = "/work"
    files: Mapping[str, Path] = field(default_factory=dict[str, Path])
    folders: tuple[str, ...] = ()
    environment: Mapping[str, str] = field(default_factory=dict[str, str])
    image: str = ""
    needs_image: str = ""
    options: Json = field(default_factory=dict[str, Any])
    limits: Limits = Limits()
    self_graded: bool = False
    sha256: str = ""

    @property
    def kind(self) -> str:
        return self.metadata.kind


# --- one session --------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class Sampling:
    """Sampling pinned by the gateway, whatever the harness asks for."""

    temperature: float = 0.8
    top_p: float = 1.0
    top_k: int = -1
    min_p: float = 0.0
    seed: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Endpoint:
    """Where the harness finds its model, as seen from inside the sandbox.

    :param base_url: origin and session path without ``/v1``, e.g. ``http://127.0.0.1:8321/s/KEY``.
    :param model: the adapter's (or base model's) name.
    :param api_key: the session key, 128 random bits; it is the session's identity.
    """

    base_url: str
    model: str
    api_key: str = field(repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class AuxiliaryRequest:
    """A side request that a harness is known to make (title, compaction): allowed, never trained.

    A request matches when it declares no tools and its system text contains ``system_contains``.
    """

    name: str
    system_contains: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Toolchain:
    """What a driver needs inside the sandbox, and which version it is.

    :param version: of the harness itself; recorded in every rollout.
    :param mounts: read-only folders to mount.
    """

    version: str
    mounts: tuple[Mount, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Session:
    """Everything a driver may use for one run: a prepared sandbox, a model, and its limits.

    :param log_dir: a folder on the host for the harness's own log; it exists and is empty.
    """

    task: Task
    sandbox: Sandbox
    endpoint: Endpoint
    sampling: Sampling
    limits: Limits
    log_dir: Path


class Ended(StrEnum):
    """How a harness process ended, as its driver read it from the event stream."""

    COMPLETED = "completed"  # it said that it was done
    ERROR = "error"  # it reported an error of its own and ended in order
    DIED = "died"  # it ended without saying how (killed, crashed, out of memory)
    TIMEOUT = "timeout"  # the outer timeout ended it


@dataclass(frozen=True, slots=True, kw_only=True)
class HarnessExit:
    """A driver's report. ``detail`` is one line for a person."""

    ended: Ended
    detail: str = ""
    seconds: float = 0.0


# --- what came of it ----------------------------------------------------------------------------


class Outcome(StrEnum):
    """The typed end of a rollout. A number never decides; see ``outcomes.py``."""

    SOLVED = "solved"
    FAILED = "failed"
    GUARD_BLOCKED = "guard_blocked"
    UNJUDGEABLE = "unjudgeable"
    HARNESS_DIED = "harness_died"
    AGENT_BROKE_VERIFIER = "agent_broke_verifier"
    INFRA = "infra"


class Flag(StrEnum):
    """Something noteworthy that does not decide the outcome."""

    AGENT_TIMEOUT = "agent_timeout"
    BUDGET_STOP = "budget_stop"
    EVAL_ONLY = "eval_only"  # the upstream returns no token ids: nothing here can be trained on
    UNDECLARED_REQUEST = "undeclared_request"  # something in the sandbox ran model calls of its own
    MALFORMED_CALL = "malformed_call"
    SELF_GRADED = "self_graded"  # the task's own script wrote the reward


class Severity(StrEnum):
    FLAG = "flag"  # logged, no effect on the score
    BLOCK = "block"  # the call becomes a notice and the rollout scores 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """What a guard rule saw in one call.

    :param rule: the rule's id, ``<guard>.<check>``.
    :param message: for the log; it never reaches the model.
    :param span: start and end of the offending text in the call's raw arguments, in characters.
    """

    rule: str
    severity: Severity
    message: str
    span: tuple[int, int] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """What the verifier found.

    :param score: 0 to 1.
    :param broke_verifier: the graded tree made the verifier fail, hang or write nonsense.
    :param tests: test name -> ``passed`` | ``failed`` | ``error``, where the kind has tests.
    """

    passed: bool
    score: float
    detail: str = ""
    broke_verifier: bool = False
    self_graded: bool = False
    tests: Mapping[str, str] = field(default_factory=dict[str, str])


@dataclass(frozen=True, slots=True, kw_only=True)
class RewardTerm:
    name: str
    value: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Attempt:
    """A finished, verified, not yet rewarded session: what reward shapers see."""

    task: Task
    transcript: Transcript
    exit: HarnessExit
    verdict: Verdict
    outcome: Outcome
    flags: frozenset[Flag] = frozenset()


@dataclass(frozen=True, slots=True, kw_only=True)
class Provenance:
    """Where a component came from: recorded with every rollout that used it."""

    kind: str
    name: str
    distribution: str
    version: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Rollout:
    """One finished rollout, ready to be recorded.

    :param attempt: 0-based number inside its group, the rollouts of one task.
    :param tries: sessions it took, infra retries included.
    :param reward: ``None`` exactly when the outcome is ``infra``.
    :param calls: tool calls let through, auxiliary and blocked ones not counted.
    :param error: one line, for ``infra``.
    """

    task_id: str
    cluster: str
    kind: str
    attempt: int
    tries: int
    session_id: str
    model: str
    outcome: Outcome
    flags: frozenset[Flag]
    reward: float | None
    terms: Sequence[RewardTerm]
    verdict: Verdict | None
    calls: int
    seconds: float
    transcript: Transcript
    harness_version: str = ""
    exit: HarnessExit | None = None
    error: str = ""
    components: Sequence[Provenance] = ()
    difficulty: str = ""
