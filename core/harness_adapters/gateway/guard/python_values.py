"""What expressions of a Python program are worth, as far as its text tells.

Strings, numbers, and lists and dicts of such; bytes count as the text that they decode to. Only
what cannot have an effect is worked out, each step is charged, and nothing grows beyond bounds.
"""

from __future__ import annotations

import ast
import operator
import posixpath
import sys
from collections.abc import Callable, Iterator, Sequence
from types import NoneType
from typing import Any

from harness_adapters.gateway.guard.names import names
from harness_adapters.gateway.guard.python_functions import (
    FUNCTIONS,
    MAX_ITEMS,
    MAX_STRING,
    SITE_PACKAGES,
    UNTOLD,
    FileValue,
    ModuleValue,
    PathValue,
    begun,
    constant,
    ended,
    of_string,
    percent,
)
from harness_adapters.gateway.guard.recorder import Recorder
from harness_adapters.gateway.guard.state import State

_MAX_CALLS_DEEP = 4  # functions of the program's own that are worked out inside one another

Function = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda


_OPERATORS: dict[type, Callable[[Any, Any], Any]] = {
    ast.Sub: operator.sub, ast.BitXor: operator.xor, ast.BitOr: operator.or_,
    ast.BitAnd: operator.and_, ast.FloorDiv: operator.floordiv, ast.RShift: operator.rshift,
}  # fmt: skip
_SAME = names(
    """
    str bytes bytearray os.fspath os.path.expanduser os.path.abspath os.path.realpath
    os.path.normpath os.path.expandvars os.fsencode os.fsdecode memoryview io.StringIO io.BytesIO
    textwrap.dedent inspect.cleandoc
    """
)
_LISTS = frozenset(("sorted", "list", "tuple", "set", "frozenset", "reversed", "iter"))
_PATHS = frozenset(("pathlib.Path", "pathlib.PurePath", "pathlib.PosixPath", "Path"))
_IMPORTERS = frozenset(("__import__", "importlib.import_module", "importlib.util.find_spec"))
_WHERE = frozenset(("inspect.getfile", "inspect.getsourcefile", "inspect.getabsfile"))


