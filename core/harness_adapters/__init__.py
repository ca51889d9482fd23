"""harness-adapters: one LoRA adapter per model and coding-agent harness.

A plugin needs nothing but this module and the public modules it names. What runs things
(``rollout``, ``run`` ...) is loaded on first use, so that a plugin stays light to import.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pluggy import HookimplMarker

from harness_adapters.errors import (
    AgentError,
    BadInput,
    BrokenTask,
    HarnessAdaptersError,
    InfraError,
    MissingPrerequisite,
    PluginError,
)
from harness_adapters.gateway.guard.actions import (
    Action,
    ConnectHost,
    InstallPackage,
    ReadPath,
    RunCommand,
    Unparsed,
    WritePath,
)
from harness_adapters.gateway.guard.calls import ToolCall
from harness_adapters.gateway.guard.ledger import Ledger
from harness_adapters.gateway.transcript import Decision, JudgedCall, Row, Transcript, Turn
from harness_adapters.plugins import API_VERSION, Plugins
from harness_adapters.protocols import (
    GuardRule,
    HarnessDriver,
    Options,
    Register,
    RewardShaper,
    TaskKind,
)
from harness_adapters.sandbox.base import (
    ExecResult,
    FileEntry,
    Isolation,
    Mount,
    ResourceLimits,
    Sandbox,
    SandboxProcess,
    SandboxProvider,
    SandboxSpec,
    User,
)
from harness_adapters.types import (
    Attempt,
    AuxiliaryRequest,
    Ended,
    Endpoint,
    Finding,
    Flag,
    HarnessExit,
    Limits,
    Outcome,
    Provenance,
    RewardTerm,
    Rollout,
    Sampling,
    Session,
    Severity,
    Task,
    TaskMetadata,
    TaskPolicy,
    Toolchain,
    Verdict,
)

if TYPE_CHECKING:
    from harness_adapters.evaluation.compare import Comparison, compare
    from harness_adapters.evaluation.evaluate import (
        Evaluation,
        EvaluationInterrupted,
        EvaluationStopped,
        evaluate,
    )
    from harness_adapters.loop import rollout
    from harness_adapters.runs import RunInterrupted, RunResult, RunStopped, run
    from harness_adapters.tasks.bundle import load_task, load_tasks
    from harness_adapters.tasks.mixture import Mixture, mixture
    from harness_adapters.train.recipe import Recipe, load_recipe
    from harness_adapters.train.training import Training, TrainingInterrupted, train

__version__ = "0.1.0"
hookimpl = HookimplMarker("harness_adapters")

_LAZY = {
    "Comparison": "harness_adapters.evaluation.compare",
    "Evaluation": "harness_adapters.evaluation.evaluate",
    "EvaluationInterrupted": "harness_adapters.evaluation.evaluate",
    "EvaluationStopped": "harness_adapters.evaluation.evaluate",
    "Mixture": "harness_adapters.tasks.mixture",
    "Recipe": "harness_adapters.train.recipe",
    "RunInterrupted": "harness_adapters.runs",
    "RunResult": "harness_adapters.runs",
    "RunStopped": "harness_adapters.runs",
    "Training": "harness_adapters.train.training",
    "TrainingInterrupted": "harness_adapters.train.training",
    "compare": "harness_adapters.evaluation.compare",
    "evaluate": "harness_adapters.evaluation.evaluate",
    "load_recipe": "harness_adapters.train.recipe",
    "load_task": "harness_adapters.tasks.bundle",
    "load_tasks": "harness_adapters.tasks.bundle",
    "mixture": "harness_adapters.tasks.mixture",
    "rollout": "harness_adapters.loop",
    "run": "harness_adapters.runs",
    "train": "harness_adapters.train",
}

__all__ = [
    "API_VERSION",
    "Action",
    "AgentError",
    "Attempt",
    "AuxiliaryRequest",
    "BadInput",
    "BrokenTask",
    "Comparison",
    "ConnectHost",
    "Decision",
    "Ended",
    "Endpoint",
    "Evaluation",
    "EvaluationInterrupted",
    "EvaluationStopped",
    "ExecResult",
    "FileEntry",
    "Finding",
    "Flag",
    "GuardRule",
    "HarnessAdaptersError",
    "HarnessDriver",
    "HarnessExit",
    "InfraError",
    "InstallPackage",
    "Isolation",
    "JudgedCall",
    "Ledger",
    "Limits",
    "MissingPrerequisite",
    "Mixture",
    "Mount",
    "Options",
    "Outcome",
    "PluginError",
    "Plugins",
    "Provenance",
    "ReadPath",
    "Recipe",
    "Register",
    "ResourceLimits",
    "RewardShaper",
    "RewardTerm",
    "Rollout",
    "Row",
    "RunCommand",
    "RunInterrupted",
    "RunResult",
    "RunStopped",
    "Sampling",
    "Sandbox",
    "SandboxProcess",
    "SandboxProvider",
    "SandboxSpec",
    "Session",
    "Severity",
    "Task",
    "TaskKind",
    "TaskMetadata",
    "TaskPolicy",
    "ToolCall",
    "Toolchain",
    "Training",
    "TrainingInterrupted",
    "Transcript",
    "Turn",
    "Unparsed",
    "User",
    "Verdict",
    "WritePath",
    "compare",
    "evaluate",
    "hookimpl",
    "load_recipe",
    "load_task",
    "load_tasks",
    "mixture",
    "rollout",
    "run",
    "train",
]


def __getattr__(name: str) -> Any:
    if module := _LAZY.get(name):
        import importlib

        found = importlib.import_module(module)
        # a package named like its function can be called itself: nothing may take its place
        value = found if module == f"{__name__}.{name}" else getattr(found, name)
        globals()[name] = value
        return value
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
