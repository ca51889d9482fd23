"""What calls in a Python program give, where they only work something out: Python's own functions
and methods, and functions of the program's own."""

from __future__ import annotations

import ast
import posixpath
from collections.abc import Mapping, Sequence
from typing import Any

from harness_adapters.gateway.guard.names import names
from harness_adapters.gateway.guard.python_functions import (
    FUNCTIONS,
    MAX_ITEMS,
    UNTOLD,
    FileValue,
    ModuleValue,
    PathValue,
    of_string,
)
from harness_adapters.gateway.guard.python_values import IMPORTERS, Function, Values, installed
from harness_adapters.gateway.guard.recorder import Recorder
from harness_adapters.gateway.guard.state import State

_MAX_CALLS_DEEP = 4  # functions of the program's own that are worked out inside one another
_MAX_STATEMENTS = 250  # of such functions, in one program; beyond that nothing is told of them
_NO_RESULT = object()  # no ``return`` was reached
_CHANGES = names("append add appendleft insert extend update")
_SAME = names(
    """
    str bytes bytearray os.fspath os.path.expanduser os.path.abspath os.path.realpath
    os.path.normpath os.path.expandvars os.fsencode os.fsdecode memoryview io.StringIO io.BytesIO
    textwrap.dedent inspect.cleandoc
    """
)
_LISTS = frozenset(("sorted", "list", "tuple", "set", "frozenset", "reversed", "iter"))
_PATHS = frozenset(("pathlib.Path", "pathlib.PurePath", "pathlib.PosixPath", "Path"))
_WHERE = frozenset(("inspect.getfile", "inspect.getsourcefile", "inspect.getabsfile"))


