"""Whether a Python program shows the environment as a whole, or what a search for secrets picks.

Handing all variables on to a program that is started (``env=``) shows nothing, nor do their names.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator

from harness_adapters.gateway.guard.names import names

_SHOWS = names(
    """
    print pprint write writelines write_text dump info debug warning error post put send sendall
    log pp display b64encode
    """
)
_ONE = names("get pop setdefault update keys clear __contains__ __setitem__")
_ONLY_NAMES = names("list sorted len set tuple enumerate iter bool")
_TESTS = names("startswith endswith search match fullmatch findall fnmatch fnmatchcase find count")
_HANDED_ON = frozenset(("env", "environ", "environment"))


def shown(tree: ast.AST, imported: Iterable[str]) -> list[str]:
    """``["*"]`` where all is shown, ``["*TEXT"]`` for what names are searched for.

    :param imported: names in the program that stand for ``os.environ``.
    """
    return _Reader(frozenset(imported)).read(tree)


class _Reader:
    def __init__(self, imported: frozenset[str]) -> None:
        self._imported = imported
        self._held: set[str] = set()  # names that hold variables' values

    def read(self, tree: ast.AST) -> list[str]:
        nodes = list(ast.walk(tree))
        sought = [f"*{text}" for node in nodes for text in _sought(node)]
        for node in nodes:
            match node:
                case ast.comprehension(target=target, iter=over, ifs=[]) if self._named(over):
                    self._bind([target])
                case ast.Assign(targets=targets, value=value) if self._holds(value):
                    self._bind(targets)
                case ast.For(target=target, iter=over) if self._holds(over) and not _picks(node):
                    self._bind([target])
                case ast.For(target=ast.Name() as target, iter=over) if self._named(over):
                    if not _picks(node):
                        self._bind([target])
                case _:
                    pass
        for node in nodes:
            if isinstance(node, ast.Call) and _last(node.func) in _SHOWS and self._given(node):
                return ["*", *sought]
        body = getattr(tree, "body", None)
        last = body[-1] if isinstance(body, list) and body else None
        if isinstance(last, ast.Expr) and self._environ(last.value):  # a notebook's last line
            return ["*", *sought]
        return sought

    def _bind(self, targets: Iterable[ast.AST]) -> None:
        for target in targets:
            self._held |= {one.id for one in ast.walk(target) if isinstance(one, ast.Name)}

    def _given(self, call: ast.Call) -> bool:
        given = [*call.args, *(k.value for k in call.keywords if k.arg not in _HANDED_ON)]
        return any(self._holds(one) for one in given)

    def _environ(self, node: ast.AST) -> bool:
        if isinstance(node, ast.Name):
            return node.id in self._imported
        return isinstance(node, ast.Attribute) and node.attr in ("environ", "environb")

    def _named(self, node: ast.AST) -> bool:
        """An iteration over variables' names."""
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            return node.func.attr == "keys" and self._environ(node.func.value)
        if isinstance(node, ast.Call):
            return _last(node.func) in _ONLY_NAMES and any(map(self._environ, node.args))
        return self._environ(node)

    def _holds(self, node: ast.AST) -> bool:
        """Whether an expression holds all variables' values, or any of them unpicked."""
        stack = [node]
        while stack:
            one = stack.pop()
            if self._environ(one):
                return True
            match one:
                case ast.Name(id=name) if name in self._held:
                    return True
                case ast.Subscript(value=value, slice=key) if self._environ(value):
                    if isinstance(key, ast.Name) and key.id in self._held:
                        return True
                    continue
                case ast.Call(func=ast.Attribute(value=value, attr=attr)) if self._environ(value):
                    if attr not in _ONE:
                        return True
                    continue
                case ast.Call(func=func, args=[ast.Name(id=name), *_]) if (
                    _last(func) in ("getenv", "get") and name in self._held
                ):
                    return True
                case ast.Call(func=func, args=args) if _last(func) in _ONLY_NAMES and any(
                    map(self._environ, args)
                ):
                    continue
                case ast.Call(func=func, args=args, keywords=keywords):
                    stack += [func, *args, *(k.value for k in keywords if k.arg not in _HANDED_ON)]
                    continue
                case ast.ListComp() | ast.SetComp() | ast.GeneratorExp() | ast.DictComp():
                    if self._kept(one):
                        return True
                    continue
                case ast.Lambda() | ast.Compare():
                    continue
                case _:
                    pass
            stack += ast.iter_child_nodes(one)
        return False

    def _kept(self, node: ast.ListComp | ast.SetComp | ast.GeneratorExp | ast.DictComp) -> bool:
        """A comprehension over all variables that keeps values and leaves none out."""
        for one in node.generators:
            over_all = self._holds(one.iter)
            if one.ifs or not (over_all or self._named(one.iter)):
                continue
            if over_all and not self._named(one.iter):
                return True
            elements = [node.value] if isinstance(node, ast.DictComp) else [node.elt]
            if any(
                isinstance(part, ast.Subscript) and self._environ(part.value)
                for element in elements
                for part in ast.walk(element)
            ):
                return True
        return False


def _picks(loop: ast.For) -> bool:
    """Whether a loop looks at only some."""
    return any(isinstance(one, ast.If) for one in loop.body)


def _sought(node: ast.AST) -> Iterator[str]:
    """Texts that names are compared with."""
    match node:
        case ast.Compare(left=left, comparators=others):
            near: list[ast.AST] = [left, *others]
        case ast.Call(func=func, args=args) if _last(func) in _TESTS:
            near = list(args)
        case ast.comprehension(iter=ast.Tuple() | ast.List() | ast.Set() as listed):
            near = [listed]  # ``any(s in name for s in ("KEY", "TOKEN"))``
        case _:
            return
    for one in near:
        for part in ast.walk(one):
            if isinstance(part, ast.Constant) and isinstance(part.value, str):
                yield part.value[:80]


def _last(func: ast.AST) -> str:
    if isinstance(func, ast.Attribute):
        return func.attr
    return func.id if isinstance(func, ast.Name) else ""


#: Whether a text names the environment as a whole, rather than one of its variables.
WHOLE = re.compile(r"\benviron(?:b)?\b(?!\s*\[\s*['\"]|\s*\.\s*(?:get|pop|setdefault)\b)")
