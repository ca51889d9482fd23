"""Whatever goes wrong in a session, each harness ends within its budget and with the right typed
outcome: a fault of the engine is never a zero, and what the policy did to itself is never excused.

Each fault is one whole rollout of the first shipped task, in a real sandbox behind the guard that
knows declared tools, with an engine that plays given steps. Claude Code, Codex and mini-swe-agent
are driven from their wheels.

Usage: scripts/claims/harness_faults.py OUT.json [--harness NAME]... [--fault NAME]...
"""

from __future__ import annotations

import argparse
import asyncio
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))
from evidence import write_evidence, write_json
from harnesses.environment import BUILT_IN, HARNESSES, ROOT, make_environment

from harness_adapters.serve.scripted.conversation import Conversation
from harness_adapters.serve.scripted.vocabulary import Shell, Vocabulary
from harness_adapters.testing import Call, Cut, Fail, Run, Say, Silence, Step
from harness_adapters.testing.engine import StepEngine

AT_ONCE = 3  # they mostly wait
SESSION_SECONDS = 300.0  # more than any start takes, on a busy machine too
SHORT_SECONDS = 120.0
REQUESTS = 8
ENDING_SECONDS = 60.0  # logs, freezing and grading, on a busy machine
LOOK = Run("ls")
FILL = "for f in /work /tmp $HOME; do head -c 1G /dev/zero > $f/full; done; echo full"
GUARDS = ["declared_tools"]  # the others would hold back some of what is tried here


@dataclass(frozen=True)
class CutCall:
    """A call of the harness's own shell tool whose arguments end in the middle."""


@dataclass(frozen=True)
class Fault:
    """:param may: outcomes that are right.
    :param flags: that must be there; of ``one|other`` either."""

    steps: Sequence[Step | CutCall]
    may: frozenset[str]
    flags: frozenset[str] = frozenset()
    seconds: float = SESSION_SECONDS


def fault(
    *steps: Step | CutCall, may: str, flags: str = "", seconds: float = SESSION_SECONDS
) -> Fault:
    return Fault(steps, frozenset(may.split()), frozenset(flags.split()), seconds)


FAULTS = {
    "500 from the start": fault(Fail(500), may="infra"),
    "500 for ever": fault(LOOK, Fail(500), may="infra"),
    "replies cut off": fault(LOOK, Cut(), may="infra"),
    "a silent engine": fault(
        LOOK, Silence(), may="infra", flags="agent_timeout", seconds=SHORT_SECONDS
    ),
    "context overflow": fault(
        LOOK,
        Fail(400, "This model's maximum context length is 10 tokens.", "context_length_exceeded"),
        may="failed harness_died",
    ),
    "text only": fault(Say("The answer is 42."), may="failed"),
    "an undeclared tool": fault(LOOK, Call("teleport"), Say(), may="guard_blocked"),
    "arguments cut short": fault(LOOK, CutCall(), Say(), may="failed", flags="malformed_call"),
    "calls without end": fault(Run("echo again"), may="failed", flags="budget_stop"),
    "a tool that hangs": fault(  # some harnesses do not wait, and tell the model so
        Run("tail -f /dev/null"),
        may="failed",
        flags="agent_timeout|budget_stop",
        seconds=SHORT_SECONDS,
    ),
    "kills its harness": fault(LOOK, Run("kill -9 $PPID; sleep 5"), Say(), may="harness_died"),
    "fills the disk": fault(LOOK, Run(FILL), Say(), may="failed harness_died"),
    "floods its output": fault(
        LOOK, Run("head -c 300000000 /dev/zero | tr '\\0' x"), Say(), may="failed harness_died"
    ),
}


