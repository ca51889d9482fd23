"""What is read of a Python program, and what is passed over since it cannot matter."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from harness_adapters import Ledger, ToolCall
from harness_adapters.gateway.guard.python_hot import may_matter

Does = Callable[..., list[tuple[str, str]]]
COLD = "def cold(x):\n    '''open(nothing)\ndef inner\n'''\n    return x + 1\n\n"


@pytest.mark.parametrize(
    "program",
    [
        "import os\nfrom collections import Counter\nprint(Counter([1]))",
        "class A:\n    def __init__(self):\n        self.x = 1\n    def __eq__(self, o): ...",
        "if __name__ == '__main__':\n    print(sum(range(3)))",
    ],
)
def test_programs_that_reach_nothing_are_passed_over(program: str) -> None:
    assert not may_matter(program)


@pytest.mark.parametrize(
    "program",
    [
        "import os as o\no.system('x')",
        "from os import system as s\ns('x')",
        "os\\\n.system('x')",
        "\uff4f\uff50\uff45\uff4e('x')",
        "().__class__.__base__.__subclasses__()",
        "__builtins__['op' + 'en']('x')",
        "getattr(x, 'y')",
        "import pandas as p; p.read_csv('x')",
        "import sys; sys.path.append('x')",
    ],
)
def test_whatever_may_reach_something_is_read(program: str) -> None:
    assert may_matter(program)


@pytest.mark.parametrize(
    "program",
    [
        COLD + "open('/tests/a')\n" + COLD,
        COLD + "def hot():\n    open('/tests/a')\n" + COLD,
        COLD + "p = '/tests/a'\n" + COLD + "open(p)\n",
        COLD + "class A:\n    def f(self):\n        open('/tests/a')\n",
        "def f(p):\n    return open(p)\n" + COLD + "f('/tests/a')\n",
        COLD + "class A:\n    P = '/tests/a'\n" + "open(A.P)\n",
        "x = '''\ndef cold():\n    pass\n'''\nopen('/tests/a')\n",
        "@open('/tests/a').x\ndef cold():\n    pass\n",
        "def cold():\n    global p\n    p = '/tests/a'\ncold()\nopen(p)\n",
        "for p in ['a', '/tests/a']:\n    open(p)\n",
        "import glob\nfor p in sorted(glob.glob('/tests/*')):\n    open(p)\n",
    ],
)
def test_what_is_passed_over_hides_nothing(does: Does, program: str) -> None:
    reads = [path for kind, path in does("execute_code", code=program) if kind == "read"]
    assert any(path.startswith("/tests") for path in reads)


def test_modules_of_the_session_run_when_they_are_imported(ledger: Ledger, does: Does) -> None:
    raw = '{"path": "helpers/peek.py", "content": "open(\'/tests/a\')"}'
    ledger.commit(ToolCall(id="w", name="write", raw=raw, ledger=ledger))
    for program in (
        "import helpers.peek",
        "from helpers import peek",
        "from helpers.peek import x",
        "import importlib; importlib.import_module('helpers.peek')",
    ):
        assert ("read", "/tests/a") in does("execute_code", code=program), program
    assert ("read", "/tests/a") not in does("execute_code", code="import helper")


def test_long_chains_of_elif_are_no_nesting(does: Does) -> None:
    branches = "".join(f"elif x == {i}:\n    y = {i}\n" for i in range(300))
    program = f"open('/tests/a')\nif x:\n    y = 0\n{branches}"
    assert ("read", "/tests/a") in does("execute_code", code=program)
