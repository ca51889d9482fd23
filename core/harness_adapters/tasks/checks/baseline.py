"""Baseline: who does nothing of what was asked gets nothing."""

from __future__ import annotations

import ast

from harness_adapters.protocols import KnowsDegenerate
from harness_adapters.syntax_tree import parse_python
from harness_adapters.tasks.checks.attempts import Attempt, Bench, Solved, Tree, text
from harness_adapters.tasks.checks.evidence import Finding, Trial, judged
from harness_adapters.types import Verdict

EMPTY = "nothing left"


async def baseline(bench: Bench, solved: Solved | None) -> Finding:
    """Doing nothing, an empty folder, stubs, and the kind's own degenerate solutions score 0."""
    trials = [_worthless("nop", verdict := await bench.grade(Attempt()))]
    trials += _by_assertion(bench, verdict)
    attempts = {EMPTY: Attempt(tree={})}
    for name, body in (("stub that raises", _RAISE), ("stub that returns None", _NONE)):
        if solved is not None and (tree := stubbed(bench.original, solved.tree, body)):
            attempts[name] = Attempt(tree=tree)
    if isinstance(bench.kind, KnowsDegenerate):
        for name, files in bench.kind.degenerate(bench.task).items():
            attempts[name] = Attempt(files=files)
    for name, attempt in attempts.items():
        trials.append(_worthless(name, await bench.grade(attempt)))
    return judged("baseline", trials, good=f"{len(trials)} attempts at nothing score 0")


_RAISE = "raise NotImplementedError"
_NONE = "return None"


def stubbed(original: Tree, solved: Tree, body: str) -> Tree | None:
    """The solved tree with all functions emptied in the Python files that the solution wrote;
    ``None`` where it wrote none with a function."""
    found = dict(solved)
    statement = parse_python(f"def stub():\n    {body}\n")
    assert isinstance(statement, ast.Module) and isinstance(statement.body[0], ast.FunctionDef)
    instead = statement.body[0].body
    stubs = 0
    for path, entry in solved.items():
        if not path.endswith(".py") or (
            path in original and original[path].content == entry.content
        ):
            continue
        try:
            tree = parse_python(entry.content.decode())
        except (SyntaxError, ValueError, RecursionError):
            continue
        for node in ast.walk(tree):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                node.body = instead
                stubs += 1
        found[path] = text(ast.unparse(ast.fix_missing_locations(tree)))
    return found if stubs else None


def _worthless(name: str, verdict: Verdict) -> Trial:
    ok = not verdict.passed and verdict.score == 0.0
    detail = verdict.detail if ok else f"scores {verdict.score:g}"
    return Trial(what=name, ok=ok, score=verdict.score, detail=detail)


def _by_assertion(bench: Bench, nop: Verdict) -> list[Trial]:
    """Where a task names tests that the fault makes fail, they must fail by an assertion: a test
    that cannot even run tells nothing about the fault."""
    trials = []
    for name in bench.task.options.get("fail_to_pass", ()):
        result = nop.tests.get(name, "missing")
        if result != "failed":
            trials.append(
                Trial(
                    what=f"nop: {name}",
                    ok=False,
                    score=nop.score,
                    detail=f"{result}, not failed by an assertion",
                )
            )
    return trials
