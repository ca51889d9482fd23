"""Python programs, read through ``ast``: calls whose arguments text tells become actions."""

from __future__ import annotations

import ast
import base64
import binascii
import gc
import posixpath
import re
import warnings
from bisect import bisect_right
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any

from harness_adapters.gateway.guard.errors import (
    MAX_BLOCKS,
    MAX_PYTHON,
    MAX_PYTHON_TOKENS,
    Unjudgeable,
)
from harness_adapters.gateway.guard.hosts import host_of_operand, host_of_url
from harness_adapters.gateway.guard.names import names
from harness_adapters.gateway.guard.paths import looks_like_path
from harness_adapters.gateway.guard.recorder import Recorder
from harness_adapters.gateway.guard.state import State
from harness_adapters.gateway.guard.weight import tokens

_MAX_DEPTH = 96
_MAX_STRING = 64 * 1024
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
_HUB_CALLS = (
    "load_dataset", "hf_hub_download", "snapshot_download", "HfApi", "HfFileSystem",
    "dataset_download", "get_dataset_config_names",
)  # fmt: skip
_HUB_MODULES = ("kagglehub", "kaggle", "huggingface_hub")
_PATH_LITERAL = re.compile(r"['\"]((?:/|\.\./|~/)[^'\"\s\\]{1,200})['\"]")
_IMPORTED = re.compile(
    r"^[ \t]*+(?:from[ \t]++([\w.]++)[ \t]++import[ \t]*+\(?([\w,\s]*+)"
    r"|import[ \t]++([\w., \t]++))",
    re.MULTILINE,
)
# Words without which a program reaches no file, process, host or code. ``import os`` alone is
# nothing yet: what follows has to name it.
_MATTERS = names(
    """
    open exec eval compile execfile os posix subprocess shutil pathlib Path glob io codecs socket
    requests httpx aiohttp http ftplib smtplib telnetlib wget pty pexpect sh asyncio runpy
    fileinput linecache tokenize zipfile tarfile sqlite3 gzip bz2 lzma commands importlib imp
    pkgutil getattr globals locals vars builtins ctypes cffi mmap multiprocessing pickle marshal
    shelve code codeop pdb timeit trace doctest unittest pytest boto3 huggingface_hub datasets
    paramiko fabric git gitlab github websockets
    """
)
_OF_SYS = names("path modules meta_path path_hooks settrace setprofile _getframe")
_VERB = re.compile(
    r"environ|getenv|hub|dataset|download|read|write|load|dump|save|parse|fetch|scan|connect|from_|to_|unlink|rename|symlink|url|kaggle"
    r"|path|file|\A__(?!(?:name|main|init|post_init|repr|str|eq|ne|lt|le|gt|ge|hash|len|iter|next|call"
    r"|doc|all|future|slots|version|enter|exit|add|sub|mul|neg|bool|int|float|contains|getitem"
    r"|setitem|delitem|annotations)__)",
    re.IGNORECASE,
)
_IDENTIFIER = re.compile(r"[A-Za-z_]\w*")
_MAX_WORD = 64


@lru_cache(4096)
def _is_verb(word: str) -> bool:
    return _VERB.search(word) is not None


def _names_what_matters(text: str) -> bool:
    words = set(_IDENTIFIER.findall(text))
    return (
        not words.isdisjoint(_MATTERS)
        or ("sys" in words and not words.isdisjoint(_OF_SYS))
        or any(len(word) > _MAX_WORD or _is_verb(word) for word in words)
    )


_BLOCK = re.compile(r"^(?:def|class|async[ \t]+def)\b", re.MULTILINE)
_DECORATED = re.compile(r"^@[^\n]*\n\Z", re.MULTILINE)
_DEDENT = re.compile(r"^[^\s#)\]}]", re.MULTILINE)
_LITERAL = re.compile(
    r"#[^\n]*+|'''(?:[^\\']|\\.|'(?!''))*+'''|\"\"\"(?:[^\\\"]|\\.|\"(?!\"\"))*+\"\"\""
    r"|'(?:[^\\'\n]|\\.)*+'|\"(?:[^\\\"\n]|\\.)*+\"",
    re.DOTALL,
)
_PLAIN_IMPORT = re.compile(r"^[ \t]*+import[ \t]++[\w., \t]++$", re.MULTILINE)


