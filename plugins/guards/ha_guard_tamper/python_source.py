"""A Python source as its syntax tree, with the names that its expressions stand for."""

from __future__ import annotations

import ast
import re
import textwrap
from collections.abc import Iterable

from harness_adapters.syntax_tree import parse_python


def parse_piece(content: str) -> ast.Module | None:
    """The tree of a whole file, or of a piece of one that an edit puts in."""
    plain = textwrap.dedent(content)
    first, _, rest = content.partition("\n")
    # An edit that begins within a line: the next one tells how deep it stands.
    deep = re.match(r"[ \t]*", rest)
    level = f"if 1:\n{deep.group() if deep else ''}{first.lstrip()}\n{rest}"
    for text in (content, plain, f"if 1:\n{content}", level):
        try:
            tree = parse_python(text)
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            continue
        return tree if isinstance(tree, ast.Module) else None
    lines = plain.splitlines()
    if len(lines) > 1 and lines[-1].rstrip().endswith(":"):
        indent = " " * (len(lines[-1]) - len(lines[-1].lstrip()) + 1)
        return parse_piece(f"{plain}\n{indent}pass")
    return None


def nodes_of(*roots: ast.AST) -> list[ast.AST]:
    """Trees' nodes, the outer ones first: ``ast.walk`` in half of its time."""
    found = list(roots)
    for node in found:  # which grows meanwhile
        for name in node._fields:
            value = getattr(node, name, None)
            if isinstance(value, ast.AST):
                found.append(value)
            elif isinstance(value, list):
                found += [one for one in value if isinstance(one, ast.AST)]
    return found


class Names:
    """What dotted names stand for, imports resolved; calls that only name something too."""

    def __init__(self, nodes: Iterable[ast.AST]) -> None:
        self._modules: dict[str, str] = {}
        for node in nodes:
            if isinstance(node, ast.Import):
                for alias in node.names:
                    top = alias.name if alias.asname else alias.name.split(".")[0]
                    self._modules[alias.asname or top] = top
            elif isinstance(node, ast.ImportFrom):
                for alias in node.names:
                    self._modules[alias.asname or alias.name] = f"{node.module}.{alias.name}"

    def of(self, node: ast.AST | None) -> str:
        trail: list[str] = []
        while isinstance(node, ast.Attribute):
            trail.append(node.attr)
            node = node.value
        if isinstance(node, ast.Name):
            trail.append(self._modules.get(node.id, node.id))
        elif isinstance(node, ast.Call):
            trail.append(self._of_call(node))
        elif isinstance(node, ast.Subscript):
            key = node.slice.value if isinstance(node.slice, ast.Constant) else None
            base = self.of(node.value).removesuffix(".__dict__")
            named = isinstance(key, str) and base in ("sys.modules", "globals()", "builtins")
            trail.append(str(key) if named else f"{base}[]")
        return ".".join(reversed(trail))

    def _of_call(self, node: ast.Call) -> str:
        inner = self.of(node.func)
        args = [
            str(one.value) if isinstance(one, ast.Constant) else self.of(one)
            for one in node.args[:2]
        ]
        if inner in ("__import__", "importlib.import_module", "vars") and args:
            return args[0]
        if inner == "getattr" and len(args) == 2:
            return ".".join(args)
        return f"{inner}()"
