from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from harness_adapters.parts import make_kinds
from harness_adapters.plugins import Plugins
from harness_adapters.sandbox.base import ExecResult, FileEntry
from harness_adapters.sandbox.process import Process
from harness_adapters.tasks.bundle import load_task
from harness_adapters.tasks.checks.attempts import Bench, Solved
from harness_adapters.tasks.checks.leak import leak
from harness_adapters.types import Verdict

Write = Callable[..., Path]
FIX = """\
from decimal import Decimal


def total(prices, *, rounded=False):
    \"\"\"The sum of all prices, rounded where asked for.\"\"\"
    amount = sum(map(Decimal, prices), start=Decimal(0))
    cents = amount.quantize(Decimal("0.01"))
    return str(cents if rounded else amount)
"""
OLD = "def total(prices):\n    return sum(prices[1:])\n"
REPAIR = {
    "instruction.md": "The total of a cart leaves out the first price.\n",
    "task.toml": """\
[metadata.harness_adapters]
kind = "repair"
cluster = "shop"
provenance = "made of commit 0123456789abcdef0123456789abcdef01234567"
[metadata.harness_adapters.repair]
fail_to_pass = ["test_cart.py::test_first_price"]
[verifier]
environment_mode = "separate"
[environment]
allow_internet = false
""",
    "environment/Dockerfile": "FROM python:3.11-slim\nCOPY data/ /work/\nWORKDIR /work\n",
    "environment/data/shop/cart.py": OLD,
    "tests/test.sh": "exit 1\n",
    "tests/test_cart.py": "def test_first_price(subject): ...\ndef test_cents(subject): ...\n",
}


@pytest.fixture
def repair(tmp_path: Path) -> Write:
    def write(changes: dict[str, str]) -> Path:
        for name, content in {**REPAIR, **changes}.items():
            path = tmp_path / "repair" / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(content)
        return tmp_path / "repair"

    return write


async def leaks(bundle: Path, solution: dict[str, str]) -> list[str]:
    task = load_task(bundle)
    kind = make_kinds(Plugins.load(), {task.kind})[task.kind]
    bench = Bench(task, kind, Process())
    tree = {**bench.original, **{n: FileEntry(content=c.encode()) for n, c in solution.items()}}
    solved = Solved(
        tree=tree,
        verdict=Verdict(passed=True, score=1.0),
        ran=ExecResult(returncode=0, stdout=b"", stderr=b""),
    )
    return [f"{trial.what}: {trial.detail}" for trial in (await leak(bench, solved)).trials]


NOTES = "environment/data/notes.md"
TOKEN = "hf_" + "a1B2" * 9


@pytest.mark.parametrize(
    ("place", "content", "says"),
    [
        ("instruction.md", "Make test_first_price pass.", "names the hidden test test_first_price"),
        (NOTES, "see test_cents", "/work/notes.md: names the hidden test test_cents"),
        (
            "environment/data/tests/test_a.py",
            "def test_first_price(): ...",
            "names the hidden test test_first_price",
        ),
        (
            "instruction.md",
            'Use `cents = amount.quantize(Decimal("0.01"))` there.',
            "instruction.md: holds a line of the solution of shop/cart.py",
        ),
        (NOTES, "first\n" + FIX, "/work/notes.md: holds a piece of the solution of shop/cart.py"),
        ("environment/data/old.txt", "0123456789abcdef", "holds the commit"),
        ("tests/data.json", f'"{TOKEN}"', "tests/data.json: holds what looks like a Hugging Face"),
        ("environment/Dockerfile", "FROM python\nCOPY data/ /work/\nWORKDIR /work\n", "pinned"),
        (
            "environment/Dockerfile",
            REPAIR["environment/Dockerfile"] + f"ENV KEY={TOKEN}\n",
            "environment/Dockerfile: holds what looks like",
        ),
    ],
)
async def test_what_an_agent_must_not_see(
    repair: Write, place: str, content: str, says: str
) -> None:
    (found,) = await leaks(repair({place: content}), {"shop/cart.py": FIX})
    assert says in found


async def test_what_it_may_see(repair: Write) -> None:
    harmless = {
        "instruction.md": "Please write `def total(prices, *, rounded=False):` as README.md says.",
        "environment/data/README.md": "The sum of all prices, rounded where asked for.\n",
        "environment/data/tests/test_cart.py": "def test_cents(): ...\n",
        "environment/data/shop/other.py": "from decimal import Decimal\n\n\nclass A: ...\n",
    }
    assert await leaks(repair(harmless), {"shop/cart.py": FIX}) == []


@pytest.mark.parametrize(
    ("answer", "place", "leaky"),
    [
        ("12.5", "How high? About 12.5, I think.", True),
        ("12.5", "How high? 112.5 or 12.55 or 12.5-13?", False),
        ("yes", "Answer yes or no.", False),
        ("Rosewood Street 12", "Is it Rosewood Street 12?", True),
        ("5", "Which 5 rows?", False),
    ],
)
async def test_answers(question: Write, answer: str, place: str, leaky: bool) -> None:
    found = await leaks(question({"instruction.md": place}), {"answer.txt": f"{answer}\n"})
    assert bool(found) == leaky, found


async def test_an_answer_left_in_a_file(question: Write) -> None:
    left = {"environment/data/old/answer.txt": "12.5"}
    (found,) = await leaks(question(left), {"answer.txt": "12.5\n"})
    assert found == "/work/old/answer.txt: holds the answer, '12.5'"
