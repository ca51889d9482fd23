"""Python programs, read through ``ast``: calls whose arguments text tells become actions."""

from __future__ import annotations

import ast
import base64
import binascii
import posixpath
import re
import warnings
from collections.abc import Sequence
from typing import Any

from harness_adapters.gateway.guard.errors import MAX_PYTHON, Unjudgeable
from harness_adapters.gateway.guard.hosts import host_of_operand, host_of_url
from harness_adapters.gateway.guard.names import names
from harness_adapters.gateway.guard.paths import looks_like_path
from harness_adapters.gateway.guard.recorder import Recorder
from harness_adapters.gateway.guard.state import State

_MAX_DEPTH = 96
_LEAVES = (ast.expr_context, ast.operator, ast.cmpop, ast.boolop, ast.unaryop, ast.Constant)
_MAX_STRING = 64 * 1024

_READ = names(
    """
    os.listdir os.scandir os.walk os.stat os.open os.path.exists os.path.isfile os.path.isdir
    os.chdir os.readlink glob.glob glob.iglob io.open codecs.open fileinput.input
    linecache.getlines pathlib.Path.iterdir runpy.run_path tokenize.open zipfile.ZipFile
    tarfile.open sqlite3.connect os.access os.lstat os.makedirs os.mkdir gzip.open bz2.open
    lzma.open
    """
)
_WRITE = names(
    """
    os.remove os.unlink os.rmdir os.truncate os.chmod os.chown os.utime os.mkfifo
    """
)
_TREE = frozenset(("shutil.rmtree", "os.removedirs"))
_MOVE = frozenset(("os.rename", "os.replace", "os.renames", "shutil.move"))
_COPY = frozenset(
    ("shutil.copy", "shutil.copyfile", "shutil.copy2", "shutil.copytree", "shutil.copymode")
)
_LINK = frozenset(("os.symlink", "os.link"))
_SHELL = frozenset(
    (
        "os.system",
        "os.popen",
        "subprocess.getoutput",
        "subprocess.getstatusoutput",
        "pty.spawn",
        "asyncio.create_subprocess_shell",
        "commands.getoutput",
    )
)
_SUBPROCESS = frozenset(
    f"subprocess.{name}" for name in ("run", "call", "check_call", "check_output", "Popen")
) | {"pexpect.run", "pexpect.spawn", "sh.run"}
_ARGV = re.compile(r"os\.(?:exec|spawn)[lv]p?e?\Z|asyncio\.create_subprocess_exec\Z")
_CODE = frozenset(("exec", "eval", "compile", "builtins.exec", "builtins.eval", "runpy.run_string"))
_CONNECT = re.compile(
    r"(?:requests|httpx|urllib\.request|urllib3|aiohttp|http\.client|ftplib|smtplib|telnetlib|wget)\b"
)
_PATH_READ = names(
    """
    read_text read_bytes iterdir stat exists is_file is_dir glob rglob
    """
)
_PATH_WRITE = names(
    """
    write_text write_bytes unlink rmdir touch chmod
    """
)
_LOADER = re.compile(r"(?:read|load|open|parse|fetch|scan|from)_?\w*\Z")


def run_python(rec: Recorder, state: State, program: str, *, argv: Sequence[str] = ()) -> None:
    """Record what a Python program does, as far as its text tells.

    :raises Unjudgeable: it is too long or nested too deep.
    """
    with rec.program(program, limit=MAX_PYTHON):
        if "\0" in program:
            rec.unparsed(program)
            return
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                tree = ast.parse(program)
        except SyntaxError:
            rec.unparsed(program)
            return
        except (RecursionError, MemoryError, ValueError) as error:
            raise Unjudgeable(
                f"a Python program nested too deep ({type(error).__name__})"
            ) from None
        _Program(rec, state, program, argv).follow(tree)


