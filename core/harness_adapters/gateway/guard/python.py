"""Python programs, read through ``ast``: calls whose arguments text tells become actions."""

from __future__ import annotations

import ast
import posixpath
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from harness_adapters.gateway.guard import python_calls as calls
from harness_adapters.gateway.guard.errors import MAX_PYTHON, MAX_PYTHON_TOKENS, Unjudgeable
from harness_adapters.gateway.guard.hosts import host_of_operand, host_of_url
from harness_adapters.gateway.guard.names import names
from harness_adapters.gateway.guard.paths import looks_like_path
from harness_adapters.gateway.guard.pipe import Pipe
from harness_adapters.gateway.guard.python_hot import (
    may_be_piped,
    may_matter,
    without_cold_blocks,
)
from harness_adapters.gateway.guard.python_modules import imports_written, module_file, search_path
from harness_adapters.gateway.guard.python_values import (
    MAX_STRING,
    FileValue,
    Function,
    PathValue,
    Values,
)
from harness_adapters.gateway.guard.recorder import Recorder
from harness_adapters.gateway.guard.state import State
from harness_adapters.gateway.guard.weight import tokens
from harness_adapters.syntax_tree import parse_python

_MAX_DEPTH = 96
_MAX_TURNS = 32  # of a loop over known values
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
_FIELDS: dict[type, tuple[str, ...]] = {}
_PATH_LITERAL = re.compile(r"['\"]((?:/|\.\./|~/)[^'\"\s\\]{1,200})['\"]")
_WORD_LITERAL = re.compile(r"['\"]([\w./-]{3,64})['\"]")
_ADDRESS_KEYWORDS = frozenset(("endpoint_url", "base_url", "api_base", "proxy", "endpoint"))
_SECRET = re.compile(r"(?i)['\"]\w*(TOKEN|SECRET|PASSWORD|PASSWD|API_?KEY|CREDENTIAL)S?\w*['\"]")
_WHOLE_ENVIRONMENT = re.compile(r"\benviron(?:b)?\b(?!\s*\[|\s*\.\s*(?:get|pop|setdefault)\b)")


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


