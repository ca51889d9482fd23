"""A sound task passes all six checks, and one that is spoiled in one way fails exactly that one."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Mapping
from datetime import date
from pathlib import Path

import pytest

from harness_adapters.parts import make_kinds
from harness_adapters.plugins import Plugins
from harness_adapters.sandbox.providers import provider
from harness_adapters.tasks.bundle import load_task
from harness_adapters.tasks.checks import CHECKS, Evidence, Status, check_task

Write = Callable[..., Path]
EXAMPLES = Path(__file__).parents[4] / "examples"

TEST = """\
import sys
sys.path.insert(0, "/work")
from shop import total
assert total([3, 4]) == 7
assert total([5]) == 5
"""
SHOP = "def total(prices):\n    return sum(prices[1:])\n"
GAMEABLE = {  # what grades is the agent's own file
    "instruction.md": "The total of a cart leaves out the first price. Fix shop.py.\n",
    "environment/data/shop.py": SHOP,
    "environment/data/tests/test_total.py": TEST,
    "tests/test.sh": "cd /work && mkdir -p /logs/verifier && "
    "python3 tests/test_total.py && echo 1 > /logs/verifier/reward.txt\n",
    "solution/solve.sh": "set -eu\ncp /solution/shop.py shop.py\n",
    "solution/shop.py": "def total(prices):\n    return sum(prices)\n",
}
FLAKY = {  # right only on one half of the earth
    "tests/test.sh": """\
mkdir -p /logs/verifier
[ "$(date +%z)" != "+1400" ] && [ "$(cat /work/answer.txt)" = 12.5 ] &&
    echo 1 > /logs/verifier/reward.txt
"""
}
NEEDS_NETWORK = {
    "solution/solve.sh": "set -eu\npython3 -I -c 'import urllib.request as r; "
    'print(r.urlopen("http://example.org/mean", timeout=5).read())\' > answer.txt\n'
}


async def checked(bundle: Path) -> Evidence:
    task = load_task(bundle)
    kind = make_kinds(Plugins.load(), {task.kind})[task.kind]
    found = await check_task(task, kind, await provider("bubblewrap"))
    assert found.error == ""
    assert [finding.check for finding in found.findings] == list(CHECKS)
    return found


def failed(found: Evidence) -> list[str]:
    return [finding.check for finding in found.failed]


async def test_sound_tasks_pass_all_six(question: Write, foreign: Write) -> None:
    for bundle in (question(), foreign()):
        found = await checked(bundle)
        assert {finding.check: finding.status for finding in found.findings} == dict.fromkeys(
            CHECKS, Status.PASSED
        ), found.failed
        trials = sum(len(finding.trials) for finding in found.findings)
        assert trials > 20


@pytest.mark.parametrize(
    ("check", "ours", "changes", "detail"),
    [
        (
            "leak",
            True,
            {"instruction.md": "What is the mean height? (12.5) Write it to answer.txt."},
            "instruction.md: holds the answer, '12.5'",
        ),
        ("stability", False, FLAKY, "Pacific/Kiritimati: no reward was written"),
        (
            "discrimination",
            True,
            {"tests/expected.json": '{"type": "number", "value": 12.5, "abs_tol": 1000}'},
            "one that lives: answer.txt: ",
        ),
        ("oracle", True, NEEDS_NETWORK, "solve.sh ended with 1: "),
        ("tamper", False, GAMEABLE, "edited tests: scores 1"),
    ],
    ids=["leaky instruction", "flaky test", "weak test", "oracle needs network", "gameable"],
)
async def test_a_task_spoiled_in_one_way_fails_exactly_that_check(
    question: Write,
    foreign: Write,
    check: str,
    ours: bool,
    changes: Mapping[str, str],
    detail: str,
) -> None:
    found = await checked((question if ours else foreign)(changes))
    assert failed(found) == [check], found.failed
    assert detail in found.failed[0].detail


Spoil = Callable[[Path], None]
SHIPPED: dict[str, tuple[str, Spoil]] = {}


def spoil(check: str, task: str) -> Callable[[Spoil], Spoil]:
    """What makes a shipped task fail just this check."""

    def register(change: Spoil) -> Spoil:
        SHIPPED[check] = (task, change)
        return change

    return register


def replaced(path: Path, old: str, new: str) -> None:
    content = path.read_text()
    assert old in content
    path.write_text(content.replace(old, new))


@spoil("leak", "qa-courses-0007")
def _leaky(bundle: Path) -> None:
    path = bundle / "instruction.md"
    path.write_text(f"{path.read_text()}\nIt should be near 247.0 (or 247).\n")


@spoil("oracle", "qa-meters-0002")
def _needs_network(bundle: Path) -> None:
    fetch = "python3 -I -c 'import socket; socket.create_connection((\"192.0.2.1\", 80), 3)'\n"
    replaced(bundle / "solution" / "solve.sh", "set -eu\n", f"set -eu\n{fetch}")


@spoil("discrimination", "qa-payments-0000")
def _weak(bundle: Path) -> None:
    replaced(bundle / "tests" / "expected.json", '"abs_tol": 0.0', '"abs_tol": 1000')


@spoil("stability", "repair-stencil")
def _flaky(bundle: Path) -> None:
    path = bundle / "tests" / "test_stencil.py"
    flaky = f"""

def test_of_its_year(subject):
    year = subject.eval("import datetime; result = datetime.date.today().year")
    assert year < {date.today().year + 1}
"""
    path.write_text(path.read_text() + flaky)


@spoil("tamper", "repair-bookings")
def _gameable(bundle: Path) -> None:
    toml = (bundle / "task.toml").read_text()
    start, end = toml.index("[metadata.harness_adapters]"), toml.index("[agent]")
    (bundle / "task.toml").write_text(toml[:start] + toml[end:])
    (bundle / "tests" / "test.sh").write_text(
        "cd /work && mkdir -p /logs/verifier && python3 -m pytest -q tests && "
        "echo 1 > /logs/verifier/reward.txt\n"
    )


@pytest.mark.full
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("check", SHIPPED)
async def test_five_shipped_tasks_each_spoiled_in_one_way(check: str, tmp_path: Path) -> None:
    name, change = SHIPPED[check]
    bundle = tmp_path / name
    shutil.copytree(EXAMPLES / "tasks" / name, bundle)
    change(bundle)
    found = await checked(bundle)
    assert failed(found) == [check], found.failed
