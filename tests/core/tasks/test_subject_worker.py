from __future__ import annotations

import enum
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from harness_adapters.tasks.subject import worker
from harness_adapters.tasks.subject.worker import NotJson, describe, plain


class Number(int):
    def __eq__(self, other: object) -> bool:
        return True

    __hash__ = int.__hash__


class Colour(enum.StrEnum):
    RED = "red"


@pytest.mark.parametrize(
    "value",
    [
        Number(3),
        Colour.RED,
        {1: 2},
        {Colour.RED: 1},
        {1, 2},
        b"x",
        float("nan"),
        float("inf"),
        object(),
        [1, [Number(3)]],
        {"a": (Number(1),)},
    ],
)
def test_only_exact_json_types_get_out(value: object) -> None:
    with pytest.raises(NotJson):
        plain(value)


def test_tuples_count_as_lists() -> None:
    assert repr(plain({"a": (1, True, 1.0, None, "x")})) == repr({"a": [1, True, 1.0, None, "x"]})


def test_an_error_whose_text_cannot_be_made_has_none() -> None:
    class Odd(KeyError):
        def __str__(self) -> str:
            raise SystemExit

    assert describe(Odd()) == {
        "type": "Odd",
        "bases": ["Odd", "KeyError", "LookupError", "Exception", "BaseException"],
        "message": "",
    }


def ask(tree: Path, **request: Any) -> Any:
    done = subprocess.run(
        [sys.executable, "-I", "-B", str(worker.__file__)],
        input=json.dumps({"import_from": [str(tree)], **request}).encode() + b"\n",
        capture_output=True,
        check=True,
        timeout=60,
    )
    assert done.stderr == b""
    assert done.stdout.count(b"\n") == 1
    return json.loads(done.stdout)


def test_requests_and_replies(tmp_path: Path) -> None:
    (tmp_path / "shop.py").write_text(
        "import os, sys\n"
        "class Cart:\n"
        "    @staticmethod\n"
        "    def total(*prices, tax=0):\n"
        "        print('{\"value\": 1}'); os.write(1, b'{\"value\": 2}\\n')\n"
        "        print('x', file=sys.stderr)\n"
        "        return sum(prices) + tax + len(sys.stdin.read())\n"
        "def large(): return 'x' * (2 << 20)\n"
        "def deep():\n"
        "    x = []\n"
        "    for _ in range(100_000): x = [x]\n"
        "    return x\n"
    )
    total = {"target": "shop:Cart.total", "args": [3, 4], "kwargs": {"tax": 1}}
    assert ask(tmp_path, **total) == {"value": 8}
    assert ask(tmp_path, source="import shop\nresult = shop.Cart.total(1)") == {"value": 1}
    assert ask(tmp_path, source="1/0")["error"]["type"] == "ZeroDivisionError"
    assert ask(tmp_path, source="raise SystemExit(3)")["error"]["type"] == "SystemExit"
    assert ask(tmp_path, target="none:f", args=[], kwargs={})["error"]["type"] == (
        "ModuleNotFoundError"
    )
    assert ask(tmp_path, target="shop:large", args=[], kwargs={})["error"]["type"] == "TooLarge"
    assert ask(tmp_path, target="shop:deep", args=[], kwargs={})["error"]["type"] == (
        "RecursionError"
    )
