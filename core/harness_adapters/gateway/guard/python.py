"""Python programs, read through ``ast``: calls whose arguments text tells become actions."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from harness_adapters.gateway.guard import python_calls as calls
from harness_adapters.gateway.guard.errors import MAX_PYTHON, MAX_PYTHON_TOKENS, Unjudgeable
from harness_adapters.gateway.guard.hosts import host_of_url
from harness_adapters.gateway.guard.names import names
from harness_adapters.gateway.guard.python_effects import Effects
from harness_adapters.gateway.guard.python_environ import WHOLE, shown
from harness_adapters.gateway.guard.python_functions import MAX_STRING, FileValue
from harness_adapters.gateway.guard.python_hot import (
    may_be_piped,
    may_matter,
    without_cold_blocks,
)
from harness_adapters.gateway.guard.python_modules import imports_written
from harness_adapters.gateway.guard.python_values import Function
from harness_adapters.gateway.guard.recorder import Recorder
from harness_adapters.gateway.guard.state import State
from harness_adapters.gateway.guard.weight import tokens
from harness_adapters.syntax_tree import parse_python

_MAX_DEPTH = 96
_MAX_TYPED = 16 * 1024
_MAX_TURNS = 32  # of a loop over known values
_MAX_OTHERS = 4  # values that a name may have had before a branch, which may not be taken
_MAX_NAMES = 32  # looked for in a call's arguments
_MAX_INLINED = 32  # calls of the program's own functions that are followed into these
# Nodes and values in which nothing stands, and fields that hold only such.
_LEAVES: frozenset[type] = frozenset(
    (type(None), str, int, bool, float, bytes, ast.Name, ast.Constant, ast.Pass, ast.alias)
)
_DULL_FIELDS = names(
    """
    ctx op ops id attr arg name names asname kind type_comment level module conversion rest
    """
)
_FIELDS: dict[type, tuple[str, ...]] = {ast.Constant: ()}
_PATH_LITERAL = re.compile(r"['\"]((?:/|\.\./|~/)[^'\"\s\\]{1,200})['\"]")
_ADDRESS_KEYWORDS = frozenset(("endpoint_url", "base_url", "api_base", "proxy", "endpoint"))


def run_python(
    rec: Recorder,
    state: State,
    program: str,
    *,
    argv: Sequence[str] = (),
    stdin: str | None = None,
) -> str | None:
    """Record what a Python program does, as far as its text tells.

    :returns: what it prints, where that is known.
    :raises Unjudgeable: it is too long or nested too deep.
    """
    with rec.program(program, limit=MAX_PYTHON):
        if "\0" in program:
            rec.unparsed(program)
            return None
        matters = imports_written(state, program, argv) or may_matter(program)
        if not matters and not may_be_piped(program):
            return None
        try:
            tree = _parsed(program)
        except SyntaxError:
            if matters:
                rec.unparsed(program)
            return None
        except (RecursionError, MemoryError, ValueError) as error:
            raise Unjudgeable(
                f"a Python program nested too deep ({type(error).__name__})"
            ) from None
        return _Program(rec, state, program, argv, stdin).follow(tree)


def is_python(program: str) -> bool:
    """Whether a short text is a program that does more than name something."""
    if len(program) > _MAX_TYPED or "\0" in program:
        return False
    try:
        return any(isinstance(one, ast.Call) for one in ast.walk(parse_python(program)))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False


def _parsed(program: str) -> ast.AST:
    """The tree of what may matter.

    :raises SyntaxError: it is no Python.
    :raises Unjudgeable: it is too long.
    """
    if len(hot := without_cold_blocks(program)) < len(program):
        try:
            return _tree(hot)
        except SyntaxError:
            pass  # not the blocks it looked like
    return _tree(program)


def _tree(program: str) -> ast.AST:
    if tokens(program) > MAX_PYTHON_TOKENS:
        raise Unjudgeable(f"a Python program of more than {MAX_PYTHON_TOKENS} tokens")
    return parse_python(program)


def _fields_of(kind: type[ast.AST]) -> tuple[str, ...]:
    """The fields of a kind of node in which something may stand that matters, last first."""
    return tuple(reversed([name for name in kind._fields if name not in _DULL_FIELDS]))


class _Program(Effects):
    """One program, walked in the order of its text."""

    def __init__(
        self, rec: Recorder, state: State, text: str, argv: Sequence[str], stdin: str | None
    ) -> None:
        super().__init__(rec, state, text, argv, stdin)
        self._inlining = 0
        self._defining = 0
        self._branching = 0
        self._globals: set[str] = set()
        self._others: dict[str, list[Any]] = {}  # what names may be as well
        self._out: list[str] = []
        self._out_told = True

    def follow(self, tree: ast.AST) -> str | None:
        """:returns: what it prints, where that is known.
        :raises Unjudgeable: nested too deep.
        """
        self._walk([tree], 1)
        if self._untold:  # a file is opened whose name is not told: any path that stands there
            for found in _PATH_LITERAL.finditer(self._text):
                self.rec.read(self.state, found.group(1))
        if "environ" in self._text and WHOLE.search(self._text):
            own = [name for name, of in self.modules.items() if of.endswith("os.environ")]
            self.state.environment.update(dict.fromkeys(shown(tree, own)))
        return "".join(self._out) if self._out and self._out_told else None

    def _walk(self, nodes: Sequence[ast.AST], depth: int) -> None:
        stack = [(node, depth) for node in reversed(nodes)]
        push = stack.append
        while stack:
            node, depth = stack.pop()
            kind = node.__class__
            if depth >= _MAX_DEPTH:
                raise Unjudgeable(f"a Python program nested more than {_MAX_DEPTH} levels deep")
            if (visit := _VISITS.get(kind)) and visit(self, node, depth):
                continue
            if (fields := _FIELDS.get(kind)) is None:
                fields = _FIELDS[kind] = _fields_of(kind)
            depth += 1
            for name in fields:
                value: Any = getattr(node, name, None)
                if value.__class__ is list:
                    for one in reversed(value):
                        if one.__class__ not in _LEAVES:
                            push((one, depth))
                elif value.__class__ not in _LEAVES:
                    push((value, depth))

    # --- statements; one that has walked what it holds says so ----------------------------------

    def _import(self, node: ast.Import, depth: int) -> bool:
        for alias in node.names:
            top = alias.name if alias.asname else alias.name.split(".")[0]
            self.modules[alias.asname or top] = top
            self._module(alias.name)
        return True

    def _import_from(self, node: ast.ImportFrom, depth: int) -> bool:
        for alias in node.names:
            self.modules[alias.asname or alias.name] = f"{node.module}.{alias.name}"
            for name in calls.STARRED.get(node.module or "", ()) if alias.name == "*" else ():
                self.modules[name] = f"{node.module}.{name}"
            if self.state.wrote_python:
                self._module(f"{node.module}.{alias.name}" if node.module else alias.name)
        self._module(node.module or "")
        return True

    def _define(self, node: ast.FunctionDef | ast.AsyncFunctionDef, depth: int) -> bool:
        self.functions[node.name] = node
        self._defining += 1  # nothing is printed yet
        self._walk([*node.decorator_list, node.args], depth + 1)
        self._inside(node.body, self.given(node, (), {}), depth)
        self._defining -= 1
        return True

    def _lambda(self, node: ast.Lambda, depth: int) -> bool:
        self._walk([node.args], depth + 1)
        self._inside([node.body], self.given(node, (), {}), depth)
        return True

    def _inside(self, body: Sequence[ast.AST], names: Mapping[str, Any], depth: int) -> None:
        """What names of its own are inside is nothing to the rest."""
        others = self._others
        self._others = dict(others)
        self.enter(names)
        self._walk(body, depth + 1)
        self.leave(but=self._globals)
        self._others = others

    def _global(self, node: ast.Global | ast.Nonlocal, depth: int) -> bool:
        self._globals.update(node.names)
        return True

    def _class(self, node: ast.ClassDef, depth: int) -> bool:
        self.classes[node.name] = node
        self._walk([*node.decorator_list, *node.bases], depth + 1)
        self._inside(node.body, {}, depth)
        for one in node.body:
            match one:
                case ast.Assign(targets=[ast.Name(id=name)], value=value):
                    self.fields[name] = self.value(value)
                case ast.AnnAssign(target=ast.Name(id=name), value=ast.expr() as value):
                    self.fields[name] = self.value(value)
                case _:
                    pass
        return True

    def _made(self, call: ast.expr, depth: int) -> None:
        """An object of a class of the program's own: what ``__init__`` does with its arguments."""
        if not isinstance(call, ast.Call) or self.name(call.func) not in self.classes:
            return
        given = {one.arg: self.value(one.value) for one in call.keywords if one.arg}
        made = self.classes[self.name(call.func)]
        for one in made.body:
            if isinstance(one, ast.FunctionDef) and one.name == "__init__":
                self._inline(one, [None, *self.values(call.args)], given, depth)
            elif (
                isinstance(one, ast.AnnAssign)
                and isinstance(one.target, ast.Name)
                and (name := one.target.id) in given
            ):
                self.fields[name] = given[name]  # a dataclass

    def _assigned(self, node: ast.Assign, depth: int) -> bool:
        self._assign(node.targets, node.value)
        return False

    def _annotated(self, node: ast.AnnAssign | ast.NamedExpr, depth: int) -> bool:
        if node.value is not None:
            self._assign([node.target], node.value)
        return False

    def _augmented(self, node: ast.AugAssign, depth: int) -> bool:
        if isinstance(node.target, ast.Name):
            whole = ast.BinOp(left=node.target, op=node.op, right=node.value)
            found, others = self._options(whole)
            self._keep_others(node.target.id, found)
            for other in others:
                self._keep(node.target.id, other)
            self.bind(node.target, found)
        return False

    def _if(self, node: ast.If, depth: int) -> bool:
        """Each branch is followed, ``elif`` without going deeper."""
        others: list[ast.stmt] = [node]
        while len(others) == 1 and isinstance(node := others[0], ast.If):  # type: ignore[assignment]
            self._walk([node.test], depth + 1)
            self._branch(node.body, depth)
            others = node.orelse
        self._branch(others, depth)
        return True

    def _try(self, node: ast.Try | ast.TryStar, depth: int) -> bool:
        self._branch(node.body, depth)
        for one in node.handlers:
            self._branch([*([one.type] if one.type else []), *one.body], depth)
        self._branch([*node.orelse, *node.finalbody], depth)
        return True

    def _match(self, node: ast.Match, depth: int) -> bool:
        self._walk([node.subject], depth + 1)
        for one in node.cases:
            self._branch([*([one.guard] if one.guard else []), *one.body], depth)
        return True

    def _branch(self, body: Sequence[ast.AST], depth: int) -> None:
        """What may not run: names may be afterwards what they were before."""
        self._branching += 1
        self._walk(body, depth + 1)
        self._branching -= 1

    def _keep_others(self, name: str, value: Any) -> None:
        """A name gets a new value; in a branch the one before is kept as well."""
        if not self._branching:
            self._others.pop(name, None)
        elif (before := self.names.get(name)) is not None and before is not value:
            self._keep(name, before)

    def _keep(self, name: str, value: Any) -> None:
        kept = self._others.setdefault(name, [])
        if len(kept) < _MAX_OTHERS and all(value is not one for one in kept):
            kept.append(value)

    def _for(self, node: ast.For | ast.AsyncFor, depth: int) -> bool:
        values = self.items(node.iter) or ()
        self._walk([node.iter, node.target], depth + 1)
        if all(value is None for value in values):
            self.bind(node.target, None)
            self._branch([*node.body, *node.orelse], depth)
            return True
        for value in values[:_MAX_TURNS]:
            self.bind(node.target, value)
            self._walk(node.body, depth + 1)
        self._walk(node.orelse, depth + 1)
        return True

    def _comprehended(
        self, node: ast.ListComp | ast.SetComp | ast.GeneratorExp, depth: int
    ) -> bool:
        self.enter({})
        turns = 0
        for _ in self._turns(node.generators, _MAX_TURNS):
            turns += 1
            self._walk([node.elt], depth + 1)
        self.leave()
        if turns:
            self._walk([one.iter for one in node.generators], depth + 1)
        return turns > 0

    def _while(self, node: ast.While, depth: int) -> bool:
        self.rec.loop()
        self._walk([node.test], depth + 1)
        self._branch([*node.body, *node.orelse], depth)
        return True

    def _with(self, node: ast.With | ast.AsyncWith, depth: int) -> bool:
        for item in node.items:
            if isinstance(item.optional_vars, ast.Name):
                self._assign([item.optional_vars], item.context_expr)
        return False

    def _assign(self, targets: Sequence[ast.expr], value: ast.expr) -> None:
        found, others = self._options(value)
        for target in targets:
            if isinstance(target, ast.Name):
                self._keep_others(target.id, found)
                if self._branching and found is None and not isinstance(value, ast.Constant):
                    self._keep(target.id, None)  # nothing tells what
                for other in others:
                    if other != found:
                        self._keep(target.id, other)
                named = isinstance(value, (ast.Name, ast.Attribute, ast.Call, ast.Subscript))
                if isinstance(value, ast.Lambda):
                    self.functions[target.id] = value
                elif named and found is None and "()" not in (name := self.name(value)):
                    self.modules[target.id] = name
                elif isinstance(value, ast.Call) and found is None:
                    self.modules[target.id] = self.name(value)
            elif isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple) and others:
                for one, part in zip(target.elts, value.elts, strict=False):
                    if isinstance(one, ast.Name):
                        for other in self._options(part)[1]:
                            self._keep(one.id, other)
            elif isinstance(target, ast.Attribute) and not isinstance(value, ast.Constant):
                self.fields.pop(target.attr, None)
            self.bind(target, found)

    def _options(self, node: ast.expr) -> tuple[Any, list[Any]]:
        """What an expression is worth, and what it may be as well."""
        self.options = 0
        found = self.value(node)
        others: list[Any] = []
        for option in range(1, self.options):
            self.option = option
            others.append(self.value(node))
        self.option = 0
        return found, [one for one in others if isinstance(one, (str, list))]

    def _got(self, node: ast.Subscript, depth: int) -> bool:
        if self.name(node.value) in ("os.environ", "os.environb") and isinstance(
            key := self.value(node.slice), str
        ):
            self.state.environment[key] = None
        return False

    # --- calls ----------------------------------------------------------------------------------

    def _call(self, node: ast.Call, depth: int) -> bool:
        self.rec.step()
        self.options = 0
        self._do(node, depth)
        for option in range(1, self.options):
            self.option = option
            self._do(node, depth, again=True)
        self.option = 0
        if self._others and self._inlining < 2:
            self._do_otherwise(node, depth)
        self.change(node)
        return False

    def _do_otherwise(self, node: ast.Call, depth: int) -> None:
        """A call again, with what names may be as well."""
        names: dict[str, None] = {}
        left: list[ast.AST] = [node.func, *node.args, *[one.value for one in node.keywords]]
        for one in left:
            match one:
                case ast.Name(id=name):
                    if name in self._others:
                        names[name] = None
                case ast.Attribute(value=inner):
                    left.append(inner)
                case ast.Constant():
                    pass
                case _ if len(left) < _MAX_NAMES:
                    left += ast.iter_child_nodes(one)
        for name in names:
            now = self.names.get(name)
            for other in list(self._others.get(name, ())):
                self.names[name] = other
                self._do(node, depth, again=True)
            self.names[name] = now

    def _do(self, node: ast.Call, depth: int, *, again: bool = False) -> None:
        name = self.name(node.func)
        args = self.values(node.args)
        given = {one.arg: self.value(one.value) for one in node.keywords if one.arg}
        for key in _ADDRESS_KEYWORDS & given.keys():
            if isinstance(given[key], str):
                self.rec.connect(host_of_url(given[key]), address=given[key])
        if self.classes:
            self._made(node, depth)
            if isinstance(node.func, ast.Attribute):
                self._made(node.func.value, depth)
                if (method := self.functions.get(node.func.attr)) and name not in self.functions:
                    self._inline(method, [None, *args], given, depth)
        if isinstance(node.func, ast.Lambda) or name in self.functions:
            own = node.func if isinstance(node.func, ast.Lambda) else self.functions[name]
            self._inline(own, args, given, depth)
        elif name == "print" or name == "sys.stdout.write":
            if not again:
                self._printed(name, node, args, given)
        elif name in calls.CALLERS or name.rpartition(".")[2] in calls.CALLER_METHODS:
            self._handed_on(node, args, given, depth)
        if not self._perform(name, args, given, node) and isinstance(node.func, ast.Attribute):
            self._method_called(node, node.func, args, given)

    def _printed(
        self, name: str, node: ast.Call, args: list[Any], given: Mapping[str, Any]
    ) -> None:
        if self._defining and not self._inlining:
            return
        told = [str(arg) for arg in args if isinstance(arg, (str, int))]
        end = given.get("end", "" if name != "print" else "\n")
        text = " ".join(told) + (end if isinstance(end, str) else "")
        if isinstance(file := given.get("file"), FileValue):
            self._file_written(file, text if len(told) == len(args) else None)
        elif "file" not in given:
            self._out_told = self._out_told and len(told) == len(args)
            self._out.append(text[:MAX_STRING])

    def _handed_on(
        self, node: ast.Call, args: list[Any], given: Mapping[str, Any], depth: int
    ) -> None:
        """A call that is given a function: what that one does with the values that follow."""
        for i, one in enumerate(node.args):
            if isinstance(one, (ast.Name, ast.Attribute)) and args[i] is None:
                self._hand(self.name(one), args[i + 1 :], depth)
        for keyword in node.keywords:
            if keyword.arg in ("target", "function", "func"):
                handed = given.get("args")
                values = handed if isinstance(handed, list) else []
                self._hand(self.name(keyword.value), values, depth)

    def _hand(self, name: str, values: Sequence[Any], depth: int) -> None:
        for one in values[:1] or [None]:
            several = one if isinstance(one, list) else [one]
            for value in several[:16]:
                if name in self.functions:
                    self._inline(self.functions[name], [value, *values[1:]], {}, depth)
                else:
                    self._perform(name, [value, *values[1:]], {})

    def _inline(
        self, function: Function, args: Sequence[Any], given: Mapping[str, Any], depth: int
    ) -> None:
        """Follow a function of the program's own again, now that its arguments are known."""
        own = function.args.args[:1]
        fields = self.fields.values() if own and own[0].arg == "self" else ()
        told = any(isinstance(value, (str, list)) for value in (*args, *given.values(), *fields))
        prints = self._defining == 0 and not function.args.args
        if not (told or prints) or self.rec.inlined >= _MAX_INLINED or self._inlining >= 4:
            return
        self.rec.inlined += 1
        self._inlining += 1
        body = [function.body] if isinstance(function, ast.Lambda) else function.body
        options, option = self.options, self.option
        self.option = 0
        self._inside(body, self.given(function, args, given), depth)
        self.options, self.option = options, option
        self._inlining -= 1


_VISITS: dict[type, Callable[[_Program, Any, int], bool]] = {
    ast.Import: _Program._import,
    ast.ImportFrom: _Program._import_from,
    ast.Assign: _Program._assigned,
    ast.AnnAssign: _Program._annotated,
    ast.NamedExpr: _Program._annotated,
    ast.AugAssign: _Program._augmented,
    ast.For: _Program._for,
    ast.AsyncFor: _Program._for,
    ast.ListComp: _Program._comprehended,
    ast.SetComp: _Program._comprehended,
    ast.GeneratorExp: _Program._comprehended,
    ast.While: _Program._while,
    ast.If: _Program._if,
    ast.Try: _Program._try,
    ast.TryStar: _Program._try,
    ast.Match: _Program._match,
    ast.Lambda: _Program._lambda,
    ast.Global: _Program._global,
    ast.Nonlocal: _Program._global,
    ast.With: _Program._with,
    ast.AsyncWith: _Program._with,
    ast.ClassDef: _Program._class,
    ast.FunctionDef: _Program._define,
    ast.AsyncFunctionDef: _Program._define,
    ast.Call: _Program._call,
    ast.Subscript: _Program._got,
}
