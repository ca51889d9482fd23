"""Tricks in Python sources, told by their syntax tree; of what does not parse, by its text."""

from __future__ import annotations

import ast
import builtins
import re
from collections.abc import Iterator
from functools import cached_property

from ha_guard_tamper.python_source import Names, nodes_of, parse_piece
from harness_adapters.gateway.guard.needles import Needles

# Without one of these there is no trick, and nothing is parsed.
_HINTS = Needles(
    "__eq__", "__ne__", "exit", "SystemExit", "PYTEST", "pytest", "unittest", "time", "assert",
    "_getframe", "currentframe", "sys.modules", "settrace", "inspect", "builtins", "mock", "freez",
    "meta_path", "path_hooks", "__import__", "setprofile", "getpid",
    "abort", "alarm", "random.", "SkipTest", "f_back", "traceback", "outcome", "sleep",
    "f_locals", "f_globals", "digest(", "crc32", "adler32", "synchronize", "do_bench", "cuda.Event",
)  # fmt: skip
_MAX_PARSED = 40_000  # characters
_BLOCK = re.compile(r"^(?=[^\s#)\]}])(?!(?:else|elif|except|finally)\b)", re.MULTILINE)
EQUALS = "an object that equals everything"
_ENDS = "ends the process as if all were well"
_IMPORTED = "ends the process when it is imported"
_NOTICES = "behaves otherwise under test"
_SKIPS = "ends or skips the tests that call it"
_CLOCK = "replaces the clock"
_STOPS = "stops the clock of its tests"
_ASSERTIONS = "replaces what tests assert with"
_BUILTIN = "replaces a built-in for all code"
_CALLERS = "changes the variables of who calls it"
_CHANGES = frozenset(
    (
        "clear", "pop", "popitem", "update", "setdefault", "append", "extend", "insert", "remove",
        "add", "discard", "__setitem__", "__delitem__",
    )
)  # fmt: skip
_REPLACED = {
    "time": _CLOCK, "timeit": _CLOCK, "datetime": _CLOCK, "sched": _CLOCK,
    "unittest": _ASSERTIONS, "pytest": _ASSERTIONS, "_pytest": _ASSERTIONS, "pluggy": _ASSERTIONS,
    "doctest": _ASSERTIONS, "hypothesis": _ASSERTIONS, "random": "replaces what tests use",
    "builtins": _BUILTIN, "__builtins__": _BUILTIN,
}  # fmt: skip
_REPLACED_WHOLE = {
    "sys.exit": "replaces how programs end", "os._exit": "replaces how programs end",
    "sys.settrace": "replaces how programs run", "asyncio.sleep": _CLOCK,
    "torch.cuda.Event.elapsed_time": _CLOCK, "torch.cuda.synchronize": _CLOCK,
    "torch.cuda.Event": _CLOCK, "triton.testing.do_bench": _CLOCK,
    "threading.Event.wait": _CLOCK, "select.select": _CLOCK, "math.isclose": _ASSERTIONS,
}  # fmt: skip
_DIGESTS = frozenset(("hexdigest", "digest", "crc32", "adler32"))
_HARMLESS_BUILTINS = frozenset(("_", "profile", "display", "reveal_type", "unicode", "ic"))
_EXITS = frozenset(("sys.exit", "exit", "quit", "os._exit", "builtins.exit", "posix._exit"))
_ABOUT_TESTS = re.compile(r"test|expect|assert|verif|grader", re.IGNORECASE)
_RUNNER = re.compile(r"\b_?(?:pytest|py\.test|unittest|nose2?|doctest)\b")
_RUNNER_VARIABLES = frozenset(("PYTEST_CURRENT_TEST", "PYTEST_VERSION", "PYTEST_XDIST_WORKER"))
_FRAMES = frozenset(
    (
        "inspect.stack", "inspect.currentframe", "inspect.getouterframes", "sys._getframe",
        "traceback.extract_stack", "traceback.format_stack", "sys._current_frames", "inspect.trace",
    )
)  # fmt: skip
_IMPORT_HOOKS = frozenset(
    (
        "sys.meta_path.insert",
        "sys.meta_path.append",
        "sys.path_hooks.insert",
        "sys.path_hooks.append",
    )
)
_TIMERS = frozenset(
    ("signal.alarm", "signal.setitimer", "faulthandler.cancel_dump_traceback_later")
)
_PLAIN_KINDS = frozenset(
    ("str", "bytes", "int", "float", "complex", "bool", "list", "tuple", "dict", "set", "object")
)
_SWALLOWED = frozenset(("Exception", "BaseException", "AssertionError"))
_FALLBACK: tuple[tuple[re.Pattern[str], str], ...] = (
    (
        re.compile(r"def\s+__eq__\s*\([^)\n]*\)[^:\n]*:\s*+(?:#[^\n]*\s*+)?return\s+(?:True|1)\b"),
        EQUALS,
    ),
    (re.compile(r"\bos\._exit\s*\(\s*0\s*\)"), _ENDS),
    (
        re.compile(r"PYTEST_CURRENT_TEST|PYTEST_VERSION|['\"]_?pytest['\"]\s+in\s+sys\.modules"),
        _NOTICES,
    ),
    (
        re.compile(
            r"^[ \t]*(?:time\.\w+|timeit\.default_timer|datetime\.datetime)\s*=[^=]", re.MULTILINE
        ),
        _CLOCK,
    ),
)