def _children(node: ast.AST) -> list[ast.AST]:
    """What stands in a node, names' contexts, operators and constants left out."""
    found: list[ast.AST] = []
    for name in node._fields:
        value = getattr(node, name, None)
        if isinstance(value, list):
            found += [one for one in value if isinstance(one, ast.AST)]
        elif isinstance(value, ast.AST) and not isinstance(value, _LEAVES):
            found.append(value)
    return found


class _Path(str):
    """A string that the program holds as a ``pathlib.Path``."""

    __slots__ = ()


class _Program:
    def __init__(self, rec: Recorder, state: State, text: str, argv: Sequence[str]) -> None:
        self._rec = rec
        self._state = state
        self._text = text
        self._names: dict[str, Any] = {"__file__": argv[0] if argv else "", "__name__": "__main__"}
        self._modules: dict[str, str] = {}
        self._argv = list(argv)
        self._dynamic = False

    def follow(self, tree: ast.AST) -> None:
        """Walk in the order of the text.

        :raises Unjudgeable: nested too deep.
        """
        stack: list[tuple[ast.AST, int]] = [(tree, 1)]
        while stack:
            node, depth = stack.pop()
            if depth > _MAX_DEPTH:
                raise Unjudgeable(f"a Python program nested more than {_MAX_DEPTH} levels deep")
            match node:
                case ast.Import():
                    for alias in node.names:
                        top = alias.name if alias.asname else alias.name.split(".")[0]
                        self._modules[alias.asname or top] = top
                case ast.ImportFrom():
                    for alias in node.names:
                        self._modules[alias.asname or alias.name] = f"{node.module}.{alias.name}"
                case ast.Assign():
                    self._assign(node.targets, node.value)
                case ast.AnnAssign() if node.value is not None:
                    self._assign([node.target], node.value)
                case ast.NamedExpr():
                    self._assign([node.target], node.value)
                case ast.For():
                    values = self._value(node.iter)
                    if isinstance(node.target, ast.Name) and isinstance(values, list) and values:
                        self._names[node.target.id] = values[0]
                        for value in values[1:16]:
                            for child in node.body:
                                self._names[node.target.id] = value
                                self._calls(child)
                        self._names[node.target.id] = values[0]
                case ast.With() | ast.AsyncWith():
                    for item in node.items:
                        if isinstance(item.optional_vars, ast.Name):
                            self._assign([item.optional_vars], item.context_expr)
                case ast.Call():
                    self._call(node)
                case _:
                    pass
            stack += [(child, depth + 1) for child in reversed(_children(node))]

    def _calls(self, tree: ast.AST) -> None:
        for node in ast.walk(tree):
            if isinstance(node, ast.Call):
                self._call(node)

    def _assign(self, targets: Sequence[ast.expr], value: ast.expr) -> None:
        found = self._value(value)
        for target in targets:
            if isinstance(target, ast.Name):
                if isinstance(value, (ast.Name, ast.Attribute)) and found is None:
                    self._modules[target.id] = self._name(value)
                self._names[target.id] = found
            elif (
                isinstance(target, ast.Tuple)
                and isinstance(found, list)
                and len(found) == len(target.elts)
            ):
                for one, part in zip(target.elts, found, strict=True):
                    if isinstance(one, ast.Name):
                        self._names[one.id] = part

    # --- values that the text tells -------------------------------------------------------------

    def _value(self, node: ast.AST | None) -> Any:
        """A string, ``_Path``, number or list of such; ``None`` where the text does not tell."""
        match node:
            case ast.Constant():
                if isinstance(node.value, bytes):
                    return node.value.decode("utf-8", errors="replace")
                return node.value if isinstance(node.value, (str, int)) else None
            case ast.Name():
                return self._names.get(node.id)
            case ast.JoinedStr():
                pieces = [
                    self._value(v.value) if isinstance(v, ast.FormattedValue) else self._value(v)
                    for v in node.values
                ]
                return None if any(p is None for p in pieces) else "".join(map(str, pieces))
            case ast.List() | ast.Tuple() | ast.Set():
                return [self._value(one) for one in node.elts[:256]]
            case ast.BinOp():
                return self._binary(node)
            case ast.Subscript():
                return self._subscript(node)
            case ast.Attribute():
                name = self._name(node)
                if name == "sys.executable":
                    return "python3"
                if name == "sys.argv":
                    return list(self._argv)
                inner = self._value(node.value)
                if isinstance(inner, _Path) and node.attr == "parent":
                    return _Path(posixpath.dirname(inner) or ".")
                return None
            case ast.Call():
                return self._called(node)
        return None

    def _binary(self, node: ast.BinOp) -> Any:
        left, right = self._value(node.left), self._value(node.right)
        match node.op:
            case ast.Div() if isinstance(left, str) and isinstance(right, str):
                return _Path(posixpath.join(left, right))
            case ast.Add() if isinstance(left, str) and isinstance(right, str):
                return (left + right)[:_MAX_STRING]
            case ast.Add() if isinstance(left, list) and isinstance(right, list):
                return (left + right)[:256]
            case ast.Mod() if isinstance(left, str) and right is not None:
                values = right if isinstance(right, list) else [right]
                if left.count("%s") == len(values) == left.count("%"):
                    for value in values:
                        left = left.replace("%s", str(value), 1)
                    return left[:_MAX_STRING]
        return None

    def _subscript(self, node: ast.Subscript) -> Any:
        whole = self._value(node.value)
        if not isinstance(whole, (str, list)):
            return None
        if isinstance(node.slice, ast.Slice):
            bounds = [self._value(b) for b in (node.slice.lower, node.slice.upper)]
            step = node.slice.step
            if isinstance(step, ast.UnaryOp) and isinstance(step.op, ast.USub) and not any(bounds):
                return whole[::-1]
            if step is None and all(b is None or isinstance(b, int) for b in bounds):
                return whole[bounds[0] : bounds[1]]
            return None
        index = self._value(node.slice)
        if isinstance(index, int) and -len(whole) <= index < len(whole):
            return whole[index]
        return None

    def _called(self, node: ast.Call) -> Any:
        name = self._name(node.func)
        args = [self._value(arg) for arg in node.args[:64]]
        strings = [arg for arg in args if isinstance(arg, str)]
        if name in ("pathlib.Path", "pathlib.PurePath", "pathlib.PosixPath"):
            return (
                _Path(posixpath.join(*strings))
                if len(strings) == len(args) != 0
                else (None if args else _Path("."))
            )
        if name in ("os.path.join", "posixpath.join") and len(strings) == len(args) != 0:
            return posixpath.join(*strings)
        if (
            name
            in (
                "os.path.expanduser",
                "os.path.abspath",
                "os.path.realpath",
                "str",
                "os.fspath",
                "bytes",
                "os.path.normpath",
            )
            and strings
        ):
            return str(strings[0])
        if name in ("os.getcwd", "pathlib.Path.cwd"):
            return _Path(self._state.cwd)
        if name == "pathlib.Path.home":
            return _Path(self._state.home)
        if name == "chr" and args and isinstance(args[0], int) and 0 <= args[0] < 0x110000:
            return chr(args[0])
        if (
            name in ("base64.b64decode", "codecs.decode", "bytes.fromhex", "binascii.unhexlify")
            and strings
        ):
            return _decoded(name, strings)
        if isinstance(node.func, ast.Attribute):
            return self._method(node.func, args)
        return None

    def _method(self, func: ast.Attribute, args: list[Any]) -> Any:
        own = self._value(func.value)
        if isinstance(own, _Path):
            match func.attr:
                case "joinpath" if all(isinstance(a, str) for a in args):
                    return _Path(posixpath.join(own, *args))
                case "resolve" | "absolute" | "expanduser":
                    return own
                case "as_posix":
                    return str(own)
                case "with_name" if args and isinstance(args[0], str):
                    return _Path(posixpath.join(posixpath.dirname(own), args[0]))
        if isinstance(own, str):
            match func.attr:
                case "join" if args and isinstance(args[0], list):
                    parts = args[0]
                    if all(isinstance(part, str) for part in parts):
                        return str(own).join(parts)[:_MAX_STRING]
                case "replace" if len(args) >= 2 and all(isinstance(a, str) for a in args[:2]):
                    return own.replace(args[0], args[1])[:_MAX_STRING] if args[0] else own
                case "decode" | "encode" | "strip" | "rstrip" | "lstrip":
                    return own.strip() if func.attr == "strip" else own
                case "format" if all(isinstance(a, (str, int)) for a in args):
                    out = own
                    for arg in args:
                        out = out.replace("{}", str(arg), 1)
                    return out[:_MAX_STRING]
                case "split" if not args or isinstance(args[0], str):
                    return own.split(*args[:1])[:256] if not args or args[0] else None
        return None

    def _name(self, node: ast.AST) -> str:
        """The dotted name of what is called, imports and aliases resolved."""
        trail: list[str] = []
        while isinstance(node, ast.Attribute):
            trail.append(node.attr)
            node = node.value
        if isinstance(node, ast.Name):
            trail.append(self._modules.get(node.id, node.id))
        elif isinstance(node, ast.Call):
            inner = self._name(node.func)
            module = self._value(node.args[0]) if node.args else None
            if inner in ("__import__", "importlib.import_module") and isinstance(module, str):
                trail.append(module)
            elif inner == "getattr" and len(node.args) > 1:
                attribute = self._value(node.args[1])
                trail.append(f"{self._name(node.args[0])}.{attribute}")
            else:
                trail.append(f"{inner}()")
        return ".".join(reversed(trail)).removeprefix("builtins.")

    # --- calls ----------------------------------------------------------------------------------

    def _call(self, node: ast.Call) -> None:
        self._rec.step()
        name = self._name(node.func)
        rec, state = self._rec, self._state
        first = self._argument(node, 0)
        if name in (
            "open",
            "io.open",
            "codecs.open",
            "os.open",
            "gzip.open",
            "bz2.open",
            "lzma.open",
        ):
            self._open(node, first, self._argument(node, 1, "mode"))
        elif name in _SHELL:
            self._shell(first)
        elif name in _SUBPROCESS or _ARGV.match(name):
            self._process(node, name)
        elif name in _CODE:
            self._code(first)
        elif name == "os.chdir" and isinstance(first, str):
            rec.read(state, first)
            state.cwd = state.path(first)
        elif name in _TREE and isinstance(first, str):
            rec.remove(state, first, tree=True)
        elif name in _WRITE and isinstance(first, str):
            rec.write(state, first)
        elif name in _MOVE | _COPY | _LINK:
            self._transfer(name, first, self._argument(node, 1, "dst"))
        elif name in _READ and isinstance(first, str):
            rec.read(state, first)
        elif (
            _CONNECT.match(name)
            or name in ("socket.create_connection",)
            or name.endswith(".connect")
        ):
            self._connect(node, name)
        elif isinstance(node.func, ast.Attribute):
            self._path_method(node, node.func, first)
        elif _LOADER.match(name) and isinstance(first, str) and looks_like_path(first):
            rec.read(state, first)

    def _argument(self, node: ast.Call, index: int, *names: str) -> Any:
        if index < len(node.args):
            return self._value(node.args[index])
        for keyword in node.keywords:
            if keyword.arg in names or (
                index == 0 and keyword.arg in ("file", "path", "args", "src")
            ):
                return self._value(keyword.value)
        return None

    def _open(self, node: ast.Call, path: Any, mode: Any) -> None:
        if not isinstance(path, str):
            return
        if isinstance(mode, str) and any(c in mode for c in "wax+"):
            self._rec.write(self._state, path)
        else:
            self._rec.read(self._state, path)

    def _path_method(self, node: ast.Call, func: ast.Attribute, first: Any) -> None:
        own = self._value(func.value)
        if isinstance(own, _Path):
            if func.attr in _PATH_READ:
                self._rec.read(self._state, own)
                if func.attr in ("glob", "rglob") and isinstance(first, str):
                    self._rec.read(self._state, posixpath.join(own, first))
            elif func.attr in _PATH_WRITE:
                content = first if func.attr == "write_text" and isinstance(first, str) else None
                self._rec.write(self._state, own, content)
            elif func.attr == "open":
                self._open(node, own, first)
            elif func.attr in ("rename", "replace") and isinstance(first, str):
                self._transfer("os.rename", own, first)
            elif func.attr in ("symlink_to", "hardlink_to") and isinstance(first, str):
                self._transfer("os.symlink", first, own)
        elif isinstance(first, str) and looks_like_path(first) and _LOADER.match(func.attr):
            self._rec.read(self._state, first)
        elif func.attr in ("to_csv", "to_json", "save", "savefig", "dump") and isinstance(
            first, str
        ):
            self._rec.write(self._state, first)

    def _transfer(self, name: str, source: Any, target: Any) -> None:
        rec, state = self._rec, self._state
        if isinstance(source, str):
            rec.read(state, source)
            if name in _MOVE:
                rec.remove(state, source)
        if isinstance(target, str):
            known = state.text(state.path(source)) if isinstance(source, str) else None
            rec.write(state, target, None if name in _LINK else known)
            if name in _LINK and isinstance(source, str):
                link = state.path(target)
                state.links[link] = state.path(posixpath.join(posixpath.dirname(link), source))

    def _shell(self, command: Any) -> None:
        from harness_adapters.gateway.guard.shell import run_shell

        if isinstance(command, str):
            run_shell(self._rec, self._state.fork(), command)
        else:
            self._opaque()

    def _process(self, node: ast.Call, name: str) -> None:
        from harness_adapters.gateway.guard.launch import launch

        first = self._argument(node, 0)
        if _ARGV.match(name):
            values = [self._value(arg) for arg in node.args]
            first = values[1] if len(values) > 1 and isinstance(values[1], list) else values[1:]
            if name.startswith("asyncio"):
                first = values
        state = self._state.fork()
        folder = next((self._value(k.value) for k in node.keywords if k.arg == "cwd"), None)
        if isinstance(folder, str):
            state.cwd = state.path(folder)
        if isinstance(first, str):
            before, self._state = self._state, state
            self._shell(first)
            self._state = before
        elif isinstance(first, list) and first and any(isinstance(w, str) for w in first):
            launch(self._rec, state, [str(w) if w is not None else "$unknown" for w in first], None)
        else:
            self._opaque()

    def _code(self, code: Any) -> None:
        if isinstance(code, str):
            run_python(self._rec, self._state, code)
        else:
            self._opaque()

    def _opaque(self) -> None:
        """Something is executed that the text does not tell: the text is judged as it stands."""
        if not self._dynamic:
            self._dynamic = True
            self._rec.unparsed(self._text)

    def _connect(self, node: ast.Call, name: str) -> None:
        for value in [self._value(arg) for arg in node.args[:3]]:
            if isinstance(value, list) and value:
                value = value[0]
            if isinstance(value, str) and (
                host := host_of_url(value)
                or (
                    host_of_operand(value)
                    if name.startswith(("socket", "http.client")) or name.endswith(".connect")
                    else None
                )
            ):
                self._rec.connect(host)


def _decoded(name: str, strings: Sequence[str]) -> str | None:
    try:
        if name == "base64.b64decode":
            return base64.b64decode(strings[0]).decode("utf-8", errors="replace")
        if name == "codecs.decode":
            if len(strings) > 1 and strings[1] in ("rot13", "rot_13"):
                import codecs

                return codecs.decode(strings[0], "rot13")
            return None
        return bytes.fromhex(strings[0]).decode("utf-8", errors="replace")
    except (binascii.Error, ValueError):
        return None
