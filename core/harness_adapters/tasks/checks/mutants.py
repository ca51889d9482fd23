"""Small faults, put one at a time into what the reference solution wrote. Pure."""

from __future__ import annotations

import ast
import random
import re
from collections.abc import Callable, Iterator
from copy import deepcopy

from harness_adapters.sandbox.base import FileEntry
from harness_adapters.syntax_tree import parse_python
from harness_adapters.tasks.checks.attempts import Tree, text

MAX_ANSWER_LINES = 50
_Rewrite = Callable[[ast.AST], ast.AST]


def mutants(original: Tree, solved: Tree, *, seed: str, limit: int) -> dict[str, Tree]:
    """A description -> a solved tree with one fault, spread over all that the solution changed.

    Python gets other operators, constants, conditions and lost statements; any other text, such as
    an answer, other numbers, and lines more or less.
    """
    found: list[tuple[str, str, FileEntry]] = []
    for path, entry in sorted(solved.items()):
        before = original.get(path)
        if before is not None and before.content == entry.content:
            continue
        if (content := _decoded(entry)) is None:
            continue
        make = _python if path.endswith(".py") else _text
        for what, after in make(_decoded(before) if before else None, content):
            if after.strip() != content.strip():
                found.append((f"{path}: {what}", path, text(after)))
    random.Random(seed).shuffle(found)
    return {what: {**solved, path: entry} for what, path, entry in found[:limit]}


def variant(original: Tree, solved: Tree) -> Tree:
    """The solved tree written in another way: Python without comments and with other line breaks
    and brackets, an answer with a line break or without."""
    found = dict(solved)
    for path, entry in solved.items():
        if original.get(path) == entry or (content := _decoded(entry)) is None:
            continue
        if path.endswith(".py"):
            if (tree := _parsed(content)) is not None:
                found[path] = text(ast.unparse(tree) + "\n")
        elif len(content.splitlines()) == 1:
            found[path] = text(content.strip() if content.endswith("\n") else content + "\n")
    return found


# --- Python -------------------------------------------------------------------------------------


def _python(before: str | None, after: str) -> Iterator[tuple[str, str]]:
    tree = _parsed(after)
    if tree is None:
        return
    known = _functions(_parsed(before) if before else None)
    for function in list(_scopes(tree)):
        if known.get(_name(function)) == ast.dump(function):
            continue
        for node in list(_inside(function)):
            for what, rewrite in _rewrites(node):
                place = f"line {getattr(node, 'lineno', 0)}:{getattr(node, 'col_offset', 0)}"
                yield (
                    f"{place}, {what}",
                    _applied(tree, node, rewrite),
                )


def _rewrites(node: ast.AST) -> Iterator[tuple[str, _Rewrite]]:
    match node:
        case ast.Compare(ops=[op, *_]) if type(op) in _COMPARED:
            other = _COMPARED[type(op)]
            yield f"{_sign(op)} becomes {_sign(other())}", _with_first_op(other)
        case ast.BinOp(op=op) if type(op) in _CALCULATED:
            other_op = _CALCULATED[type(op)]
            yield f"{_sign(op)} becomes {_sign(other_op())}", _with(op=other_op)
        case ast.BoolOp(op=bool_op):
            other_bool = ast.Or if isinstance(bool_op, ast.And) else ast.And
            yield f"{_sign(bool_op)} becomes {_sign(other_bool())}", _with(op=other_bool)
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            yield "not is lost", lambda _: operand
        case ast.Constant(value=bool(value)):
            yield f"{value} becomes {not value}", lambda _: ast.Constant(value=not value)
        case ast.Constant(value=int(number)):
            yield f"{number} becomes {number + 1}", lambda _: ast.Constant(value=number + 1)
        case ast.If(test=test) | ast.IfExp(test=test):
            yield "if is turned round", _with_test(ast.UnaryOp(op=ast.Not(), operand=test))
        case ast.Return(value=ast.expr()):
            yield "returns None", lambda _: ast.Return(value=ast.Constant(value=None))
        case ast.Raise() | ast.Expr(value=ast.Call()):
            yield "a statement is lost", lambda _: ast.Pass()


_COMPARED: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
}
_CALCULATED: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Add,
    ast.Div: ast.Mult,
    ast.FloorDiv: ast.Mult,
    ast.Mod: ast.Add,
}


