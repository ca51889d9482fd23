"""Leak, privacy, lint: what an agent sees tells it nothing that only the grader may know."""

from __future__ import annotations

import ast
import difflib
import posixpath
import re
from collections.abc import Iterator

from harness_adapters.errors import BrokenTask
from harness_adapters.syntax_tree import parse_python
from harness_adapters.tasks.checks.attempts import Bench, Solved, Tree
from harness_adapters.tasks.checks.evidence import Finding, Trial, judged
from harness_adapters.tasks.checks.lint import lint
from harness_adapters.tasks.checks.secrets import secrets_in
from harness_adapters.tasks.contents import list_files
from harness_adapters.tasks.globs import matches
from harness_adapters.tasks.protection import TESTS
from harness_adapters.tasks.subject import hidden_tests, plain_id
from harness_adapters.tasks.workspace import original_files
from harness_adapters.types import Task

INSTRUCTION = "instruction.md"
MAX_TEXT = 1024 * 1024
WINDOW = 3  # lines of the solution in a row that no visible file may have
_SIGNIFICANT = 8  # letters and digits that make a line worth comparing
_TELLING = 12  # characters that give a line away in an instruction
_LONG = 30  # characters that give a single line away in a file
_SHAPES = ("def ", "class ", "async def ", "import ", "from ", "@", "#", '"""', "'''")
_COMMIT = re.compile(r"\b[0-9a-f]{12,40}\b")


async def leak(bench: Bench, solved: Solved | None) -> Finding:
    """No test name, piece of the solution, answer, commit or secret is where an agent looks."""
    task = bench.task
    seen = dict(_visible(bench))
    found = [
        *_test_names(task, seen),
        *_pieces(bench.original, solved.tree if solved else {}, seen),
        *_answers(bench.original, solved.tree if solved else {}, task, seen),
        *_commits(task, seen),
        *_secrets(task),
        *lint(task),
    ]
    trials = [Trial(what=where, ok=False, score=0.0, detail=what) for where, what in found]
    return judged("leak", trials, good=f"nothing leaks in {len(seen)} visible texts")


def _visible(bench: Bench) -> Iterator[tuple[str, str]]:
    """What an agent sees as text: by name of the place."""
    task = bench.task
    yield INSTRUCTION, task.instruction
    for name, value in task.environment.items():
        yield f"${name}", value
    start = {posixpath.join(task.workdir, path): one for path, one in bench.original.items()}
    for place, entry in {**original_files(task), **start}.items():
        if len(entry.content) <= MAX_TEXT and b"\0" not in entry.content:
            yield place, entry.content.decode(errors="replace")


def _test_names(task: Task, seen: dict[str, str]) -> Iterator[tuple[str, str]]:
    """Names of hidden tests. Visible test files may have tests of the same name, but not of those
    that decide."""
    hidden = {plain_id(test).rpartition("::")[2] for test in hidden_tests(task)}
    decide: set[str] = set()
    for field in ("fail_to_pass", "new_tests"):
        decide |= {plain_id(test).rpartition("::")[2] for test in task.options.get(field, ())}
    for place, content in seen.items():
        names = decide if matches(place.lstrip("/"), TESTS) else hidden
        for name in sorted(names & set(re.findall(r"\w+", content))):
            yield place, f"names the hidden test {name}"


def _pieces(original: Tree, solved: Tree, seen: dict[str, str]) -> Iterator[tuple[str, str]]:
    """Lines that the solution adds. Their own old file is left out: code may be moved in it."""
    lines_of = {place: _significant(content) for place, content in seen.items()}
    for path, entry in solved.items():
        if original.get(path) == entry or b"\0" in entry.content:
            continue
        before = original[path].content.decode(errors="replace") if path in original else ""
        for block in _added(before, entry.content.decode(errors="replace"), python=path[-3:]):
            for line in block:
                if path.endswith(".py") and _tells(line) and line in seen[INSTRUCTION]:
                    yield INSTRUCTION, f"holds a line of the solution of {path}: {line[:80]}"
                    return
            for place, lines in lines_of.items():
                if place.endswith("/" + path) or place == INSTRUCTION:
                    continue
                if (found := _shared(block, lines)) is not None:
                    yield place, f"holds a piece of the solution of {path}: {found[:80]}"
                    return


