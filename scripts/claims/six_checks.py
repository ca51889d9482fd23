"""All shipped tasks pass the six checks.

Usage: scripts/claims/six_checks.py OUT.json [EVIDENCE_FOLDER]

With a folder of earlier evidence the checks go on with it.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path
from typing import Any

from evidence import write_evidence

from harness_adapters.tasks.checks import Evidence
from harness_adapters.tasks.checks.run import check_set

EXAMPLES = Path(__file__).parents[2] / "examples"
SETS = ("tasks", "projects")


def main() -> int:
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(sys.argv[2] if len(sys.argv) > 2 else temporary)
        checked = {
            name: check_set(EXAMPLES / name, out=folder / name, resume=True, progress=say)
            for name in SETS
        }
    return write_evidence(
        Path(sys.argv[1]),
        __file__,
        __doc__,
        holds=all(one.ok for one in checked.values()),
        sets={
            f"examples/{name}": {
                "tasks": one.planned,
                "checks": one.to_json()["checks"],
                "failures": one.to_json()["failures"],
                "seconds": {
                    e.task: round(sum(f.seconds for f in e.findings)) for e in one.evidence
                },
                "attempts": sum(len(f.trials) for e in one.evidence for f in e.findings),
                "mutants": _mutants(one.evidence),
            }
            for name, one in checked.items()
        },
    )


def say(found: Evidence, done: int, planned: int) -> None:
    print(f"[{done}/{planned}] {found.task} {'ok' if found.ok else 'FAILED'}", flush=True)


def _mutants(evidence: list[Evidence]) -> dict[str, Any]:
    facts = [f.facts for e in evidence for f in e.findings if f.check == "discrimination"]
    return {name: sum(one.get(name, 0) for one in facts) for name in ("mutants", "died")}


if __name__ == "__main__":
    sys.exit(main())
