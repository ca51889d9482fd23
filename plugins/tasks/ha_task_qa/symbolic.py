"""Comparing short formulas by their values. Pure, bounded, and nothing is executed."""

from __future__ import annotations

import ast
import cmath
import math
from collections.abc import Callable, Mapping

from harness_adapters.syntax_tree import parse_python

MAX_LENGTH = 200
MAX_NODES = 100
_POINTS = (0.6180339, 1.3247179, 2.2360679)  # where formulas with a letter in them are compared
_CLOSE = 1e-9

_FUNCTIONS: Mapping[str, Callable[[complex], complex]] = {
    "sqrt": cmath.sqrt,
    "exp": cmath.exp,
    "log": cmath.log,
    "ln": cmath.log,
    "sin": cmath.sin,
    "cos": cmath.cos,
    "tan": cmath.tan,
}
_CONSTANTS = {"pi": math.pi, "e": math.e}
_SPELLINGS = str.maketrans({"^": "**", "\u00d7": "*", "\u00b7": "*", "\u2212": "-", "\u03c0": "pi"})


def same_formula(left: str, right: str, *, abs_tol: float = 0.0, rel_tol: float = 0.0) -> bool:
    """Whether two texts are formulas with the same value, for any value of the letters in them.

    A formula is made of numbers, single letters, ``pi``, ``+ - * / ^``, brackets and a few
    functions. Plain words and plain numbers are none: at least one of the two must calculate.
    """
    trees = [_parsed(left), _parsed(right)]
    if trees[0] is None or trees[1] is None:
        return False
    if not any(isinstance(tree, ast.BinOp | ast.Call) for tree in trees):
        return False
    try:
        return all(
            _near(
                _value(trees[0], letter), _value(trees[1], letter), abs_tol=abs_tol, rel_tol=rel_tol
            )
            for letter in _POINTS
        )
    except (ArithmeticError, ValueError, RecursionError):
        return False


def _near(left: complex, right: complex, *, abs_tol: float, rel_tol: float) -> bool:
    allowed = max(abs_tol, max(rel_tol, _CLOSE) * abs(right))
    return abs(left - right) <= allowed  # false for anything that is no number


def _parsed(text: str) -> ast.expr | None:
    text = text.strip().translate(_SPELLINGS)
    if not text or len(text) > MAX_LENGTH:
        return None
    try:
        tree = parse_python(text, mode="eval")
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    if not isinstance(tree, ast.Expression) or sum(1 for _ in ast.walk(tree)) > MAX_NODES:
        return None
    return tree.body


def _value(node: ast.AST, letter: float) -> complex:
    """:raises ValueError: it is no formula.
    :raises ArithmeticError: it has no finite value.
    """
    match node:
        case ast.Constant(value=int(number) | float(number)) if not isinstance(number, bool):
            return complex(float(number))
        case ast.Name(id=name) if name in _CONSTANTS:
            return complex(_CONSTANTS[name])
        case ast.Name(id=name) if len(name) == 1 and name.isascii():
            return complex(letter + ord(name) / 100)
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            return -_value(operand, letter)
        case ast.UnaryOp(op=ast.UAdd(), operand=operand):
            return _value(operand, letter)
        case ast.Call(func=ast.Name(id=name), args=[argument], keywords=[]) if name in _FUNCTIONS:
            return _FUNCTIONS[name](_value(argument, letter))
        case ast.BinOp(left=left, op=op, right=right):
            a, b = _value(left, letter), _value(right, letter)
            match op:
                case ast.Add():
                    return a + b
                case ast.Sub():
                    return a - b
                case ast.Mult():
                    return a * b
                case ast.Div():
                    return a / b
                case ast.Pow():
                    return complex(a**b)
    raise ValueError("no formula")