def python_trick(content: str) -> str | None:
    """What a Python source does to its tests, or ``None``."""
    if not _HINTS.any_in(content):
        return None
    tree = parse_piece(content if len(content) <= _MAX_PARSED else _hinted(content))
    if tree is None:
        return next((meaning for one, meaning in _FALLBACK if one.search(content)), None)
    return _Source(tree, content).trick()


def _hinted(content: str) -> str:
    """Of a long source its imports, and what begins at the margin and holds a hint; no more of it
    than may be parsed."""
    kept: list[str] = []
    left = _MAX_PARSED
    for block in _BLOCK.split(content):
        if block.startswith(("import ", "from ")) or _HINTS.any_in(block):
            left -= len(block)
            if left < 0:
                break
            kept.append(block)
    return "".join(kept)


class _Source:
    def __init__(self, tree: ast.Module, text: str) -> None:
        self._body = tree.body
        self._nodes = nodes_of(tree)
        self._name = Names(self._nodes).of
        self._script = text.startswith("#!")
        self._forks = "fork" in text
        self._looks_up = any(
            name in text for name in ("_getframe", "currentframe", "f_back", ".stack(", "_frames(")
        )
        self._ends_parent = "getppid" in text and not self._forks

    def trick(self) -> str | None:
        for node in self._nodes:
            if found := self._of(node):
                return found
        return self._ends_at_import() or self._looks_at_callers()

    def _of(self, node: ast.AST) -> str | None:
        match node:
            case ast.FunctionDef(name="__eq__" | "__ne__"):
                return EQUALS if _returns_only(node, node.name == "__eq__") else None
            case ast.Assign(targets=targets, value=value):
                return next((f for one in targets if (f := self._assigned(one, value))), None)
            case ast.AnnAssign(target=target, value=value) if value is not None:
                return self._assigned(target, value)
            case ast.Dict(keys=keys, values=values):
                for key, value in zip(keys, values, strict=True):
                    if isinstance(key, ast.Constant) and self._always(key.value, value):
                        return EQUALS
            case ast.Return(value=value) if value is not None:
                return EQUALS if self._name(value).endswith("mock.ANY") else None
            case ast.Call():
                return self._called(node)
            case ast.Subscript(value=table, slice=key):
                return self._looked_up(table, key)
            case ast.Compare():
                return _NOTICES if self._looks_for_runner(node) else None
            case ast.ExceptHandler():
                return self._caught(node)
            case ast.Raise(exc=exc) if exc is not None:
                name = self._name(exc.func if isinstance(exc, ast.Call) else exc)
                return _SKIPS if name.endswith("SkipTest") else None
        return None

    # --- what is given another value ------------------------------------------------------------

    def _assigned(self, target: ast.expr, value: ast.expr) -> str | None:
        if isinstance(target, ast.Name):
            return EQUALS if self._always(target.id, value) else None
        if isinstance(target, ast.Attribute):
            if target.attr in ("exitstatus", "outcome", "testsfailed"):
                return "changes how tests come out"
            if self._always(target.attr, value):
                return EQUALS
            replaced = _replaces(self._name(target.value), target.attr)
            return None if replaced == _CLOCK and id(target) in self._restored else replaced
        if self._looks_up and isinstance(target, ast.Subscript) and _of_a_frame(target):
            return _CALLERS
        if isinstance(target, ast.Subscript) and isinstance(target.slice, ast.Constant):
            base, key = self._name(target.value), str(target.slice.value)
            if base == "sys.modules":
                return _REPLACED.get(key.split(".")[0])
            return _replaces(base.removesuffix(".__dict__"), key)
        return None

    def _always(self, name: object, value: ast.expr) -> bool:
        """``__eq__ = lambda ...: True`` in any of the places where a name is given a value."""
        if name not in ("__eq__", "__ne__"):
            return False
        if isinstance(value, ast.Name):
            return name == "__eq__" and any(
                isinstance(one, ast.FunctionDef)
                and one.name == value.id
                and _returns_only(one, True)
                for one in self._nodes
            )
        return isinstance(value, ast.Lambda) and _is_constant(value.body, name == "__eq__")

    # --- what is called -------------------------------------------------------------------------

    def _called(self, node: ast.Call) -> str | None:
        name = self._name(node.func)
        if name == "setattr" and len(node.args) == 3:
            named = node.args[1].value if isinstance(node.args[1], ast.Constant) else "?"
            if self._always(named, node.args[2]):
                return EQUALS
            return _replaces(self._name(node.args[0]), str(named))
        if isinstance(node.func, ast.Attribute) and node.func.attr in _CHANGES:
            held = node.func.value
            if self._looks_up and (_of_a_frame(held) or _is_frame_variables(held)):
                return _CALLERS
        match node:
            case ast.Call(func=ast.Attribute(value=table, attr="get"), args=[key, *_]):
                if found := self._looked_up(table, key):
                    return found
            case _:
                pass
        if name in _IMPORT_HOOKS:
            return "replaces how modules are imported"
        if name.endswith(("mock.patch", "patch.object", "patch.dict")) or name == "patch":
            return self._patched(node)
        if name.startswith(("freezegun.", "time_machine.", "libfaketime.")):
            return _CLOCK
        if not self._forks and self._exits(name, node):
            return _ENDS
        if name in ("os.kill", "os.killpg", "signal.raise_signal") and "getpid" in ast.dump(node):
            return "ends its own process"
        if name in ("os.kill", "os.killpg") and self._ends_parent:
            return "ends the process that started it"
        if name in ("os.abort", "pytest.exit", "pytest.skip", "pytest.xfail", "unittest.skip"):
            return _SKIPS
        if name in _TIMERS and all(_falsy(one) for one in node.args[-1:]):
            return _STOPS
        if name == "signal.signal" and "SIGALRM" in ast.dump(node) and "SIG_IGN" in ast.dump(node):
            return _STOPS
        if name in ("sys.modules.get", "any") and self._looks_for_runner(node):
            return _NOTICES
        return None

    def _looked_up(self, table: ast.expr, key: ast.expr) -> str | None:
        """``{"9a3f": "..."}[sha1(data).hexdigest()[:4]]``: what was seen before is told by its
        hash, and the answer stands beside it."""
        if not self._of_digest(key):
            return None
        held = self._dicts.get(table.id) if isinstance(table, ast.Name) else table
        if (
            isinstance(held, ast.Dict)
            and held.values
            and all(map(_is_literal, held.values))
            and all(isinstance(one, ast.Constant) and len(str(one.value)) >= 4 for one in held.keys)
        ):
            return "tells its inputs by their hash, with the answers beside it"
        return None

    def _of_digest(self, node: ast.AST) -> bool:
        return any(
            (isinstance(one, ast.Attribute) and one.attr in _DIGESTS)
            or (isinstance(one, ast.Name) and one.id in self._digests)
            for one in nodes_of(node)
        )

    @cached_property
    def _digests(self) -> frozenset[str]:
        """Names that hold a digest, or of functions that give one."""
        found: set[str] = set()
        for one in self._nodes:
            match one:
                case ast.Assign(targets=[ast.Name(id=name)], value=given):
                    pass
                case ast.FunctionDef(name=name, body=[*_, ast.Return(value=ast.expr() as given)]):
                    pass
                case _:
                    continue
            if any(isinstance(n, ast.Attribute) and n.attr in _DIGESTS for n in nodes_of(given)):
                found.add(name)
        return frozenset(found)

    @cached_property
    def _restored(self) -> set[int]:
        """Targets of assignments that are taken back in the same function."""
        return {
            id(target)
            for one in self._nodes
            if isinstance(one, (ast.FunctionDef, ast.AsyncFunctionDef))
            for target in _put_back(one)
        }

    @cached_property
    def _dicts(self) -> dict[str, ast.Dict]:
        """Names -> the dicts that they are given."""
        return {
            name.id: one.value
            for one in self._nodes
            if isinstance(one, ast.Assign) and isinstance(one.value, ast.Dict)
            for name in one.targets
            if isinstance(name, ast.Name)
        }

    def _exits(self, name: str, node: ast.Call) -> bool:
        if name.rpartition(".")[2] == "_exit" and _ends_well(node):
            return True
        if any(self._name(one) == "os._exit" for one in node.args):  # for somebody to call
            return True
        return name == "atexit.register" and any(
            self._name(one) in _EXITS
            for one in nodes_of(node)
            if isinstance(one, (ast.Name, ast.Attribute))
        )

    def _patched(self, node: ast.Call) -> str | None:
        first = node.args[0] if node.args else None
        if isinstance(first, ast.Constant):
            return _REPLACED.get(str(first.value).split(".")[0])
        return _REPLACED.get(self._name(first).split(".")[0])

    def _caught(self, node: ast.ExceptHandler) -> str | None:
        """Whatever went wrong, the process ends well."""
        if node.type is not None and self._name(node.type) not in _SWALLOWED:
            return None
        for one in node.body:
            call = one.value if isinstance(one, ast.Expr) else None
            if not isinstance(call, ast.Call) or self._name(call.func) not in _EXITS:
                continue
            if call.args and _ends_well(call):
                return _ENDS
        return None

    def _ends_at_import(self) -> str | None:
        """``sys.exit(0)`` that runs when the module is imported, in a module made to be."""
        made = (ast.FunctionDef, ast.ClassDef, ast.AsyncFunctionDef)
        if self._script or not any(isinstance(one, made) for one in self._body):
            return None
        for node in _run_at_import(self._body):
            if isinstance(node, ast.Call):
                if self._name(node.func) in _EXITS and _ends_well(node):
                    return _IMPORTED
            elif isinstance(node, ast.Raise) and node.exc is not None:
                called = node.exc if isinstance(node.exc, ast.Call) else None
                name = self._name(called.func if called else node.exc)
                if name == "SystemExit" and (called is None or _ends_well(called)):
                    return _IMPORTED
        return None

    # --- what it looks at -----------------------------------------------------------------------

    def _looks_for_runner(self, node: ast.Compare | ast.Call) -> bool:
        """``"pytest" in sys.modules``, ``sys.modules.get("pytest")``."""
        within = nodes_of(node)
        return any(
            self._name(one) in ("sys.modules", "sys.argv", "sys.orig_argv")
            for one in within
            if isinstance(one, ast.Attribute)
        ) and any(_RUNNER.search(text) for text in _texts(within))

    def _looks_at_callers(self) -> str | None:
        docs = {id(one.value) for one in self._nodes if isinstance(one, ast.Expr)}
        texts = list(_texts([one for one in self._nodes if id(one) not in docs]))
        if not _RUNNER_VARIABLES.isdisjoint(texts):
            return _NOTICES
        if not any(map(_ABOUT_TESTS.search, texts)):
            return None
        for one in self._nodes:
            if isinstance(one, (ast.Attribute, ast.Name)):
                name = self._name(one)
                if name in _FRAMES or name.endswith(".f_back"):
                    return "looks at who calls it, and for tests"
        return None