def may_matter(program: str) -> bool:
    """Whether the program may reach a file, process, host or further code; never no when it does.

    A scan of its words only: identifiers are no strings, so nothing hides one from it but letters
    beyond ASCII, which Python folds, and line joins.
    """
    if not program.isascii() or "\\\n" in program:
        return True
    return _names_what_matters(_PLAIN_IMPORT.sub(_renamed, program))


def _renamed(found: re.Match[str]) -> str:
    """``import os as o`` stays to be seen; what ``import os`` means has to name it again."""
    return found.group() if " as " in found.group().replace("\t", " ") else ""


def run_python(rec: Recorder, state: State, program: str, *, argv: Sequence[str] = ()) -> None:
    """Record what a Python program does, as far as its text tells.

    :raises Unjudgeable: it is too long or nested too deep.
    """
    with rec.program(program, limit=MAX_PYTHON):
        if "\0" in program:
            rec.unparsed(program)
            return
        imports = _imports_written(state, program, argv)
        if not imports and not may_matter(program):
            return
        try:
            tree = _parsed(program)
        except SyntaxError:
            rec.unparsed(program)
            return
        except (RecursionError, MemoryError, ValueError) as error:
            raise Unjudgeable(
                f"a Python program nested too deep ({type(error).__name__})"
            ) from None
        _Program(rec, state, program, argv).follow(tree)


def _parsed(program: str) -> ast.AST:
    """The tree of what may matter.

    :raises SyntaxError: it is no Python.
    :raises Unjudgeable: it is too long.
    """
    if len(hot := _without_cold_blocks(program)) < len(program):
        try:
            return _tree(hot)
        except SyntaxError:
            pass  # not the blocks it looked like
    return _tree(program)


def _tree(program: str) -> ast.AST:
    if tokens(program) > MAX_PYTHON_TOKENS:
        raise Unjudgeable(f"a Python program of more than {MAX_PYTHON_TOKENS} tokens")
    # Tens of thousands of new objects, none of them garbage: collecting meanwhile only costs.
    collecting = gc.isenabled()
    gc.disable()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return ast.parse(program)
    finally:
        if collecting:
            gc.enable()


def _without_cold_blocks(program: str) -> str:
    """The program without functions and classes that name nothing that matters: half of the time
    goes into reading them. Values from inside them reach no code outside by name."""
    if not program.isascii() or "\\\n" in program:
        return program
    strings: list[tuple[int, int]] = []
    if '"""' in program or "'''" in program:
        strings = [m.span() for m in _LITERAL.finditer(program) if "\n" in m.group()]
    starts = [start for start, _ in strings]

    def in_string(at: int) -> bool:
        i = bisect_right(starts, at) - 1
        return i >= 0 and at < strings[i][1]

    kept: list[str] = []
    copied = at = 0
    while block := _BLOCK.search(program, at):
        at = block.end()
        if in_string(block.start()) or _DECORATED.search(
            program[max(0, block.start() - 512) : block.start()]
        ):
            continue
        end = at
        if len(kept) > MAX_BLOCKS:
            raise Unjudgeable(f"a Python program of more than {MAX_BLOCKS} functions")
        while (dedent := _DEDENT.search(program, end)) and in_string(dedent.start()):
            end = dedent.end()
        stop = dedent.start() if dedent else len(program)
        at = stop
        body = program[block.start() : stop]
        if not (_names_what_matters(body) or "global" in body or "nonlocal" in body):
            kept.append(program[copied : block.start()])
        else:
            kept.append(program[copied:stop])
        copied = stop
    kept.append(program[copied:])
    return "".join(kept)


def _imports_written(state: State, program: str, argv: Sequence[str]) -> bool:
    """Whether it imports a module that this session wrote."""
    if not state.wrote_python:
        return False
    folders = _module_folders(state, argv)
    for found in _IMPORTED.finditer(program):
        package, members, modules = found.groups()
        names = re.split(r"[\s,]+", modules or members)
        if package:
            names = [package, *(f"{package}.{name}" for name in names if name)]
        if any(_module_file(state, name, folders) for name in names):
            return True
    return False


def _module_folders(state: State, argv: Sequence[str]) -> list[str]:
    folders = [posixpath.dirname(argv[0]) or "."] if argv else ["."]
    return folders + [one for one in state.variables.get("PYTHONPATH", "").split(":") if one]