class Values:
    """The names of one program, and what its expressions are worth.

    :ivar modules: name -> dotted name of what it was imported or assigned from.
    :ivar functions: functions of the program's own; ``classes`` likewise.
    """

    def __init__(self, rec: Recorder, state: State, argv: Sequence[str]) -> None:
        self.rec = rec
        self.state = state
        self.names: dict[str, Any] = {"__file__": argv[0] if argv else "", "__name__": "__main__"}
        self.modules: dict[str, str] = {}
        self.functions: dict[str, Function] = {}
        self.classes: dict[str, ast.ClassDef] = {}
        self.fields: dict[str, Any] = {}  # of objects of the program's own classes, by name alone
        self._argv = list(argv)
        self._calling = 0

    # --- names ----------------------------------------------------------------------------------

    def name(self, node: ast.AST) -> str:
        """The dotted name of what is called, imports and aliases resolved."""
        trail: list[str] = []
        while isinstance(node, ast.Attribute):
            trail.append(node.attr)
            node = node.value
        if isinstance(node, ast.Name):
            held = self.names.get(node.id)
            trail.append(
                held.name if isinstance(held, ModuleValue) else self.modules.get(node.id, node.id)
            )
        elif isinstance(node, ast.Call):
            trail.append(self._name_of_call(node))
        elif isinstance(node, ast.Subscript):
            trail.append(self._name_of_item(node))
        name = ".".join(reversed(trail))
        return name.removeprefix("builtins.").removeprefix("__builtins__.")

    def _name_of_call(self, node: ast.Call) -> str:
        inner = self.name(node.func)
        first = self.value(node.args[0]) if node.args else None
        if inner in _IMPORTERS and isinstance(first, str):
            return str(first)
        if inner == "getattr" and len(node.args) > 1:
            return f"{self.name(node.args[0])}.{self.value(node.args[1])}"
        if inner in ("vars", "globals", "locals"):
            return self.name(node.args[0]) if node.args else "builtins"
        if inner == "functools.partial" and node.args:
            return self.name(node.args[0])
        return f"{inner}()"

    def _name_of_item(self, node: ast.Subscript) -> str:
        """``os.__dict__["system"]``, ``globals()["open"]``, ``sys.modules["os"]``."""
        base = self.name(node.value)
        key = self.value(node.slice)
        if not isinstance(key, str):
            return f"{base}[]"
        if base == "sys.modules":
            return str(key)
        if base == "builtins" and key in self.modules:
            return self.modules[key]
        if base in ("builtins", "__builtins__", "globals()"):
            return str(key)
        return f"{base.removesuffix('.__dict__')}.{key}"

    def bind(self, target: ast.expr, value: Any) -> None:
        if isinstance(target, ast.Name):
            self.names[target.id] = value
        elif isinstance(target, ast.Attribute):
            if value is not None:
                self.fields[target.attr] = value
        elif isinstance(target, ast.Starred):
            self.bind(target.value, value)
        elif (
            isinstance(target, (ast.Tuple, ast.List))
            and isinstance(value, (list, str))
            and len(value) == len(target.elts)
        ):
            for one, part in zip(target.elts, value, strict=True):
                self.bind(one, part)

    # --- expressions ----------------------------------------------------------------------------

    def value(self, node: ast.AST | None) -> Any:
        """A string, ``PathValue``, number, list or dict of such, an opened file, a module;
        ``None`` where the text does not tell."""
        if node is None:
            return None
        kind = node.__class__
        if kind is ast.Name:
            return self.names.get(node.id)  # type: ignore[attr-defined]
        if kind is ast.Constant:
            return constant(node.value)  # type: ignore[attr-defined]
        self.rec.value()
        worth = _WORTH.get(kind)
        return None if worth is None else worth(self, node)

    def _joined(self, node: ast.JoinedStr) -> Any:
        pieces = [
            self._formatted(v) if isinstance(v, ast.FormattedValue) else self.value(v)
            for v in node.values
        ]
        if len(pieces) > 1 and pieces[0] is None and (told := ended(str(pieces[1]))):
            pieces[:2] = [told]
        out = ""
        for piece in pieces:
            told = begun(out) if piece is None else f"{out}{piece}"
            if told is None:
                return None
            out = told
        return out[:MAX_STRING]

    def _formatted(self, node: ast.FormattedValue) -> Any:
        found = self.value(node.value)
        if found is not None and node.conversion == ord("r"):
            return repr(str(found))
        return found

    def _elements(self, node: ast.List | ast.Tuple | ast.Set) -> list[Any]:
        return self.values(node.elts)

    def values(self, nodes: Sequence[ast.expr]) -> list[Any]:
        """Of several expressions, ``*x`` spread out."""
        found: list[Any] = []
        for one in nodes[:MAX_ITEMS]:
            if isinstance(one, ast.Starred):
                inner = self.value(one.value)
                found += list(inner)[:MAX_ITEMS] if isinstance(inner, (list, str)) else [None]
            else:
                found.append(self.value(one))
        return found

    def _dict(self, node: ast.Dict) -> dict[Any, Any]:
        return {
            self.value(key): self.value(value)
            for key, value in zip(node.keys[:MAX_ITEMS], node.values, strict=False)
            if isinstance(self.value(key), (str, int))
        }

    def _either(self, node: ast.IfExp | ast.BoolOp) -> Any:
        options = (
            [node.body, node.orelse] if isinstance(node, ast.IfExp) else list(reversed(node.values))
        )
        return next((v for one in options[:8] if (v := self.value(one)) is not None), None)

    def _walrus(self, node: ast.NamedExpr) -> Any:
        value = self.value(node.value)
        self.bind(node.target, value)
        return value

    def _awaited(self, node: ast.Await | ast.Starred) -> Any:
        return self.value(node.value)

    def _minus(self, node: ast.UnaryOp) -> Any:
        value = self.value(node.operand)
        if isinstance(node.op, ast.USub) and isinstance(value, int):
            return -value
        return None

    def _attribute(self, node: ast.Attribute) -> Any:
        name = self.name(node)
        match name:
            case "sys.executable":
                return "python3"
            case "sys.argv":
                return list(self._argv)
            case "os.sep" | "posixpath.sep":
                return "/"
            case "sys.prefix" | "sys.base_prefix" | "sys.exec_prefix":
                return "/usr"
            case "os.curdir":
                return "."
            case "os.pardir":
                return ".."
        inner = self.value(node.value)
        if isinstance(inner, PathValue):
            match node.attr:
                case "parent":
                    return PathValue(posixpath.dirname(inner) or ".")
                case "name":
                    return posixpath.basename(inner)
                case "stem":
                    return posixpath.splitext(posixpath.basename(inner))[0]
        if isinstance(inner, ModuleValue) and node.attr in ("origin", "__file__"):
            return _installed(inner.name)
        if node.attr == "__path__" and name.removesuffix(".__path__") in self.modules.values():
            return [posixpath.dirname(_installed(name.removesuffix(".__path__")))]
        if node.attr == "__file__" and inner is None:
            module = name.removesuffix(".__file__")
            if module in self.modules.values() and "(" not in module:
                return _installed(module)
        return self.fields.get(node.attr) if inner is None else None

    def _binary(self, node: ast.BinOp) -> Any:
        left, right = self.value(node.left), self.value(node.right)
        match node.op:
            case ast.Div() if isinstance(left, (str, NoneType)) and isinstance(right, str):
                return PathValue(posixpath.join(left or UNTOLD, right))
            case ast.Add() if left is None and isinstance(right, str):
                return ended(right)
            case ast.Add() if isinstance(left, str) and isinstance(right, str):
                self.rec.value(len(left) + len(right))
                return (left + right)[:MAX_STRING]
            case ast.Add() if right is None and isinstance(left, str):
                return begun(left)
            case ast.Add() if isinstance(left, list) and isinstance(right, list):
                return (left + right)[:MAX_ITEMS]
            case ast.Add() if isinstance(left, int) and isinstance(right, int):
                return left + right
            case ast.Mult() if isinstance(left, int) and isinstance(right, int):
                return left * right if max(abs(left), abs(right)) < 1 << 32 else None
            case ast.Mult() if isinstance(left, (str, list)) and isinstance(right, int):
                return left * right if 0 <= right * len(left) <= MAX_STRING else None
            case ast.Mod() if isinstance(left, str):
                return percent(left, right)
            case ast.Mod() if isinstance(left, int) and isinstance(right, int):
                return left % right if right else None
        if isinstance(left, int) and isinstance(right, int):
            apply = _OPERATORS.get(type(node.op))
            if apply is None or (apply in (operator.floordiv, operator.rshift) and right <= 0):
                return None
            return apply(left, right)
        return None

    def _subscript(self, node: ast.Subscript) -> Any:
        if self.name(node.value) == "os.environ":
            key = self.value(node.slice)
            if key == "HOME":
                return self.state.home
            return self.state.variables.get(key) if isinstance(key, str) else None
        whole = self.value(node.value)
        if isinstance(whole, dict):
            key = self.value(node.slice)
            return whole.get(key) if isinstance(key, (str, int)) else None
        if not isinstance(whole, (str, list)):
            return None
        if isinstance(node.slice, ast.Slice):
            parts = (node.slice.lower, node.slice.upper, node.slice.step)
            bounds = [self.value(part) for part in parts]
            told = all(
                part is None or isinstance(bound, int)
                for part, bound in zip(parts, bounds, strict=True)
            )
            return whole[slice(*bounds)] if told and bounds[2] != 0 else None
        index = self.value(node.slice)
        if isinstance(index, int) and -len(whole) <= index < len(whole):
            return whole[index]
        return None

    def _comprehension(self, node: ast.ListComp | ast.SetComp | ast.GeneratorExp) -> Any:
        before = dict(self.names)
        try:
            found = [self.value(node.elt) for _ in self._turns(node.generators)]
        finally:
            self.names = before
        return found or None

    def _dict_comprehension(self, node: ast.DictComp) -> Any:
        before = dict(self.names)
        try:
            pairs = [
                (self.value(node.key), self.value(node.value)) for _ in self._turns(node.generators)
            ]
        finally:
            self.names = before
        return {key: value for key, value in pairs if isinstance(key, (str, int))} or None

    def _turns(
        self, generators: Sequence[ast.comprehension], left: int = MAX_ITEMS
    ) -> Iterator[None]:
        """Bind the targets of a comprehension, turn by turn. Conditions count as true."""
        values = self.items(generators[0].iter)
        for value in values or ():
            left -= 1
            if left < 0:
                return
            self.rec.value()
            self.bind(generators[0].target, value)
            if len(generators) > 1:
                yield from self._turns(generators[1:], left)
            else:
                yield

    def items(self, node: ast.AST) -> list[Any] | None:
        """The values that a loop over an expression goes through."""
        found = self.value(node)
        if isinstance(found, dict):
            return list(found)
        if isinstance(found, FileValue):
            return found.text.splitlines(keepends=True)[:MAX_ITEMS] if found.text else None
        return list(found)[:MAX_ITEMS] if isinstance(found, (list, str)) else None

    # --- calls that have no effect --------------------------------------------------------------

    def call_value(self, node: ast.Call) -> Any:
        """What a call gives, if it only works something out."""
        name = self.name(node.func)
        args = self.values(node.args)
        if isinstance(node.func, ast.Lambda) or name in self.functions:
            own = node.func if isinstance(node.func, ast.Lambda) else self.functions[name]
            return self.returned(own, args)
        if name in _WHERE and node.args:
            module = self.name(node.args[0])
            return _installed(module) if module in self.modules.values() else None
        if name in ("map", "filter") and len(node.args) == 2:
            return self._mapped(name, node.args[0], args[1])
        if (found := self._of_name(name, args)) is not None:
            return found
        if isinstance(node.func, ast.Attribute):
            return self._method(node.func, args)
        return None

    def returned(self, function: Function, args: Sequence[Any]) -> Any:
        """What a function of the program's own gives, where it only works something out."""
        if self._calling >= _MAX_CALLS_DEEP:
            return None
        self._calling += 1
        before = dict(self.names)
        try:
            for parameter, value in zip(function.args.args, args, strict=False):
                self.names[parameter.arg] = value
            if isinstance(function, ast.Lambda):
                return self.value(function.body)
            for statement in function.body:
                if isinstance(statement, ast.Assign):
                    value = self.value(statement.value)
                    for target in statement.targets:
                        self.bind(target, value)
                elif isinstance(statement, ast.Return):
                    return self.value(statement.value)
                elif not isinstance(statement, (ast.Expr, ast.Import, ast.ImportFrom)):
                    return None
            return None
        finally:
            self.names = before
            self._calling -= 1

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
                return items[::-1] if name == "reversed" else items
            return None
        if name in _IMPORTERS and isinstance(first, str):
            return ModuleValue(first)
        if handler := FUNCTIONS.get(name):
            try:
                return handler(self.state, args)
            except (ValueError, TypeError, LookupError, OverflowError, AttributeError):
                return None
        return None

    def _method(self, func: ast.Attribute, args: list[Any]) -> Any:
        own = self.value(func.value)
        if isinstance(own, str):
            self.rec.value(len(own) * (1 + sum(len(a) for a in args if isinstance(a, (str, list)))))
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
            try:
                return of_string(str(own), func.attr, args)
            except (ValueError, TypeError, LookupError, OverflowError, AttributeError):
                return None
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


def _installed(module: str) -> str:
    if module.split(".")[0] in sys.stdlib_module_names:
        return f"/usr/lib/python3/{module.replace('.', '/')}.py"
    place = module.replace(".", "/") + (".py" if "." in module else "/__init__.py")
    return f"{SITE_PACKAGES}/{place}"


_WORTH: dict[type, Callable[[Values, Any], Any]] = {
    ast.JoinedStr: Values._joined,
    ast.List: Values._elements,
    ast.Tuple: Values._elements,
    ast.Set: Values._elements,
    ast.Dict: Values._dict,
    ast.BinOp: Values._binary,
    ast.Subscript: Values._subscript,
    ast.Attribute: Values._attribute,
    ast.Call: lambda values, node: values.call_value(node),
    ast.ListComp: Values._comprehension,
    ast.SetComp: Values._comprehension,
    ast.GeneratorExp: Values._comprehension,
    ast.DictComp: Values._dict_comprehension,
    ast.IfExp: Values._either,
    ast.BoolOp: Values._either,
    ast.NamedExpr: Values._walrus,
    ast.Await: Values._awaited,
    ast.Starred: Values._awaited,
    ast.UnaryOp: Values._minus,
}