def _with(**fields: type) -> _Rewrite:
    def rewrite(node: ast.AST) -> ast.AST:
        for name, of in fields.items():
            setattr(node, name, of())
        return node

    return rewrite


def _with_first_op(other: type[ast.cmpop]) -> _Rewrite:
    def rewrite(node: ast.AST) -> ast.AST:
        assert isinstance(node, ast.Compare)
        node.ops[0] = other()
        return node

    return rewrite


def _with_test(test: ast.expr) -> _Rewrite:
    def rewrite(node: ast.AST) -> ast.AST:
        assert isinstance(node, ast.If | ast.IfExp)
        node.test = test
        return node

    return rewrite


class _Replace(ast.NodeTransformer):
    def __init__(self, node: ast.AST, rewrite: _Rewrite) -> None:
        self._place = _place(node)
        self._rewrite = rewrite

    def visit(self, node: ast.AST) -> ast.AST:
        if _place(node) == self._place:
            return self._rewrite(node)
        self.generic_visit(node)
        return node


def _place(node: ast.AST) -> tuple[object, ...]:
    return (type(node), *(getattr(node, name, None) for name in _PLACE))


_PLACE = ("lineno", "col_offset", "end_lineno", "end_col_offset")


def _applied(tree: ast.Module, node: ast.AST, rewrite: _Rewrite) -> str:
    changed = _Replace(node, rewrite).visit(deepcopy(tree))
    return ast.unparse(ast.fix_missing_locations(changed)) + "\n"


_Scope = ast.FunctionDef | ast.AsyncFunctionDef


def _scopes(tree: ast.Module) -> Iterator[_Scope]:
    for node in ast.walk(tree):
        if isinstance(node, _Scope):
            yield node


def _functions(tree: ast.Module | None) -> dict[str, str]:
    return {_name(node): ast.dump(node) for node in _scopes(tree)} if tree else {}


def _name(function: _Scope) -> str:
    return function.name


def _inside(function: _Scope) -> Iterator[ast.AST]:
    """Its nodes, but for what makes loops endless, and docstrings."""
    pending: list[ast.AST] = list(function.body)
    while pending:
        node = pending.pop()
        if isinstance(node, ast.While | _Scope):
            continue
        yield node
        pending += ast.iter_child_nodes(node)


def _sign(op: ast.AST) -> str:
    return type(op).__name__


# --- any other text -----------------------------------------------------------------------------


def _text(before: str | None, after: str) -> Iterator[tuple[str, str]]:
    lines = after.splitlines()
    if not after.strip():
        return
    yield "nothing in it", ""
    yield "one more line", after.rstrip("\n") + "\nand one more\n"
    if len(lines) > MAX_ANSWER_LINES:
        lines = lines[:MAX_ANSWER_LINES]
    known = set(before.splitlines()) if before else set()
    for number, line in enumerate(lines):
        if line in known or not line.strip():
            continue
        if len(lines) > 1:
            yield f"line {number + 1} is lost", "\n".join(lines[:number] + lines[number + 1 :])
        for other in _spoiled(line):
            yield (
                f"line {number + 1} is {other!r}",
                "\n".join([*lines[:number], other, *lines[number + 1 :]]),
            )


def _spoiled(line: str) -> Iterator[str]:
    """The same line with its first number larger, zero, or of the other sign; or with a letter
    more and one fewer."""
    found = re.search(r"-?\d+(?:\.\d+)?", line)
    if found is None:
        yield line.rstrip() + "x"
        if len(line.strip()) > 1:
            yield line.strip()[1:]
        return
    value = float(found[0])
    others = [value + abs(value) * 0.1 + 1] + ([-value, 0.0] if value else [])
    for other in others:
        shown = f"{other:.4f}" if "." in found[0] else f"{other:.0f}"
        yield line[: found.start()] + shown + line[found.end() :]


def _decoded(entry: FileEntry) -> str | None:
    try:
        decoded = entry.content.decode()
    except UnicodeDecodeError:
        return None
    return None if "\0" in decoded else decoded


def _parsed(source: str | None) -> ast.Module | None:
    if source is None:
        return None
    try:
        tree = parse_python(source)
    except (SyntaxError, ValueError, RecursionError):
        return None
    return tree if isinstance(tree, ast.Module) else None