class Called(Values):
    """Adds what calls are worth."""

    def __init__(self, rec: Recorder, state: State, argv: Sequence[str]) -> None:
        super().__init__(rec, state, argv)
        self._calling = 0
        self._statements = 0

    def call_value(self, node: ast.Call) -> Any:
        """What a call gives, if it only works something out."""
        name = self.name(node.func)
        args = self.values(node.args)
        given = {one.arg: self.value(one.value) for one in node.keywords if one.arg}
        if isinstance(node.func, ast.Lambda) or name in self.functions:
            own = node.func if isinstance(node.func, ast.Lambda) else self.functions[name]
            return self.returned(own, args, given)
        if name == "dict" and not args:
            return dict(given)
        if name in _WHERE and node.args:
            module = self.name(node.args[0])
            return installed(module) if module in self.modules.values() else None
        if name in ("map", "filter") and len(node.args) == 2:
            return self._mapped(name, node.args[0], args[1])
        if (found := self._of_name(name, args)) is not None:
            return found
        if isinstance(node.func, ast.Attribute):
            return self._method(node.func, args, given)
        return None

    def given(
        self, function: Function, args: Sequence[Any], named: Mapping[str, Any]
    ) -> dict[str, Any]:
        """The parameters of a function of the program's own, and what they are in a call."""
        takes = function.args
        places = [*takes.posonlyargs, *takes.args]
        values: dict[str, Any] = {one.arg: None for one in (*places, *takes.kwonlyargs)}
        for one, default in zip(reversed(places), reversed(takes.defaults), strict=False):
            values[one.arg] = self.value(default)
        for one, own in zip(takes.kwonlyargs, takes.kw_defaults, strict=True):
            values[one.arg] = self.value(own)
        values.update((one.arg, value) for one, value in zip(places, args, strict=False))
        values.update((name, value) for name, value in named.items() if name in values)
        if takes.vararg:
            values[takes.vararg.arg] = list(args[len(places) :])
        if takes.kwarg:
            values[takes.kwarg.arg] = {k: v for k, v in named.items() if k not in values}
        return values

    def returned(
        self, function: Function, args: Sequence[Any], named: Mapping[str, Any] | None = None
    ) -> Any:
        """What a function of the program's own gives, where it only works something out."""
        if self._calling >= _MAX_CALLS_DEEP:
            return None
        self._calling += 1
        self.enter(self.given(function, args, named or {}))
        if isinstance(function, ast.Lambda):
            found = self.value(function.body)
        else:
            found = self._result(function.body)
        self.leave()
        self._calling -= 1
        return None if found is _NO_RESULT else found

    def _result(self, body: Sequence[ast.stmt]) -> Any:
        """What statements return, of both branches the first that is told; ``None`` where they do
        more than work something out."""
        for statement in body:
            self._statements += 1
            if self._statements > _MAX_STATEMENTS:
                return None
            self.rec.value()
            found: Any = _NO_RESULT
            match statement:
                case ast.Assign(targets=targets, value=given):
                    value = self.value(given)
                    for target in targets:
                        self.bind(target, value)
                case ast.AnnAssign(target=target, value=ast.expr() as given):
                    self.bind(target, self.value(given))
                case ast.AugAssign(target=ast.Name() as target, op=op, value=given):
                    self.bind(target, self.value(ast.BinOp(left=target, op=op, right=given)))
                case ast.Return(value=given):
                    return self.value(given)
                case ast.Expr(value=ast.Call() as call):
                    self.change(call)
                case ast.If(body=then, orelse=otherwise):
                    told = [self._result(then), self._result(otherwise)]
                    found = next((one for one in told if one not in (None, _NO_RESULT)), told[0])
                case ast.For(target=target, iter=over, body=inside):
                    for value in self.items(over) or ():
                        self.bind(target, value)
                        if (found := self._result(inside)) is not _NO_RESULT:
                            break
                case ast.Expr() | ast.Import() | ast.ImportFrom() | ast.Pass() | ast.AnnAssign():
                    pass
                case _:
                    return None
            if found is not _NO_RESULT:
                return found
        return _NO_RESULT

    def change(self, call: ast.Call) -> None:
        """A method that changes a list or a dict of the program's own."""
        if not isinstance(call.func, ast.Attribute) or call.func.attr not in _CHANGES:
            return
        own, method = self.value(call.func.value), call.func.attr
        args = self.values(call.args)
        if isinstance(own, dict) and method == "update":
            more = dict(args[0]) if args and isinstance(args[0], dict) else {}
            more |= {one.arg: self.value(one.value) for one in call.keywords if one.arg}
            own.update(list(more.items())[: max(0, MAX_ITEMS - len(own))])
        elif isinstance(own, list) and args and len(own) < MAX_ITEMS:
            if method in ("append", "add"):
                own.append(args[0])
            elif method in ("insert", "appendleft"):
                own.insert(args[0] if len(args) > 1 and isinstance(args[0], int) else 0, args[-1])
            elif method in ("extend", "update") and isinstance(args[0], (list, str)):
                own += list(args[0])[: MAX_ITEMS - len(own)]

    def _mapped(self, name: str, function: ast.expr, over: Any) -> Any:
        if not isinstance(over, (list, str)):
            return None
        if name == "filter":
            return list(over)
        found: list[Any] = []
        for one in list(over)[:MAX_ITEMS]:
            self.rec.value()
            if isinstance(function, ast.Lambda):
                found.append(self.returned(function, [one]))
            elif (called := self.name(function)) in self.functions:
                found.append(self.returned(self.functions[called], [one]))
            else:
                found.append(self._of_name(called, [one]))
        return found

    def _of_name(self, name: str, args: list[Any]) -> Any:
        strings = [arg for arg in args if isinstance(arg, str)]
        first = args[0] if args else None
        all_strings = bool(args) and len(strings) == len(args)
        if name in _PATHS:
            return (
                PathValue(posixpath.join(*strings))
                if all_strings
                else PathValue(".")
                if not args
                else None
            )
        if name in ("os.path.join", "posixpath.join"):
            known = [arg if isinstance(arg, str) else UNTOLD for arg in args]
            return posixpath.join(*known) if strings and isinstance(args[-1], str) else None
        if name in _SAME:
            if isinstance(first, list) and all(isinstance(c, int) and 0 <= c < 256 for c in first):
                return bytes(first).decode("utf-8", errors="replace")
            return str(first) if isinstance(first, (str, int)) else None
        if name in _LISTS and len(args) == 1:
            if isinstance(first, (list, str, dict)):
                items = list(first)
                if name == "sorted" and all(isinstance(one, str) for one in items):
                    items.sort()
                return items[::-1] if name == "reversed" else items
            return None
        if name.startswith("str.") and isinstance(first, str) and name != "str.maketrans":
            return self._of_string(first, name[4:], args[1:], {})
        if name in IMPORTERS and isinstance(first, str):
            return ModuleValue(first)
        if handler := FUNCTIONS.get(name):
            try:
                return handler(self.state, args)
            except (ValueError, TypeError, LookupError, OverflowError, AttributeError):
                return None
        return None

    def _method(self, func: ast.Attribute, args: list[Any], given: Mapping[str, Any]) -> Any:
        own = self.value(func.value)
        if isinstance(own, PathValue):
            found = self._path_method(own, func.attr, args)
            if found is not None or func.attr in ("replace", "rename", "open"):
                return found
        if isinstance(own, FileValue) and func.attr in (
            "read",
            "readlines",
            "getvalue",
            "readline",
        ):
            if own.text is None:
                return None
            return (
                own.text
                if func.attr in ("read", "getvalue")
                else own.text.splitlines(keepends=True)
            )
        if (
            isinstance(own, dict)
            and func.attr in ("get", "pop")
            and args
            and isinstance(args[0], (str, int))
        ):
            return own.get(args[0])
        if isinstance(own, dict) and func.attr in ("values", "keys", "items"):
            return [list(i) if isinstance(i, tuple) else i for i in getattr(own, func.attr)()]
        if isinstance(own, str):
            return self._of_string(own, func.attr, args, given)
        return None

    def _of_string(self, own: str, method: str, args: list[Any], given: Mapping[str, Any]) -> Any:
        self.rec.value(len(own) * (1 + sum(len(a) for a in args if isinstance(a, (str, list)))))
        try:
            return of_string(str(own), method, args, given)
        except (ValueError, TypeError, LookupError, OverflowError, AttributeError):
            return None

    def _path_method(self, own: PathValue, method: str, args: list[Any]) -> Any:
        first = args[0] if args else None
        match method:
            case "iterdir":
                return [PathValue(posixpath.join(own, "*"))]
            case "glob" if isinstance(first, str):
                return [PathValue(posixpath.join(own, first))]
            case "rglob" if isinstance(first, str):
                return [PathValue(posixpath.join(own, "**", first))]
            case "joinpath" if all(isinstance(a, str) for a in args):
                return PathValue(posixpath.join(own, *args))
            case "resolve" | "absolute" | "expanduser":
                return own
            case "as_posix":
                return str(own)
            case "with_name" if isinstance(first, str):
                return PathValue(posixpath.join(posixpath.dirname(own), first))
            case "with_suffix" if isinstance(first, str):
                return PathValue(posixpath.splitext(own)[0] + first)
            case "read_text" | "read_bytes":
                return self.state.text(self.state.path(own))
        return None