class _Program(Values):
    """One program, walked in the order of its text."""

    def __init__(
        self, rec: Recorder, state: State, text: str, argv: Sequence[str], stdin: str | None
    ) -> None:
        super().__init__(rec, state, argv)
        self._text = text
        self._stdin = stdin
        self._folders = search_path(state, argv)
        self._inlining = 0
        self._defining = 0
        self._dynamic = False
        self._untold = False
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
        if "environ" in self._text and _WHOLE_ENVIRONMENT.search(self._text):
            for found in _SECRET.finditer(self._text):
                self.state.environment[found.group(1).upper()] = None
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
            # ``elif`` nests in the tree, not in the text.
            depth += kind is not ast.If
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
            if self.state.wrote_python:
                self._module(f"{node.module}.{alias.name}" if node.module else alias.name)
        self._module(node.module or "")
        return True

    def _module(self, name: str) -> None:
        """A module that the session wrote runs when it is imported."""
        if self.state.wrote_python and (found := module_file(self.state, name, self._folders)):
            self._run_file(*found)

    def _run_file(self, path: str, text: str) -> None:
        if path not in self.rec.imported:
            self.rec.imported.add(path)
            run_python(self.rec, self.state, text, argv=[path])

    def _define(self, node: ast.FunctionDef | ast.AsyncFunctionDef, depth: int) -> bool:
        self.functions[node.name] = node
        self._defining += 1  # nothing is printed yet
        self._walk([*node.decorator_list, node.args, *node.body], depth + 1)
        self._defining -= 1
        return True

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
            self.bind(node.target, self.value(whole))
        return False

    def _for(self, node: ast.For | ast.AsyncFor, depth: int) -> bool:
        values = self.items(node.iter)
        if not values:
            return False
        self._walk([node.iter], depth + 1)
        for value in values[:_MAX_TURNS]:
            self.bind(node.target, value)
            self._walk(node.body, depth + 1)
        self._walk(node.orelse, depth + 1)
        return True

    def _comprehended(
        self, node: ast.ListComp | ast.SetComp | ast.GeneratorExp, depth: int
    ) -> bool:
        before = dict(self.names)
        turns = 0
        for _ in self._turns(node.generators, _MAX_TURNS):
            turns += 1
            self._walk([node.elt], depth + 1)
        self.names = before
        if turns:
            self._walk([one.iter for one in node.generators], depth + 1)
        return turns > 0

    def _while(self, node: ast.While, depth: int) -> bool:
        self.rec.loop()
        return False

    def _with(self, node: ast.With | ast.AsyncWith, depth: int) -> bool:
        for item in node.items:
            if isinstance(item.optional_vars, ast.Name):
                self._assign([item.optional_vars], item.context_expr)
        return False

    def _assign(self, targets: Sequence[ast.expr], value: ast.expr) -> None:
        found = self.value(value)
        for target in targets:
            if isinstance(target, ast.Name):
                named = isinstance(value, (ast.Name, ast.Attribute, ast.Call, ast.Subscript))
                if isinstance(value, ast.Lambda):
                    self.functions[target.id] = value
                elif named and found is None and "()" not in (name := self.name(value)):
                    self.modules[target.id] = name
                elif isinstance(value, ast.Call) and found is None:
                    self.modules[target.id] = self.name(value)
            self.bind(target, found)

    def _got(self, node: ast.Subscript, depth: int) -> bool:
        if self.name(node.value) in ("os.environ", "os.environb") and isinstance(
            key := self.value(node.slice), str
        ):
            self.state.environment[key] = None
        return False

    # --- calls ----------------------------------------------------------------------------------

    def _call(self, node: ast.Call, depth: int) -> bool:
        self.rec.step()
        name = self.name(node.func)
        args = self.values(node.args)
        given = {one.arg: self.value(one.value) for one in node.keywords if one.arg}
        for key in _ADDRESS_KEYWORDS & given.keys():
            if isinstance(given[key], str):
                self.rec.connect(host_of_url(given[key]), address=given[key])
        if name in self.functions:
            self._inline(self.functions[name], args, given, depth)
        elif name == "print" or name == "sys.stdout.write":
            self._printed(name, node, args, given)
        elif name in calls.CALLERS or name.rpartition(".")[2] in calls.CALLER_METHODS:
            self._handed_on(node, args, given)
        if not self._perform(name, args, given, node) and isinstance(node.func, ast.Attribute):
            self._method_called(node, node.func, args, given)
        return False

    def _perform(
        self, name: str, args: list[Any], given: Mapping[str, Any], node: ast.Call | None = None
    ) -> bool:
        """What a call of a name that is known does; ``False`` for one that is not."""
        rec, state = self.rec, self.state
        first = args[0] if args else _first_of(given)
        if name in calls.OPENERS:
            mode = given.get("mode", args[1] if len(args) > 1 else None)
            self._open(first, mode, node, in_place=bool(given.get("inplace")))
        elif name in calls.SHELL:
            self._shell(first)
        elif name in calls.PROCESS or calls.ARGV.match(name):
            self._process(name, args, given)
        elif name in calls.CODE:
            self._code(given.get("stmt", first))
        elif name in calls.RUNS_FILE:
            self._run_named(args[-1] if args else None)
        elif name == "importlib.util.spec_from_file_location":
            self._run_named(args[1] if len(args) > 1 else given.get("location"))
        elif name.endswith(calls.HUB_CALLS) or name.split(".")[0] in calls.HUB_MODULES:
            host = "www.kaggle.com" if "kaggle" in name else "huggingface.co"
            rec.connect(host, address=first if isinstance(first, str) else "")
        elif name in ("os.getenv", "os.environ.get", "os.environ.pop") and isinstance(first, str):
            state.environment[first] = None
        elif name.startswith("ctypes.") or name in ("marshal.loads", "pickle.loads"):
            self._opaque()
            return False
        elif name in calls.SECRETS:
            rec.read(state, calls.SECRETS[name])
        elif name.startswith("keyring."):
            rec.run(("keyring", name.partition(".")[2]))
        elif name in ("sys.path.insert", "sys.path.append", "site.addsitedir"):
            self._search(first if name != "sys.path.insert" else args[1] if len(args) > 1 else None)
        elif name in calls.RUNS_MODULE and isinstance(first, str):
            self._module(first)
        elif name in calls.SIGNALS:
            if isinstance(first, (str, int)):
                rec.run(("kill", str(first)))
            else:
                rec.run(("pkill", *_WORD_LITERAL.findall(self._text)[:16]))
        elif name.startswith("psutil."):
            rec.run(("pkill", *_WORD_LITERAL.findall(self._text)[:16]))
        elif name == "time.sleep":
            rec.wait()
        elif name in ("os.fork", "os.setsid", "daemon.DaemonContext"):
            rec.detach()
        elif name == "os.chdir" and isinstance(first, str):
            rec.read(state, first)
            state.cwd = state.path(first)
        elif name in calls.TREE and isinstance(first, str):
            rec.remove(state, first, tree=True)
        elif name in calls.WRITE and isinstance(first, str):
            rec.write(state, first)
        elif name in calls.WRITE_SECOND and len(args) > 1 and isinstance(args[1], str):
            rec.write(state, args[1])
        elif name in calls.MOVE or name in calls.COPY or name in calls.LINK:
            self._transfer(name, first, args[1] if len(args) > 1 else given.get("dst"))
        elif name in calls.READ and isinstance(first, str):
            rec.read(state, first)
        elif calls.CONNECT.match(name) or calls.RESOLVE.match(name) or name.endswith(".connect"):
            self._connect(name, [*args[:3], *(given[k] for k in ("host", "url") if k in given)])
        elif calls.LOADER.match(name) and isinstance(first, str) and looks_like_path(first):
            rec.read(state, first)
        elif (tool := calls.HARNESS_TOOL.fullmatch(name)) and isinstance(first, str):
            self._harness_tool(tool.group(1), first, args, given)
        else:
            return False
        return True

    def _harness_tool(
        self, name: str, first: str, args: list[Any], given: Mapping[str, Any]
    ) -> None:
        """The harness's own tools, which code that it runs may call as functions."""
        if calls.TOOL_RUNS.search(name):
            self._shell(first)
        elif calls.TOOL_WRITES.search(name):
            text = given.get("content", args[1] if len(args) > 1 else None)
            self.rec.write(self.state, first, text if isinstance(text, str) else None)
        elif host := host_of_url(first):
            self.rec.connect(host, address=first)
        elif calls.TOOL_READS.search(name):
            self.rec.read(self.state, first)

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

    def _handed_on(self, node: ast.Call, args: list[Any], given: Mapping[str, Any]) -> None:
        """A call that is given a function: what that one does with the values that follow."""
        for i, one in enumerate(node.args):
            if isinstance(one, (ast.Name, ast.Attribute)) and args[i] is None:
                self._hand(self.name(one), args[i + 1 :])
        for keyword in node.keywords:
            if keyword.arg in ("target", "function", "func"):
                handed = given.get("args")
                self._hand(self.name(keyword.value), handed if isinstance(handed, list) else [])

    def _hand(self, name: str, values: Sequence[Any]) -> None:
        for one in values[:1] or [None]:
            several = one if isinstance(one, list) else [one]
            for value in several[:16]:
                if name in self.functions:
                    self._inline(self.functions[name], [value, *values[1:]], {}, 1)
                else:
                    self._perform(name, [value, *values[1:]], {})

    def _search(self, folder: Any) -> None:
        if isinstance(folder, str):
            self.rec.read(self.state, folder)
            self._folders.append(folder)

    def _inline(
        self, function: Function, args: Sequence[Any], given: Mapping[str, Any], depth: int
    ) -> None:
        """Follow a function of the program's own again, now that its arguments are known."""
        if isinstance(function, ast.Lambda):
            return
        values = {p.arg: v for p, v in zip(function.args.args, args, strict=False)} | dict(given)
        told = any(isinstance(value, (str, list)) for value in values.values())
        prints = self._defining == 0 and not function.args.args
        if not (told or prints) or self.rec.inlined >= _MAX_INLINED or self._inlining >= 4:
            return
        self.rec.inlined += 1
        self._inlining += 1
        before = dict(self.names)
        self.names.update(values)
        self._walk(function.body, depth + 1)
        self.names = before
        self._inlining -= 1

    def _open(self, path: Any, mode: Any, node: ast.Call | None, *, in_place: bool) -> None:
        flags = node is not None and calls.WRITING_FLAGS.search(ast.dump(node)) is not None
        if not isinstance(path, str):
            if not isinstance(path, int):
                self._untold = True
            return
        if flags or in_place or (isinstance(mode, str) and any(c in mode for c in "wax+")):
            self.rec.write(self.state, path, "" if mode in ("w", "wt") else None)
        else:
            self.rec.read(self.state, path)

    def call_value(self, node: ast.Call) -> Any:
        name = self.name(node.func)
        own = None
        if isinstance(node.func, ast.Attribute) and node.func.attr == "open":
            own = self.value(node.func.value)
        if name in calls.OPENERS or isinstance(own, PathValue):
            rest = node.args if own is not None else node.args[1:]
            path = own if own is not None else self.value(node.args[0]) if node.args else None
            modes = [*rest[:1], *(k.value for k in node.keywords if k.arg == "mode")]
            mode = self.value(modes[0]) if modes else None
            if isinstance(path, str):
                writes = isinstance(mode, str) and any(c in mode for c in "wax+")
                text = "" if writes else self.state.text(self.state.path(path))
                return FileValue(path, text, writes=writes)
            return None
        if name == "sys.stdin.read" or name == "input":
            return self._stdin
        return super().call_value(node)

    def _method_called(
        self, node: ast.Call, func: ast.Attribute, args: list[Any], given: Mapping[str, Any]
    ) -> None:
        """What a method does by the object it is of, or by its own name."""
        own = self.value(func.value)
        method, first = func.attr, args[0] if args else _first_of(given)
        rec, state = self.rec, self.state
        if isinstance(own, PathValue):
            self._path_called(own, node, method, args, given)
        elif isinstance(own, FileValue):
            if method in ("write", "writelines"):
                text = "".join(first) if _is_texts(first) else first
                self._file_written(own, text if isinstance(text, str) else None)
        elif own is None and method in ("read_text", "read_bytes"):
            self._untold = True
        elif isinstance(first, str) and method in calls.FETCHES and host_of_url(first):
            rec.connect(host_of_url(first), sends=method in calls.SENDS, address=first)
        elif method in calls.SENDS and any(isinstance(arg, list) for arg in args):
            self._connect("socket.", args)
        elif isinstance(first, str) and calls.LOADER.match(method) and host_of_url(first):
            rec.connect(host_of_url(first), address=first)
        elif isinstance(first, str) and looks_like_path(first) and calls.LOADER.match(method):
            rec.read(state, first)
        elif method in calls.SAVES and isinstance(first, str) and "." not in self.name(func.value):
            rec.write(state, first)
        elif method == "dump" and len(args) > 1 and isinstance(args[1], FileValue):
            self._file_written(args[1], None)
        elif method in ("system", "popen") and isinstance(first, str):
            self._shell(first)
        elif method in ("unlink", "rmdir") and isinstance(first, str) and looks_like_path(first):
            rec.write(state, first)
        elif method in ("kill", "terminate", "send_signal") and "process_iter" in self._text:
            rec.run(("pkill", *_WORD_LITERAL.findall(self._text)[:16]))

    def _path_called(
        self,
        own: PathValue,
        node: ast.Call,
        method: str,
        args: list[Any],
        given: Mapping[str, Any],
    ) -> None:
        first = args[0] if args else _first_of(given)
        if method in calls.PATH_READ:
            self.rec.read(self.state, own)
            if method in ("glob", "rglob") and isinstance(first, str):
                self.rec.read(self.state, posixpath.join(own, first))
        elif method in calls.PATH_WRITE:
            text = first if method == "write_text" and isinstance(first, str) else None
            self.rec.write(self.state, own, text)
        elif method == "open":
            self._open(own, given.get("mode", first), node, in_place=False)
        elif method in ("rename", "replace") and isinstance(first, str):
            self._transfer("os.rename", own, first)
        elif method in ("symlink_to", "hardlink_to", "link_to") and isinstance(first, str):
            self._transfer("os.symlink", first, own)
        elif method in ("copy", "copy_into", "move", "move_into") and isinstance(first, str):
            self._transfer("os.rename" if "move" in method else "shutil.copy", own, first)

    def _file_written(self, file: FileValue, text: str | None) -> None:
        if not file.writes:
            return
        file.text = None if text is None or file.text is None else (file.text + text)[:MAX_STRING]
        self.rec.write(self.state, file.path, file.text)

    def _transfer(self, name: str, source: Any, target: Any) -> None:
        rec, state = self.rec, self.state
        if isinstance(source, str):
            rec.read(state, source)
            if name in calls.MOVE:
                rec.remove(state, source)
        if isinstance(target, str):
            known = state.text(state.path(source)) if isinstance(source, str) else None
            rec.write(state, target, None if name in calls.LINK else known)
            if name in calls.LINK and isinstance(source, str):
                link = state.path(target)
                state.links[link] = state.path(posixpath.join(posixpath.dirname(link), source))

    def _shell(self, command: Any, stdin: str | None = None) -> None:
        from harness_adapters.gateway.guard.shell import run_shell

        if isinstance(command, str):
            pipe = None if stdin is None else Pipe(stdin, stdin)
            run_shell(self.rec, self.state.fork(), command, pipe)
        else:
            self._opaque()

    def _process(self, name: str, args: list[Any], given: Mapping[str, Any]) -> None:
        from harness_adapters.gateway.guard.launch import launch

        first = args[0] if args else given.get("args")
        if calls.ARGV.match(name):
            asynchronous = name.startswith("asyncio")
            listed = next((a for a in args if isinstance(a, list)), None)
            first = args if asynchronous else listed or args[1:]
        state = self.state.fork()
        if isinstance(folder := given.get("cwd"), str):
            state.cwd = state.path(folder)
        if given.get("start_new_session"):
            self.rec.detach()
        stdin = given.get("input")
        pipe = Pipe(stdin, stdin) if isinstance(stdin, str) else None
        if isinstance(first, list) and given.get("shell") and first:
            first = first[0]
        if isinstance(first, str):
            before, self.state = self.state, state
            self._shell(first, stdin if isinstance(stdin, str) else None)
            self.state = before
        elif isinstance(first, list) and first and any(isinstance(w, str) for w in first):
            words = [str(w) if isinstance(w, (str, int)) else "$unknown" for w in first]
            launch(self.rec, state, words, pipe)
        else:
            self._opaque()

    def _code(self, code: Any) -> None:
        if isinstance(code, str):
            run_python(self.rec, self.state, code)
        else:
            self._opaque()

    def _run_named(self, path: Any) -> None:
        if not isinstance(path, str):
            self._opaque()
            return
        self.rec.read(self.state, path)
        full = self.state.path(path)
        if (text := self.state.text(full)) is not None:
            self._run_file(full, text)

    def _opaque(self) -> None:
        """Something is executed that the text does not tell: the text is judged as it stands."""
        if not self._dynamic:
            self._dynamic = True
            self.rec.unparsed(self._text)

    def _connect(self, name: str, values: Sequence[Any]) -> None:
        bare = (
            name.startswith(("socket", "asyncio"))
            or name.endswith(".connect")
            or (calls.CONNECT.match(name) and not name.startswith(("requests", "httpx", "urllib")))
        )
        sends = name.rpartition(".")[2] in calls.SENDS
        for value in values:
            if isinstance(value, list) and value:
                value = value[0]
            if isinstance(value, str) and (
                host := host_of_url(value) or (host_of_operand(value) if bare else None)
            ):
                self.rec.connect(host, sends=sends, address=value)


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
    ast.With: _Program._with,
    ast.AsyncWith: _Program._with,
    ast.FunctionDef: _Program._define,
    ast.AsyncFunctionDef: _Program._define,
    ast.Call: _Program._call,
    ast.Subscript: _Program._got,
}


_FIRST_KEYWORDS = (
    "file", "path", "args", "src", "filename", "url", "host", "command", "cmd", "file_path",
)  # fmt: skip


def _first_of(given: Mapping[str, Any]) -> Any:
    return next((given[key] for key in _FIRST_KEYWORDS if key in given), None)


def _is_texts(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(one, str) for one in value)
