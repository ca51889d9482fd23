"""What expressions of a Python program are worth, as far as its text tells.

Strings, numbers, and lists and dicts of such; bytes count as the text that they decode to. Only
what cannot have an effect is worked out, each step is charged, and nothing grows beyond bounds.
"""

from __future__ import annotations

import ast
import operator
import posixpath
import re
import sys
from abc import ABC, abstractmethod
from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from types import NoneType
from typing import Any

from harness_adapters.gateway.guard.python_functions import (
    MAX_ITEMS,
    MAX_STRING,
    SITE_PACKAGES,
    UNTOLD,
    UNTOLD_REST,
    FileValue,
    ModuleValue,
    PathValue,
    begun,
    constant,
    ended,
    percent,
)
from harness_adapters.gateway.guard.recorder import Recorder
from harness_adapters.gateway.guard.state import State

MAX_OPTIONS = 4  # of ``a if x else b`` and the like that are looked at
_NEVER_SET = object()
_SPEC = re.compile(r"[<>^]?\d{0,2}s?\Z")  # of a format: what pads
_OPERATORS: dict[type, Callable[[Any, Any], Any]] = {
    ast.Sub: operator.sub, ast.BitXor: operator.xor, ast.BitOr: operator.or_,
    ast.BitAnd: operator.and_, ast.FloorDiv: operator.floordiv, ast.RShift: operator.rshift,
}  # fmt: skip
IMPORTERS = frozenset(("__import__", "importlib.import_module", "importlib.util.find_spec"))


Function = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda


class Values(ABC):
    """The names of one program, and what its expressions are worth.

    :ivar modules: name -> dotted name of what it was imported or assigned from.
    :ivar functions: functions of the program's own; ``classes`` likewise.
    """

    @abstractmethod
    def call_value(self, node: ast.Call) -> Any:
        """What a call gives, if it only works something out."""

    def __init__(self, rec: Recorder, state: State, argv: Sequence[str]) -> None:
        self.rec = rec
        self.state = state
        self.names: dict[str, Any] = {"__file__": argv[0] if argv else "", "__name__": "__main__"}
        self.modules: dict[str, str] = {}
        self.functions: dict[str, Function] = {}
        self.classes: dict[str, ast.ClassDef] = {}
        self.fields: dict[str, Any] = {}  # of objects of the program's own classes, by name alone
        self._argv = list(argv)
        self.options = self.option = 0
        self._scopes: list[dict[str, Any]] = []  # what names were outside of them

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
        else:
            trail.append("")  # of something that has no name
        name = ".".join(reversed(trail))
        return name.removeprefix("builtins.").removeprefix("__builtins__.")

    def _name_of_call(self, node: ast.Call) -> str:
        inner = self.name(node.func)
        first = self.value(node.args[0]) if node.args else None
        if inner in IMPORTERS and isinstance(first, str):
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

    def enter(self, given: Mapping[str, Any]) -> None:
        """Names are set for a while: until ``leave``."""
        self._scopes.append({})
        for name, value in given.items():
            self.set(name, value)

    def leave(self, *, but: Container[str] = ()) -> None:
        """Names are again what they were outside, except some."""
        for name, value in self._scopes.pop().items():
            if name in but:
                continue
            if value is _NEVER_SET:
                self.names.pop(name, None)
            else:
                self.names[name] = value

    def set(self, name: str, value: Any) -> None:
        if self._scopes:
            self._scopes[-1].setdefault(name, self.names.get(name, _NEVER_SET))
        self.names[name] = value

    def bind(self, target: ast.expr, value: Any) -> None:
        if isinstance(target, ast.Name):
            self.set(target.id, value)
        elif isinstance(target, ast.Attribute):
            if value is not None:
                self.fields[target.attr] = value
        elif isinstance(target, ast.Starred):
            self.bind(target.value, value)
        elif isinstance(target, ast.Subscript):
            whole, key = self.value(target.value), self.value(target.slice)
            if isinstance(whole, dict) and isinstance(key, (str, int)):
                if key in whole or len(whole) < MAX_ITEMS:
                    whole[key] = value
            elif (
                isinstance(whole, list) and isinstance(key, int) and -len(whole) <= key < len(whole)
            ):
                whole[key] = value
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
        if len(pieces) > 1 and pieces[0] is None and (told := ended(str(pieces[1] or ""))):
            pieces[:2] = [told]
        out = ""
        for piece in pieces:
            told = begun(out) if piece is None else f"{out}{piece}"
            if told is None:
                return None
            out = told
        return out[:MAX_STRING]

    def _formatted(self, node: ast.FormattedValue) -> Any:
        """Lists are not written out: what holds a list twice may hold it a million times."""
        found = self.value(node.value)
        if not isinstance(found, (str, int)):
            return None
        if node.conversion == ord("r"):
            return repr(str(found))
        spec = self.value(node.format_spec)
        if isinstance(spec, str) and _SPEC.match(spec):
            return format(str(found), spec)
        return str(found)

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
        """The first option that is told, from the one at ``option`` on: which one it is, is not
        known. How many there were is noted."""
        options: list[ast.expr] = []
        left: list[ast.expr] = [node]
        while left and len(options) < MAX_OPTIONS:
            match left.pop():
                case ast.IfExp(body=body, orelse=other):
                    left += [other, body]
                case ast.BoolOp(op=ast.Or(), values=values):
                    left += reversed(values)
                case ast.BoolOp(values=values):
                    left += values
                case one:
                    options.append(one)
        self.options = max(self.options, len(options))
        at = self.option % len(options)
        found = (self.value(one) for one in options[at:] + options[:at])
        return next((value for value in found if value is not None), None)

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
            return installed(inner.name)
        if node.attr == "__path__" and name.removesuffix(".__path__") in self.modules.values():
            return [posixpath.dirname(installed(name.removesuffix(".__path__")))]
        if node.attr == "__file__" and inner is None:
            module = name.removesuffix(".__file__")
            if module in self.modules.values() and "(" not in module:
                return installed(module)
        return self.fields.get(node.attr) if inner is None else None

    def _binary(self, node: ast.BinOp) -> Any:
        left, right = self.value(node.left), self.value(node.right)
        match node.op:
            case ast.Div() if isinstance(left, (str, NoneType)) and isinstance(right, str):
                return PathValue(posixpath.join(left or UNTOLD, right))
            case ast.Div() if isinstance(left, PathValue):
                return PathValue(posixpath.join(left, UNTOLD_REST))
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
        self.enter({})
        found = [self.value(node.elt) for _ in self._turns(node.generators)]
        self.leave()
        return found or None

    def _dict_comprehension(self, node: ast.DictComp) -> Any:
        self.enter({})
        pairs = [
            (self.value(node.key), self.value(node.value)) for _ in self._turns(node.generators)
        ]
        self.leave()
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


def installed(module: str) -> str:
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