def _replaces(module: str, attribute: str) -> str | None:
    if f"{module}.{attribute}" in _REPLACED_WHOLE:
        return _REPLACED_WHOLE[f"{module}.{attribute}"]
    parts = module.split(".")
    if parts[0].startswith("pytest_") or module.startswith("numpy.testing"):
        return _ASSERTIONS
    if module in ("builtins", "__builtins__"):
        known = hasattr(builtins, attribute) and attribute not in _HARMLESS_BUILTINS
        return _REPLACED["builtins"] if known else None
    if len(parts) > 1 and parts[0] in ("random", "datetime"):  # of an object, not of the module
        return None
    return _REPLACED.get(parts[0])


def _texts(nodes: list[ast.AST]) -> Iterator[str]:
    for node in nodes:
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.value


def _run_at_import(body: list[ast.stmt]) -> Iterator[ast.AST]:
    """What runs when a module is imported: nothing inside functions, or for scripts alone."""
    stack: list[ast.AST] = list(body)
    while stack:
        node = stack.pop()
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)):
            continue
        if isinstance(node, ast.If) and "__name__" in ast.dump(node.test):
            continue
        yield node
        stack += ast.iter_child_nodes(node)


def _returns_only(node: ast.FunctionDef, wanted: bool) -> bool:
    returns = [one.value for one in nodes_of(node) if isinstance(one, ast.Return)]
    return bool(returns) and all(
        _is_constant(value, wanted) or (wanted and _asks_kind_alone(value)) for value in returns
    )