def _added(before: str, after: str, *, python: str) -> Iterator[list[str]]:
    plain = _without_docstrings(after) if python == ".py" else after
    old, new = before.splitlines(), plain.splitlines()
    matcher = difflib.SequenceMatcher(None, old, new, autojunk=False)
    for tag, _, _, start, end in matcher.get_opcodes():
        if tag in ("insert", "replace") and (block := _significant("\n".join(new[start:end]))):
            yield block


def _significant(content: str) -> list[str]:
    lines = (line.strip() for line in content.splitlines())
    return [line for line in lines if sum(map(str.isalnum, line)) >= _SIGNIFICANT]


def _tells(line: str) -> bool:
    """Whether a line is worth hiding: a signature or an import is often part of what is asked."""
    return (
        len(line) >= _TELLING
        and not line.startswith(_SHAPES)
        and re.search(r"[=(\[]|return ", line) is not None
    )


def _shared(block: list[str], lines: list[str]) -> str | None:
    """What a file shares with an added block: some lines in a row, or one long one."""
    size = min(WINDOW, len(block))
    windows = {tuple(lines[at : at + size]) for at in range(len(lines) - size + 1)}
    for at in range(len(block) - size + 1):
        window = tuple(block[at : at + size])
        telling = [line for line in window if _tells(line)]
        enough = len(telling) >= 2 or any(len(line) >= _LONG for line in telling)
        if enough and window in windows:
            return max(telling, key=len)
    return None


def _without_docstrings(source: str) -> str:
    """Python source whose docstring lines are blank: they often repeat what is asked."""
    try:
        tree = parse_python(source)
    except (SyntaxError, ValueError, RecursionError):
        return source
    lines = source.splitlines()
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef) and ast.get_docstring(
            node, clean=False
        ):
            first = node.body[0]
            for number in range(first.lineno - 1, first.end_lineno or first.lineno):
                lines[number] = ""
    return "\n".join(lines)


def _answers(
    original: Tree, solved: Tree, task: Task, seen: dict[str, str]
) -> Iterator[tuple[str, str]]:
    """Short texts that the solution writes: the answer of a question."""
    for path, entry in solved.items():
        if original.get(path) == entry or path.endswith(".py") or len(entry.content) > 400:
            continue
        answer = entry.content.decode(errors="replace").strip()
        if not answer:
            continue
        for place, content in seen.items():
            stated = place == INSTRUCTION and _distinctive(answer) and _stands_in(answer, content)
            if stated or content.strip() == answer:
                yield place, f"holds the answer, {answer[:40]!r}"


def _distinctive(answer: str) -> bool:
    """Not a word or a small number that may stand anywhere."""
    return len(re.sub(r"\D", "", answer)) >= 3 or len(answer) >= 12


def _stands_in(answer: str, content: str) -> bool:
    return re.search(rf"(?<![\w.-]){re.escape(answer)}(?![\w-]|\.\w)", content) is not None


def _commits(task: Task, seen: dict[str, str]) -> Iterator[tuple[str, str]]:
    for commit in _COMMIT.findall(task.metadata.provenance):
        for place, content in seen.items():
            if commit[:12] in content:
                yield place, f"holds the commit that the task was made of, {commit[:12]}"


def _secrets(task: Task) -> Iterator[tuple[str, str]]:
    for name, path in list_files(task.path).items():
        try:
            with open(path, "rb") as file:  # noqa: PTH123
                content = file.read(MAX_TEXT)
        except OSError as error:
            raise BrokenTask(f"{path}: cannot be read ({error.strerror})") from None
        for sort in secrets_in(content.decode(errors="replace")):
            yield name, f"holds what looks like {sort}"
