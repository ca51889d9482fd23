"""A guard rule of your own, registered in a script: no file of a workspace may be deleted.

In a distribution of your own the class ``MyPlugin`` would be a module with the same two members,
named by an entry point in the group ``harness_adapters``.

    python examples/custom_guard.py
"""

from __future__ import annotations

import tempfile
from pathlib import Path

import harness_adapters as ha
from harness_adapters import (
    Finding,
    GuardRule,
    Ledger,
    Options,
    Plugins,
    Register,
    RunCommand,
    Severity,
    ToolCall,
    hookimpl,
)

TASKS = Path(__file__).parent / "tasks"


class NoShell:
    """Blocks every program whose name is on a list; by default the ones that delete."""

    def __init__(self, options: Options) -> None:
        self.programs = frozenset(options.get("programs", ["rm", "unlink", "shred"]))

    def judge(self, call: ToolCall, ledger: Ledger) -> Finding | None:
        for action in call.actions:
            if isinstance(action, RunCommand) and action.words[0] in self.programs:
                return Finding(
                    rule="no_shell.program",
                    severity=Severity.BLOCK,
                    message=f"{action.words[0]} may not run here",
                    span=action.span,
                )
        return None


class MyPlugin:
    ha_api_version = 1

    @hookimpl
    def ha_register_guards(self, register: Register[GuardRule]) -> None:
        register("no_shell", NoShell, summary="Block programs by name.")


def main(out: Path) -> ha.RunResult:
    plugins = Plugins.load()
    plugins.add("mine", MyPlugin())
    return ha.run(
        TASKS,
        engine="scripted:oracle",  # it reads a table with head, which we forbid here
        kind="qa",
        limit=1,
        plugins=plugins,
        guards=[*plugins.default_guards(), "no_shell"],
        options={"guards": {"no_shell": {"programs": ["head", "python3"]}}},
        out=out / "run",
    )


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        result = main(Path(folder))
        print(result.summary["by_outcome"])
        for rollout in result.rollouts():
            for call in rollout.transcript.blocked:
                print(call.name, call.arguments, [finding.message for finding in call.findings])