class Engine(StepEngine):
    def step(self, conversation: Conversation) -> Step:
        step = super().step(conversation)
        if not isinstance(step, CutCall):
            return step
        (call,) = Vocabulary(conversation.tools, "/work").calls(Shell("echo hello"))
        return Call(call.name, call.arguments[:-4])


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("out", type=Path)
    parser.add_argument("--harness", action="append", choices=HARNESSES, help="instead of all")
    parser.add_argument("--fault", action="append", choices=FAULTS, help="instead of all")
    parser.add_argument("--parts", type=Path, help="keep finished parts here, and go on with them")
    parser.add_argument("--inside", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    harnesses, faults = options.harness or HARNESSES, options.fault or list(FAULTS)
    if options.inside:
        (harness,) = harnesses
        rows = asyncio.run(play(harness, faults))
        write_json(options.out, rows)
        return 0
    started = time.time()
    found: dict[str, Any] = {}
    with tempfile.TemporaryDirectory(prefix="ha-claim-") as name:
        folder = Path(name)
        strangers = None if set(harnesses) <= set(BUILT_IN) else make_environment(folder)
        parts = (options.parts or folder / "parts").resolve()
        parts.mkdir(parents=True, exist_ok=True)
        for harness in harnesses:
            part = parts / f"{harness}.json"
            if not part.exists():
                print(f"{time.strftime('%H:%M:%S')} {harness}", file=sys.stderr, flush=True)
                words = ["--inside", "--harness", harness]
                words += [word for one in faults for word in ("--fault", one)]
                command = (str(Path(__file__).resolve()), str(part), *words)
                run = strangers.run if strangers else run_here
                done = run(*command, cwd=folder)
                if done.returncode:
                    sys.exit(done.stderr[-4000:])
            found[harness] = json.loads(part.read_text())
    wrong = [
        f"{h}: {f}" for h, rows in found.items() for f, row in rows.items() if not row["right"]
    ]
    return write_evidence(
        options.out,
        __file__,
        __doc__,
        holds=not wrong,
        tell={"wrong": wrong},
        wrong=wrong,
        seconds=round(time.time() - started),
        budget={
            "requests": REQUESTS,
            "session_seconds": {name: FAULTS[name].seconds for name in faults},
            "ending_seconds": ENDING_SECONDS,
        },
        harnesses=found,
    )


def run_here(*words: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, *words], cwd=cwd, capture_output=True, text=True)


async def play(harness: str, faults: Sequence[str]) -> dict[str, dict[str, Any]]:
    from harnesses.rollouts import in_turn

    results = await in_turn([one_fault(harness, FAULTS[name]) for name in faults], AT_ONCE)
    return dict(zip(faults, results, strict=True))


async def one_fault(harness: str, wanted: Fault) -> dict[str, Any]:
    from harnesses.rollouts import figures, metered, prepared

    from harness_adapters import load_tasks

    task = load_tasks(ROOT / "examples" / "tasks")[0][0]
    limits = replace(task.limits, session_seconds=wanted.seconds, max_requests=REQUESTS)
    task = replace(task, limits=limits)
    engine = Engine(wanted.steps)  # type: ignore[arg-type]
    with tempfile.TemporaryDirectory(prefix="ha-claim-") as logs:
        async with (
            engine.serve() as url,
            prepared(harness, [task], url, "scripted", guards=GUARDS) as setup,
        ):
            started = time.monotonic()
            one, cost = await metered(task, setup, Path(logs) / "log")
            took = time.monotonic() - started
    row = figures(one, cost)
    kept = ("outcome", "flags", "ended", "detail", "calls", "requests", "harness_seconds")
    right = bool(
        row["outcome"] in wanted.may
        and all(set(either.split("|")) & set(row["flags"]) for either in wanted.flags)
        and one.transcript.calls <= REQUESTS
        and engine.asked  # or the harness did not even start
        and took < wanted.seconds + ENDING_SECONDS
    )
    return {
        "right": right,
        **{name: row[name] for name in kept},
        "asked_of_the_engine": len(engine.asked),
        "seconds": round(took, 1),
    }


if __name__ == "__main__":
    sys.exit(main())
