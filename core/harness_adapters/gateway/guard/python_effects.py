"""What the calls of a Python program do to files, hosts and processes."""

from __future__ import annotations

import ast
import posixpath
import re
from collections.abc import Mapping, Sequence
from typing import Any

from harness_adapters.gateway.guard import python_calls as calls
from harness_adapters.gateway.guard.hosts import host_of_operand, host_of_url, hosts_of_urls
from harness_adapters.gateway.guard.paths import looks_like_path
from harness_adapters.gateway.guard.pipe import Pipe
from harness_adapters.gateway.guard.python_called import Called
from harness_adapters.gateway.guard.python_functions import MAX_STRING, FileValue, PathValue
from harness_adapters.gateway.guard.python_modules import module_file, search_path
from harness_adapters.gateway.guard.recorder import Recorder
from harness_adapters.gateway.guard.state import State

_WORD_LITERAL = re.compile(r"['\"]([\w./-]{3,64})['\"]")
_ENDS = re.compile(r"\.(?:kill|terminate|suspend|send_signal)\(")
_FIRST_KEYWORDS = (
    "file", "path", "args", "src", "filename", "url", "host", "command", "cmd", "file_path",
)  # fmt: skip


_MAX_FILES = 64  # of a dataset, and lists of them


class Effects(Called):
    """Records what a call does; which calls there are is ``_Program``'s business."""

    def __init__(
        self, rec: Recorder, state: State, text: str, argv: Sequence[str], stdin: str | None
    ) -> None:
        super().__init__(rec, state, argv)
        self._text = text
        self._stdin = stdin
        self._folders = search_path(state, argv)
        self._dynamic = False
        self._databases: list[str] = []
        self._untold = False

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

    def _perform(
        self, name: str, args: list[Any], given: Mapping[str, Any], node: ast.Call | None = None
    ) -> bool:
        """What a call of a name that is known does; ``False`` for one that is not."""
        rec, state = self.rec, self.state
        first = args[0] if args else _first_of(given)
        for way in (given.get("proxies"), first if name.endswith("ProxyHandler") else None):
            for value in way.values() if isinstance(way, dict) else ():
                rec.connect(host_of_operand(value) if isinstance(value, str) else None)
        if name in calls.OPENERS:
            mode = given.get("mode", args[1] if len(args) > 1 else None)
            self._open(first, mode, node, in_place=bool(given.get("inplace")))
        elif name in calls.SHELL:
            self._shell(first)
        elif name in calls.PROCESS or calls.ARGV.match(name):
            self._process(name, args, given)
        elif name in calls.INTERACTIVE and self._stdin is not None:
            self._code(self._stdin)
        elif name in ("pip.main", "pip._internal.main") and isinstance(first, list):
            self._process("sh.run", [["pip", *map(_word, first)]], {})
        elif program := calls.AS_PROGRAM.match(name):
            self._process("sh.run", [[program.group(1), *map(_word, args)]], {})
        elif name in calls.CODE:
            self._code(given.get("stmt", first))
        elif name in calls.RUNS_FILE:
            self._run_named(args[-1] if args else None)
        elif name == "importlib.util.spec_from_file_location":
            self._run_named(args[1] if len(args) > 1 else given.get("location"))
        elif first in calls.LOCAL_BUILDERS and name.endswith("load_dataset"):
            self._data_files([*args[2:4], given.get("data_files"), given.get("data_dir")])
        elif name.endswith(calls.HUB_CALLS) or name.split(".")[0] in calls.HUB_MODULES:
            host = "www.kaggle.com" if "kaggle" in name else "huggingface.co"
            rec.connect(host, address=first if isinstance(first, str) else "")
        elif (asks := name.rpartition(".")[2]) in calls.DATA_CALLS and isinstance(first, str):
            host = calls.DATA_CALLS[asks]
            rec.connect(host, address=f"https://{host}/{first}")
        elif name in ("os.getenv", "os.environ.get", "os.environ.pop") and isinstance(first, str):
            state.environment[first] = None
        elif name.startswith("ctypes.") and (does := calls.NATIVE.get(name.rpartition(".")[2])):
            rec.run((does, *(str(one) for one in args if isinstance(one, (str, int)))))
        elif name.startswith("ctypes.") or name in ("marshal.loads", "pickle.loads"):
            self._opaque()
            return False
        elif name in calls.SECRETS:
            rec.read(state, calls.SECRETS[name])
        elif (module := name.rpartition(".")[0]) in calls.SECRET_MODULES:
            rec.read(state, calls.SECRET_MODULES[module])
        elif name == "os.path.expandvars" and isinstance(first, str):
            state.environment.update(dict.fromkeys(calls.VARIABLE.findall(first)))
        elif name.startswith("dotenv.") and isinstance(first, str):
            rec.read(state, first)
        elif name.startswith("keyring."):
            rec.run(("keyring", name.partition(".")[2]))
        elif name in ("sys.path.insert", "sys.path.append", "site.addsitedir"):
            self._search(first if name != "sys.path.insert" else args[1] if len(args) > 1 else None)
        elif name in calls.RUNS_MODULE and isinstance(first, str):
            self._module(first)
        elif name in calls.SIGNALS:
            if isinstance(first, (str, int)):
                rec.run(("kill", "-KILL", str(first)))
            else:
                rec.run(("pkill", *_WORD_LITERAL.findall(self._text)[:16]))
        elif name in calls.ON_PROCESSES:
            which = args[1] if name == "os.setpriority" and len(args) > 1 else first
            if which != 0 or "settime" in name:
                rec.run((*calls.ON_PROCESSES[name], _word(which)))
        elif name.startswith("psutil.") and name.endswith(".environ"):
            rec.read(state, "/proc/1/environ")
        elif name.startswith("psutil."):
            named = _WORD_LITERAL.findall(self._text)[:16]
            if named or _ENDS.search(self._text):
                rec.run(("pkill", *named))
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
            if isinstance(first, str) and host_of_url(first):
                self._connect(name, [first])
        elif name in calls.MOVE or name in calls.COPY or name in calls.LINK:
            self._transfer(name, first, args[1] if len(args) > 1 else given.get("dst"))
        elif name in calls.READ and isinstance(first, str):
            rec.read(state, first)
            if name == "sqlite3.connect":
                self._databases.append(first)
        elif (
            calls.CONNECT.match(name)
            or calls.RESOLVE.match(name)
            or name.endswith((".connect", ".connect_ex"))
        ):
            urls = (given[key] for key in calls.URL_KEYS if key in given)
            self._connect(name, [*args[:3], *urls], sends=_carries(name, args, given))
            if isinstance(first, str) and name.endswith("_file"):
                rec.read(state, first)
        elif calls.LOADER.match(name) and isinstance(first, str) and looks_like_path(first):
            rec.read(state, first)
        elif tool := calls.HARNESS_TOOL.fullmatch(name):
            for one in first[:16] if isinstance(first, list) else [first]:
                if isinstance(one, str):
                    self._harness_tool(tool.group(1), one, args, given)
        else:
            return False
        return True

    def _harness_tool(
        self, name: str, first: str, args: list[Any], given: Mapping[str, Any]
    ) -> None:
        """The harness's own tools, which code that it runs may call as functions."""
        if calls.TOOL_RUNS.search(name):
            self._shell(first)
        elif calls.TOOL_SEARCHES.search(name):
            self.rec.run((name, first))
        elif calls.TOOL_WRITES.search(name):
            text = given.get("content", args[1] if len(args) > 1 else None)
            self.rec.write(self.state, first, text if isinstance(text, str) else None)
        elif host := host_of_url(first):
            self.rec.connect(host, address=first)
        elif calls.TOOL_LOOKS.search(name):
            where = given.get("path", args[1] if len(args) > 1 else ".")
            self.rec.run(("grep", "-r", first, _word(where)))
            if isinstance(where, str):
                self.rec.read(self.state, where)
        elif calls.TOOL_READS.search(name):
            self.rec.read(self.state, first)

    def _search(self, folder: Any) -> None:
        if isinstance(folder, str):
            self.rec.read(self.state, folder)
            self._folders.append(folder)

    def _data_files(self, given: list[Any]) -> None:
        """The files that a dataset is made of: a name, or names by split; here or elsewhere."""
        left, looked_at = [*given], 0
        while left and looked_at < _MAX_FILES:
            one = left.pop()
            looked_at += 1
            if isinstance(one, str):
                if "://" in one:
                    self.rec.connect(host_of_url(one), address=one)
                else:
                    self.rec.read(self.state, one)
            elif isinstance(one, list | tuple | dict):
                left += list(one.values() if isinstance(one, dict) else one)[:_MAX_FILES]
        if left:
            self._opaque()

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

    def _method_called(
        self, node: ast.Call, func: ast.Attribute, args: list[Any], given: Mapping[str, Any]
    ) -> None:
        """What a method does by the object it is of, or by its own name."""
        own = self.value(func.value)
        method, first = func.attr, args[0] if args else _first_of(given)
        rec, state = self.rec, self.state
        if method in calls.SECRET_METHODS:
            rec.run(("vault", "read", method))
        elif method in calls.UNPACKS and not isinstance(own, PathValue):
            place = args[1] if method == "extract" and len(args) > 1 else given.get("path", first)
            if isinstance(place, str):
                rec.write(state, f"{place.rstrip('/')}/**")
        elif isinstance(own, PathValue):
            self._path_called(own, node, method, args, given)
        elif isinstance(own, FileValue):
            if method in ("write", "writelines"):
                text = "".join(first) if _is_texts(first) else first
                self._file_written(own, text if isinstance(text, str) else None)
        elif own is None and method in ("read_text", "read_bytes"):
            self._untold = True
        elif isinstance(first, str) and method in calls.FETCHES and host_of_url(first):
            sends = method in calls.SENDS or _carries(method, args, given)
            rec.connect(host_of_url(first), sends=sends, address=first)
        elif method in calls.SENDS and any(isinstance(arg, list) for arg in args):
            self._connect("socket.", args)
        elif isinstance(first, str) and calls.LOADER.match(method) and host_of_url(first):
            rec.connect(host_of_url(first), address=first)
        elif isinstance(first, str) and looks_like_path(first) and calls.LOADER.match(method):
            rec.read(state, first)
        elif (
            isinstance(first, str)
            and method in calls.SAVES
            and (
                method not in ("dump", "save")
                or looks_like_path(first)
                or "." not in self.name(func.value)
            )
        ):
            rec.write(state, first)
        elif method in ("execute", "executescript", "executemany") and isinstance(first, str):
            if calls.SQL_CHANGES.match(first):
                for path in self._databases:
                    rec.touch(state, path)
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
            rec.read(state, f"{source}/**" if name == "shutil.copytree" else source)
            if name in calls.MOVE:
                rec.remove(state, source)
        if isinstance(target, str):
            known = state.text(state.path(source)) if isinstance(source, str) else None
            rec.write(state, target, None if name in calls.LINK else known)
            if name in calls.LINK and isinstance(source, str):
                link = state.path(target)
                state.links[link] = state.path(posixpath.join(posixpath.dirname(link), source))

    def _module(self, name: str) -> None:
        """A module that the session wrote runs when it is imported."""
        if self.state.wrote_python and (found := module_file(self.state, name, self._folders)):
            self._run_file(*found)

    def _run_file(self, path: str, text: str) -> None:
        if path not in self.rec.imported:
            self.rec.imported.add(path)
            from harness_adapters.gateway.guard.python import run_python

            run_python(self.rec, self.state, text, argv=[path])

    def _run_named(self, path: Any) -> None:
        if not isinstance(path, str):
            self._opaque()
            return
        self.rec.read(self.state, path)
        full = self.state.path(path)
        if (text := self.state.text(full)) is not None:
            self._run_file(full, text)

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
            words = [_word(one) for one in first]
            launch(self.rec, state, words, pipe)
        else:
            self._opaque()

    def _code(self, code: Any) -> None:
        from harness_adapters.gateway.guard.python import run_python

        if isinstance(code, str):
            run_python(self.rec, self.state, code)
        else:
            self._opaque()

    def _opaque(self) -> None:
        """Something is executed that the text does not tell: the text is judged as it stands."""
        if not self._dynamic:
            self._dynamic = True
            self.rec.unparsed(self._text)

    def _connect(self, name: str, values: Sequence[Any], *, sends: bool = False) -> None:
        bare = (
            name.startswith(("socket", "asyncio"))
            or name.endswith((".connect", ".connect_ex"))
            or (calls.CONNECT.match(name) and not name.startswith(("requests", "httpx", "urllib")))
        )
        sends = sends or name.rpartition(".")[2] in calls.SENDS
        for value in values:
            if isinstance(value, list) and value:
                value = value[0]
            if name == "fsspec.filesystem" and isinstance(value, str):
                value = f"{value}://"
            if isinstance(value, str) and (
                host := host_of_url(value) or (host_of_operand(value) if bare else None)
            ):
                self.rec.connect(host, sends=sends, address=value)
            elif isinstance(value, str) and "://" in value:
                for url, inside in hosts_of_urls(value):  # of a query, say
                    self.rec.connect(inside, sends=sends, address=url)


def _first_of(given: Mapping[str, Any]) -> Any:
    return next((given[key] for key in _FIRST_KEYWORDS if key in given), None)


def _carries(name: str, args: Sequence[Any], given: Mapping[str, Any]) -> bool:
    """Whether a request that may send something is given what to send."""
    if not calls.PAYLOAD_KEYS.isdisjoint(given):
        return True
    return name.endswith(("urlopen", "urllib.request.Request")) and len(args) > 1


def _word(value: Any) -> str:
    return str(value) if isinstance(value, (str, int)) else "$unknown"


def _is_texts(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(one, str) for one in value)
