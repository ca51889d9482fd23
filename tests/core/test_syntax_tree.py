from __future__ import annotations

import ast
import gc
import sys
import threading
import warnings
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest

from harness_adapters.syntax_tree import parse_python

PROGRAM = "\n".join(
    f"def f{i}(a, b):\n    return [a + {i}, (b, -a, {{'x': a}})]" for i in range(200)
)


class YieldsWhenCollected:
    """Garbage that lets another thread run while it is collected."""

    def __init__(self) -> None:
        self.itself = self

    def __del__(self) -> None:
        threading.Event().wait(0)


@pytest.fixture
def eager_collection() -> Iterator[None]:
    """Collections in the midst of everything that makes objects."""
    before, interval = gc.get_threshold(), sys.getswitchinterval()
    gc.set_threshold(50)
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(interval)
    gc.set_threshold(*before)


@pytest.mark.usefixtures("eager_collection")
def test_threads_parse_at_the_same_time_while_garbage_is_collected() -> None:
    def parse(_: int) -> int:
        for _ in range(8):
            YieldsWhenCollected()
        tree = parse_python(PROGRAM)
        assert isinstance(tree, ast.Module)
        return len(tree.body)

    with ThreadPoolExecutor(8) as threads:
        assert set(threads.map(parse, range(64))) == {200}


def test_a_parser_elsewhere_that_spoils_the_depth_only_costs_another_try(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    real = ast.parse
    spoiled: list[int] = []

    def spoil(source: str, *, mode: str = "exec") -> ast.AST:
        if len(spoiled) < 3:
            spoiled.append(1)
            raise SystemError("AST constructor recursion depth mismatch (before=153, after=206)")
        return real(source, mode=mode)

    monkeypatch.setattr(ast, "parse", spoil)
    assert ast.dump(parse_python("1", mode="eval")) == ast.dump(real("1", mode="eval"))
    assert len(spoiled) == 3


@pytest.mark.parametrize(
    "message", ["error return without exception set", "recursion depth mismatch"]
)
def test_an_error_that_does_not_pass_is_raised(
    monkeypatch: pytest.MonkeyPatch, message: str
) -> None:
    def fail(source: str, *, mode: str = "exec") -> ast.AST:
        raise SystemError(message)

    monkeypatch.setattr(ast, "parse", fail)
    with pytest.raises(SystemError, match=message):
        parse_python("1")


def test_warnings_collection_and_errors_are_as_before() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        parse_python(r"'\d'")
        with pytest.raises(SyntaxError):
            parse_python("def")
    assert gc.isenabled()
    gc.disable()
    try:
        parse_python("1")
        assert not gc.isenabled()
    finally:
        gc.enable()