def _module_file(state: State, module: str, folders: Sequence[str]) -> tuple[str, str] | None:
    """Path and text of a module of the session's own making."""
    if not module or module[0] == ".":
        return None
    base = module.replace(".", "/")
    for folder in folders:
        for name in (f"{base}.py", f"{base}/__init__.py"):
            path = state.path(posixpath.join(folder, name))
            if (text := state.text(path)) is not None:
                return path, text
    return None


def _fields_of(kind: type[ast.AST]) -> tuple[str, ...]:
    """The fields of a kind of node in which something may stand that matters, last first."""
    return tuple(reversed([name for name in kind._fields if name not in _DULL_FIELDS]))


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
        self._functions: dict[str, ast.FunctionDef | ast.AsyncFunctionDef] = {}
        self._calling = 0
        self._argv = list(argv)
        self._folders = _module_folders(state, argv)
        self._dynamic = False
        self._untold = False

    def follow(self, tree: ast.AST) -> None:
        """Walk in the order of the text.

        :raises Unjudgeable: nested too deep.
        """
        self._walk([tree])
        if self._untold:  # a file is opened whose name is not told: any path that stands there
            for found in _PATH_LITERAL.finditer(self._text):
                self._rec.read(self._state, found.group(1))

    def _walk(self, nodes: Sequence[ast.AST]) -> None:
        stack = [(node, 1) for node in reversed(nodes)]
        push = stack.append
        while stack:
            node, depth = stack.pop()
            kind = node.__class__
            if visit := _VISITS.get(kind):
                visit(self, node)
            if (fields := _FIELDS.get(kind)) is None:
                fields = _FIELDS[kind] = _fields_of(kind)
            if depth >= _MAX_DEPTH:
                raise Unjudgeable(f"a Python program nested more than {_MAX_DEPTH} levels deep")
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

    def _import(self, node: ast.Import) -> None:
        for alias in node.names:
            top = alias.name if alias.asname else alias.name.split(".")[0]
            self._modules[alias.asname or top] = top
            self._module(alias.name)

    def _import_from(self, node: ast.ImportFrom) -> None:
        for alias in node.names:
            self._modules[alias.asname or alias.name] = f"{node.module}.{alias.name}"
            if self._state.wrote_python:
                self._module(f"{node.module}.{alias.name}" if node.module else alias.name)
        self._module(node.module or "")

    def _module(self, name: str) -> None:
        """A module that the session wrote runs when it is imported."""
        if self._state.wrote_python and (found := _module_file(self._state, name, self._folders)):
            path, text = found
            if path not in self._rec.imported:
                self._rec.imported.add(path)
                run_python(self._rec, self._state, text, argv=[path])

    def _define(self, node: ast.FunctionDef | ast.AsyncFunctionDef) -> None:
        self._functions[node.name] = node

    def _assigned(self, node: ast.Assign) -> None:
        self._assign(node.targets, node.value)

    def _annotated(self, node: ast.AnnAssign | ast.NamedExpr) -> None:
        if node.value is not None:
            self._assign([node.target], node.value)

    def _for(self, node: ast.For) -> None:
        values = self._value(node.iter)
        if not isinstance(values, list) or not values:
            return
        self._bind(node.target, values[0])
        for value in values[1:16]:
            self._bind(node.target, value)
            self._walk(node.body)
        self._bind(node.target, values[0])

    def _with(self, node: ast.With | ast.AsyncWith) -> None:
        for item in node.items:
            if isinstance(item.optional_vars, ast.Name):
                self._assign([item.optional_vars], item.context_expr)

    def _assign(self, targets: Sequence[ast.expr], value: ast.expr) -> None:
        found = self._value(value)
        for target in targets:
            known_name = isinstance(value, (ast.Name, ast.Attribute)) and found is None
            if known_name and isinstance(target, ast.Name):
                self._modules[target.id] = self._name(value)
            self._bind(target, found)

    def _bind(self, target: ast.expr, value: Any) -> None:
        if isinstance(target, ast.Name):
            self._names[target.id] = value
        elif (
            isinstance(target, ast.Tuple)
            and isinstance(value, list)
            and len(value) == len(target.elts)
        ):
            for one, part in zip(target.elts, value, strict=True):
                self._bind(one, part)

    # --- values that the text tells -------------------------------------------------------------

    def _value(self, node: ast.AST | None) -> Any:
        """A string, ``_Path``, number or list of such; ``None`` where the text does not tell."""
        if node is None:
            return None
        if isinstance(node, ast.Name):
            return self._names.get(node.id)
        if isinstance(node, ast.Constant):
            if isinstance(node.value, bytes):
                return node.value.decode("utf-8", errors="replace")
            return node.value if isinstance(node.value, (str, int)) else None
        self._rec.value()
        match node:
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
                self._rec.value(len(left) + len(right))
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
        if self._name(node.value) == "os.environ":
            if isinstance(key := self._value(node.slice), str):
                self._state.environment[key] = None
            return None
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
        if name in ("glob.glob", "glob.iglob") and strings:
            return [strings[0]]
        if name in ("os.listdir", "os.scandir"):
            return ["*"]
        if name == "os.walk" and strings:
            return [[posixpath.join(strings[0], "**"), ["*"], ["*"]]]
        if name in ("sorted", "list", "tuple", "set", "reversed") and len(args) == 1:
            return args[0] if isinstance(args[0], list) else None
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
        size = (
            len(own) * (1 + sum(len(a) for a in args if isinstance(a, (str, list))))
            if isinstance(own, str)
            else 0
        )
        self._rec.value(size)
        if isinstance(own, _Path):
            match func.attr:
                case "iterdir":
                    return [_Path(posixpath.join(own, "*"))]
                case "glob" if args and isinstance(args[0], str):
                    return [_Path(posixpath.join(own, args[0]))]
                case "rglob" if args and isinstance(args[0], str):
                    return [_Path(posixpath.join(own, "**", args[0]))]
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
                case "upper" | "lower":
                    return own.upper() if func.attr == "upper" else own.lower()
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
        elif name.endswith(_HUB_CALLS) or name.split(".")[0] in _HUB_MODULES:
            self._hub(name)
        elif name in ("os.getenv", "os.environ.get", "os.environ.pop") and isinstance(first, str):
            state.environment[first] = None
        elif name.startswith("ctypes."):
            self._opaque()
        elif name in ("sys.path.insert", "sys.path.append", "site.addsitedir"):
            self._search(first if name != "sys.path.insert" else self._argument(node, 1))
        elif name in ("__import__", "importlib.import_module") and isinstance(first, str):
            self._module(first)
        elif name in self._functions:
            self._inline(self._functions[name], node)
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

    def _hub(self, name: str) -> None:
        self._rec.connect("www.kaggle.com" if "kaggle" in name else "huggingface.co")

    def _search(self, folder: Any) -> None:
        if isinstance(folder, str):
            self._rec.read(self._state, folder)
            self._folders.append(folder)

    def _inline(self, function: ast.FunctionDef | ast.AsyncFunctionDef, node: ast.Call) -> None:
        """Follow a function of the program's own again, now that its arguments are known."""
        given = {
            parameter.arg: self._value(value)
            for parameter, value in zip(function.args.args, node.args, strict=False)
        } | {one.arg: self._value(one.value) for one in node.keywords if one.arg}
        told = any(isinstance(value, (str, list)) for value in given.values())
        if not told or self._rec.inlined >= _MAX_INLINED or self._calling >= 4:
            return
        self._rec.inlined += 1
        self._calling += 1
        before = dict(self._names)
        self._names.update(given)
        self._walk(function.body)
        self._names = before
        self._calling -= 1

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
            self._untold = True
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
        elif own is None and func.attr in ("read_text", "read_bytes"):
            self._untold = True
        elif isinstance(first, str) and _LOADER.match(func.attr) and host_of_url(first):
            self._rec.connect(host_of_url(first))
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


_VISITS: dict[type, Callable[[_Program, Any], None]] = {
    ast.Import: _Program._import,
    ast.ImportFrom: _Program._import_from,
    ast.Assign: _Program._assigned,
    ast.AnnAssign: _Program._annotated,
    ast.NamedExpr: _Program._annotated,
    ast.For: _Program._for,
    ast.With: _Program._with,
    ast.AsyncWith: _Program._with,
    ast.FunctionDef: _Program._define,
    ast.AsyncFunctionDef: _Program._define,
    ast.Call: _Program._call,
    ast.Subscript: _Program._subscript,
}


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