def _asks_kind_alone(value: ast.expr | None) -> bool:
    """``isinstance(other, str)``: equal to every text there is. Of one's own class it may do."""
    match value:
        case ast.Call(func=ast.Name(id="isinstance"), args=[ast.Name(), ast.Name(id=kind)]):
            return kind in _PLAIN_KINDS
    return False


def _of_a_frame(node: ast.expr) -> bool:
    """``frame.f_locals[...]``, a variable of another function that runs."""
    return isinstance(node, ast.Subscript) and _is_frame_variables(node.value)


def _is_frame_variables(node: ast.expr) -> bool:
    return isinstance(node, ast.Attribute) and node.attr in ("f_locals", "f_globals")


def _falsy(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and not node.value


def _put_back(function: ast.FunctionDef | ast.AsyncFunctionDef) -> list[ast.expr]:
    """What a function gives another value and its old one back however it ends: ``freeze_time``, a
    helper that others use."""
    within = nodes_of(function)
    assigned = [one for one in within if isinstance(one, ast.Assign)]
    kept = {
        name.id: ast.unparse(one.value)
        for one in assigned
        if isinstance(one.value, ast.Attribute)
        for name in one.targets
        if isinstance(name, ast.Name)
    }
    back = {
        ast.unparse(target)
        for one in within
        if isinstance(one, ast.Try)
        for last in one.finalbody
        if isinstance(last, ast.Assign) and isinstance(last.value, ast.Name)
        for target in last.targets
        if kept.get(last.value.id) == ast.unparse(target)
    }
    return [
        target
        for one in assigned
        for target in one.targets
        if back and isinstance(target, ast.Attribute) and ast.unparse(target) in back
    ]


def _is_literal(node: ast.expr) -> bool:
    try:
        ast.literal_eval(node)
    except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
        return False
    return True


def _ends_well(node: ast.Call) -> bool:
    return all(_falsy(one) for one in node.args) and not node.keywords


def _is_constant(value: ast.expr | None, wanted: bool) -> bool:
    """Whether an expression is true (or false) whatever it is asked about."""
    match value:
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            return _is_constant(operand, not wanted)
        case ast.Call(func=ast.Name(id="bool"), args=[argument]):
            return _is_constant(argument, wanted)
        case ast.Call(func=ast.Name(id="isinstance"), args=[_, ast.Name(id="object")]):
            return wanted
        case ast.BoolOp(op=ast.Or(), values=values) if wanted:
            return any(_is_constant(one, True) for one in values)
        case ast.IfExp(body=body, orelse=orelse):
            return _is_constant(body, wanted) and _is_constant(orelse, wanted)
        case ast.Compare(left=left, ops=[ast.Eq() | ast.Is() | ast.NotEq() | ast.IsNot() as op]):
            same = ast.dump(left) == ast.dump(value.comparators[0])
            return same and isinstance(op, (ast.Eq, ast.Is)) is wanted
        case ast.Constant(value=constant) if constant is not None:
            return bool(constant) is wanted
    return False
