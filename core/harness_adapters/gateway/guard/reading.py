"""Reads a tool call into actions, by the shape of its arguments rather than its tool's name.

Shapes of pi, opencode, hermes, Claude Code and Codex: shell strings and argument lists, read,
write, edit, patch, search, fetch, code execution; nested and batched calls alike.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeGuard

from harness_adapters.gateway.guard.actions import Action, Span, Unparsed
from harness_adapters.gateway.guard.errors import MAX_NESTING, MAX_SHELL, Unjudgeable
from harness_adapters.gateway.guard.hosts import host_of_operand, host_of_url
from harness_adapters.gateway.guard.launch import launch
from harness_adapters.gateway.guard.other_code import follow_other_code
from harness_adapters.gateway.guard.patches import follow_patch, looks_like_patch
from harness_adapters.gateway.guard.paths import looks_like_path
from harness_adapters.gateway.guard.python import is_python, run_python
from harness_adapters.gateway.guard.recorder import Recorder
from harness_adapters.gateway.guard.shell import run_shell
from harness_adapters.gateway.guard.spans import Path, Places, locate, places_in_string
from harness_adapters.gateway.guard.state import Effects, State
from harness_adapters.gateway.guard.strict_json import beyond_limits, repairs, strict_list
from harness_adapters.gateway.guard.words import ansi_unescaped

if TYPE_CHECKING:
    from harness_adapters.gateway.guard.calls import ToolCall
    from harness_adapters.gateway.guard.ledger import Ledger

_SHELL_KEYS = (
    "command",
    "cmd",
    "script",
    "argv",
    "commands",
    "bash",
    "shell_command",
    "chars",
    "stdin",
    "keystrokes",
    "command_line",
    "commandLine",
    "bash_command",
)
_CODE_KEYS = ("code", "python", "python_code", "source_code")
_FOLDER_KEYS = ("workdir", "cwd", "working_directory", "working_dir", "workingDirectory")
_PATH_KEYS = (
    "path", "file_path", "filePath", "filepath", "file", "filename", "file_name", "target_file",
    "notebook_path", "absolute_path", "relative_path", "relative_workspace_path", "dir",
    "directory", "folder", "root", "uri", "target", "source", "paths", "files", "old_path",
    "oldPath", "src", "from", "from_path", "source_path", "sourcePath", "file_paths",
    "filePaths", "filenames",
    "notebook", "document", "resource", "output_path", "outputPath", "output_file", "save_path",
    "module_path",
)  # fmt: skip
# A key of some tool's own that names a file: ``pathInProject``, ``test_file``, ``outputDir``.
_PATH_KEY = re.compile(
    r"(?:(?:[a-z]+|[a-zA-Z]+_)?(?:path|file|filename|dir|directory|folder|document)s?"
    r"|[a-z]+(?:Path|File|FileName|Dir|Directory|Folder|Document)s?)(?:_?[iI]n_?[A-Z]?\w+|_?name)?\Z"
)
# Keys that say what is to be done with the file that stands beside them.
_ALSO_TEXT = ("source", "src", "from", "target", "root", "document")  # keys that may hold no path
_VERB_KEYS = ("op", "operation", "action", "type", "method", "kind", "mode", "verb", "change_type")
_ADDRESS_KEYS = ("host", "hostname", "server", "address", "domain", "addr", "remote_host")
_CONTENT_KEYS = ("content", "contents", "file_text", "fileText", "new_source", "text", "body")
_OLD_KEYS = ("oldText", "old_string", "oldString", "old_str", "old_text", "search", "oldStr")
_NEW_KEYS = (
    "newText",
    "new_string",
    "newString",
    "new_str",
    "new_text",
    "replace",
    "newStr",
    "insert_text",
    "insert_line",
    "edits",
    "replacement",
)
_PATCH_KEYS = ("patch", "patchText", "patch_text", "diff", "input", "unified_diff")
_PATCH_KEY = re.compile(r"patch|diff", re.IGNORECASE)
_URL_KEYS = ("url", "urls", "uri", "href", "link")
_EDITOR_VERBS = (
    "view",
    "create",
    "str_replace",
    "insert",
    "undo_edit",
    "delete",
    "rename",
    "write",
    "read",
    "append",
)
_WRITING_NAME = re.compile(
    r"write|create|edit|save|append|patch|delete|remove|move|rename|insert|replace|update|put"
    r"|checkout|restore|revert|apply|undo|modify|refactor|rewrite|format_file|sed_file"
    r"|upload|unlink|truncate|chmod|chown|erase|trash|overwrite|unzip|set_?file",
    re.IGNORECASE,
)
_TEXT_KEYS = ("query", "regex", "prompt", "description", "message", "title", "reason", "thought")
_PROGRAM_KEYS = ("input", "js", "javascript", "expression", "snippet", "program", "function")
_RUNNING_NAME = re.compile(r"exec|eval|run|js|node|repl|console|script|code", re.IGNORECASE)
# A program that calls the harness's own shell tool: ``exec_command({cmd: "ls"})``.
_NESTED_COMMAND = re.compile(
    r"""\b(?:cmd|command)["']?\s*:\s*(["'`])((?:\\.|(?!\1)[^\\]){1,4096})\1""", re.DOTALL
)
_REMOTE_PLACE = re.compile(r"(?:[\w.-]+@)?(?:[\w-]+\.)+[a-z]{2,24}:[/~]")
_GLOBBING_NAME = re.compile(r"glob|find|list", re.IGNORECASE)
_MOVING_TARGETS = (
    "destination", "dest", "target", "to", "new_path", "newPath", "dst", "new_name", "to_path",
    "destination_path", "destinationPath", "target_path", "new_file_path",
)  # fmt: skip
_MOVING_NAME = re.compile(r"move|rename|mv\b", re.IGNORECASE)
_SHELL_NAME = re.compile(
    r"(?:.*[_.:-])?(?:ba|z)?sh(?:ell)?|terminal|(?:run_|exec(?:ute)?_)?(?:terminal_)?(?:cmd"
    r"|command)"
    r"|local_shell|execute_bash|exec_command|process|console",
    re.IGNORECASE,
)
_TERMINAL = re.compile(
    r"terminal|shell|bash|console|process|stdin|(?:\b|_)(?:term|tmux|pty|tty)(?:\b|_)",
    re.IGNORECASE,
)
_TYPED_KEYS = ("chars", "stdin", "keystrokes")
_STARTED_KEYS = ("program", "executable", "exe", "binary")
_JAVASCRIPT_NAME = re.compile(r"(?:\b|_)(?:js|javascript|node|deno|bun)(?:\b|_)", re.IGNORECASE)
_PYTHON_NAME = re.compile(
    r"python|jupyter|notebook|ipython|execute_code|code_interpreter", re.IGNORECASE
)
_BACKGROUND_KEYS = ("run_in_background", "background", "is_background", "isBackground", "detach")
_ENDING_NAME = re.compile(r"kill|terminate|signal|stop_?process|end_?process", re.IGNORECASE)
_ENDING_VERBS = ("kill", "terminate", "stop", "signal", "close")
_PROCESS_KEYS = (
    "pid", "process_id", "processId", "pids", "name", "process_name", "processName", "pattern",
    "session_id", "shell_id", "bash_id", "id", "process",
)  # fmt: skip
_OWNER_KEYS = ("owner", "org", "organization", "namespace", "user")
_REPOSITORY = re.compile(r"[\w.-]+/[\w.-]+\Z")


@dataclass(frozen=True, slots=True)
class Reading:
    """:ivar effects: what the ledger keeps of the call once it is let through.
    :ivar environment: environment variables that its programs use.
    """

    actions: tuple[Action, ...]
    effects: Effects
    environment: tuple[str, ...] = ()


def read_call(call: ToolCall, ledger: Ledger) -> Reading:
    """Everything the call would do; of malformed arguments, everything that any client might make
    of them, and their raw text besides.

    :raises Unjudgeable: the call is beyond a fixed limit.
    """
    if call.arguments is None and (reason := beyond_limits(call.raw)):
        raise Unjudgeable(reason)
    whole = (0, len(call.raw))
    if call.arguments is not None:
        rec, state = Recorder(whole), State(ledger)
        _Arguments(rec, state, call.name, _Spans(call.raw)).read(call.arguments, (), None)
        return Reading(tuple(rec.actions), state.effects(), tuple(state.environment))
    if (reading := _free_text(call, ledger)) is not None:
        return reading
    actions: dict[Action, None] = {Unparsed(text=call.raw, span=whole): None}
    effects = State(ledger).effects()
    environment: dict[str, None] = {}
    for arguments in repairs(call.raw):
        rec, state = Recorder(whole), State(ledger)
        _Arguments(rec, state, call.name, None).read(arguments, (), None)
        actions.update(dict.fromkeys(rec.actions))
        environment |= state.environment
        effects.files |= state.files
        effects.links |= state.links
    return Reading(tuple(actions), effects, tuple(environment))


def source_actions(ledger: Ledger, path: str, text: str) -> tuple[Action, ...]:
    """What a Python source would do when somebody runs or imports it; nothing where it is beyond
    a limit. Their spans mean nothing."""
    rec = Recorder((0, 0))
    try:
        run_python(rec, State(ledger), text, argv=[path])
    except Unjudgeable:
        return ()
    return tuple(rec.actions)


def _free_text(call: ToolCall, ledger: Ledger) -> Reading | None:
    """Of tools that take free text instead of an object: a patch, a command, a program."""
    raw = call.raw.strip()
    if not raw or raw[0] in '{"' or raw == "null":
        return None
    rec, state = Recorder((0, len(call.raw))), State(ledger)
    if raw[0] == "[":
        words = strict_list(call.raw)
        if words is None or not _is_texts(words) or not words:
            return None
        launch(rec, state, words, None)
    elif looks_like_patch(raw):
        follow_patch(rec, state, raw)
    elif _SHELL_NAME.fullmatch(call.name.strip()):
        run_shell(rec, state, raw, places=Places(call.raw.find(raw[0]), []))
    elif _PYTHON_NAME.search(call.name):
        run_python(rec, state, _without_magics(rec, state, raw))
    elif _RUNNING_NAME.search(call.name):
        _run_other(rec, state, raw)
    else:
        return None
    return Reading(tuple(rec.actions), state.effects(), tuple(state.environment))


def _run_other(rec: Recorder, state: State, code: str) -> None:
    """A program in a language of its own, and the commands that it gives to the harness's tools."""
    follow_other_code(rec, state, code)
    for _, command in _NESTED_COMMAND.findall(code):
        run_shell(rec, state.fork(), ansi_unescaped(command))


class _Spans:
    """Where string values stand in strict raw text; looked up only when something asks."""

    def __init__(self, raw: str) -> None:
        self.raw = raw

    @cached_property
    def of(self) -> dict[Path, Span]:
        return locate(self.raw)


class _Arguments:
    def __init__(self, rec: Recorder, state: State, name: str, spans: _Spans | None) -> None:
        self._rec = rec
        self._state = state
        self._name = name
        self._spans = spans
        self._whole = rec.span

    def read(self, args: Mapping[str, Any], at: Path, outer_path: str | None) -> None:
        """One object of arguments; ``outer_path`` is the file that an object around it named."""
        if len(at) > MAX_NESTING:
            raise Unjudgeable(f"arguments nested more than {MAX_NESTING} levels deep")
        for key in _FOLDER_KEYS:
            if isinstance(folder := args.get(key), str) and folder:
                self._mark(*at, key)
                self._rec.read(self._state, folder)
                self._state.cwd = self._state.path(folder)
        for key in ("env", "environment"):
            if isinstance(given := args.get(key), Mapping):
                self._state.variables.update({k: v for k, v in given.items() if isinstance(v, str)})
        path = self._files(args, at, outer_path)
        self._repository(args, at)
        self._process(args, at)
        if any(args.get(key) is True for key in _BACKGROUND_KEYS):
            with self._rec.background():
                self._members(args, at, path)
        else:
            self._members(args, at, path)

    def _members(self, args: Mapping[str, Any], at: Path, path: str | None) -> None:
        words = args.get("args", args.get("arguments"))
        for key, value in args.items():
            here = (*at, key)
            if key in _STARTED_KEYS and isinstance(value, str) and _is_texts(words):
                self._command([value, *words], here)
            elif key in _TYPED_KEYS and isinstance(value, str):
                self._typed(value, here)
            elif key in _SHELL_KEYS and not (path and value in _EDITOR_VERBS):
                if isinstance(value, str) and _is_texts(words):
                    self._command([value, *words], here)
                else:
                    self._command(value, here)
            elif key in _CODE_KEYS and isinstance(value, str):
                self._code(value, args, here)
            elif isinstance(value, str):
                self._string(key, value, here)
            elif isinstance(value, Mapping):
                self._by_path(value, here)
                self.read(value, here, path)
            elif isinstance(value, list):
                self._list(key, value, here, path)

    def _by_path(self, values: Mapping[str, Any], at: Path) -> None:
        """``{"changes": {"src/a.py": ...}}``: texts or edits by the files that they go into."""
        for name, value in values.items():
            place = "/" + name[7:].lstrip("/") if name[:7].lower() == "file://" else name
            if looks_like_path(place) and _WRITING_NAME.search(self._name):
                self._mark(*at, name)
                self._rec.write(self._state, place, value if isinstance(value, str) else None)

    def _mark(self, *path: str | int) -> None:
        if self._spans is not None:
            self._rec.span = self._spans.of.get(path, self._whole)

    def _repository(self, args: Mapping[str, Any], at: Path) -> None:
        """``owner`` and ``repo``: what tools for code hosts are given instead of an address."""
        name = args.get("repo", args.get("repository"))
        owner = next((args[k] for k in _OWNER_KEYS if isinstance(args.get(k), str)), None)
        if isinstance(name, str) and "://" not in name and (owner or _REPOSITORY.match(name)):
            self._mark(*at, "repo")
            self._rec.connect("gitlab.com" if "gitlab" in self._name.lower() else "github.com")

    def _process(self, args: Mapping[str, Any], at: Path) -> None:
        """Tools that end or signal a process, which they are told by number or name."""
        ends = _ENDING_NAME.search(self._name) or args.get("action") in _ENDING_VERBS
        for key in _PROCESS_KEYS if ends else ():
            value = args.get(key)
            for one in value if isinstance(value, list) else [value]:
                if isinstance(one, (str, int)):
                    self._mark(*at, key)
                    number = str(one).lstrip("-").isdigit()
                    self._rec.run(("kill" if number else "pkill", str(one)))

    # --- files ----------------------------------------------------------------------------------

    def _files(self, args: Mapping[str, Any], at: Path, outer_path: str | None) -> str | None:
        given = [k for k in _PATH_KEYS if isinstance(args.get(k), str) and _names_file(k, args[k])]
        given += [k for k, v in args.items() if k not in given and _is_path(k, v)]
        if given and given[0] in _ALSO_TEXT:
            given.sort(key=lambda k: not looks_like_path(args[k]))
        key = given[0] if given else None
        path = outer_path if key is None else str(args[key])
        if path is None:
            return None
        if path[:7].lower() == "file://":
            path = "/" + path[7:].lstrip("/")
        if "://" in path[:64]:
            if key not in _URL_KEYS:
                self._rec.connect(host_of_url(path), address=path)
            return None
        if key is not None:
            self._mark(*at, key)
        content = _first_string(args, _CONTENT_KEYS)
        old, new = _first_string(args, _OLD_KEYS), _first_string(args, _NEW_KEYS)
        verb = args.get("command")
        writes = (
            new is not None
            or any(k in args for k in _NEW_KEYS)
            or (content is not None and key is not None)
            or (key is not None and bool(_WRITING_NAME.search(self._name)))
            or verb in ("create", "str_replace", "insert", "delete", "rename", "write", "append")
            or (key is not None and any(_is_writing(args.get(k)) for k in _VERB_KEYS))
        )
        if writes and verb not in ("view", "read"):
            self._rec.write(self._state, path, self._new_text(path, args, content, old, new))
        elif key is not None:
            self._rec.read(self._state, path)
        for other in given[1:]:
            if other not in _MOVING_TARGETS and looks_like_path(args[other]):
                self._rec.read(self._state, args[other])
        for other in _MOVING_TARGETS:
            if other == key or not isinstance(target := args.get(other), str):
                continue
            if looks_like_path(target) or (key is not None and _WRITING_NAME.search(self._name)):
                known = self._state.text(self._state.path(path))
                self._rec.write(self._state, target, None if writes else known)
                if key is not None and _MOVING_NAME.search(self._name):
                    self._rec.remove(self._state, path)
        return path

    def _new_text(
        self,
        path: str,
        args: Mapping[str, Any],
        content: str | None,
        old: str | None,
        new: str | None,
    ) -> str | None:
        """The file's text after the call; of a file that nobody here has seen, the new pieces."""
        known = self._state.text(self._state.path(path))
        if content is not None and new is None:
            return (known or "") + content if "append" in self._name.lower() else content
        pairs = [(old, new)]
        if isinstance(edits := args.get("edits"), list):
            pairs += [
                (_first_string(edit, _OLD_KEYS), _first_string(edit, _NEW_KEYS))
                for edit in edits
                if isinstance(edit, Mapping)
            ]
        text = known or ""
        for before, after in pairs:
            if after is None:
                continue
            if before and before in text:
                text = text.replace(before, after)
            else:
                text = f"{text}\n{after}" if text else after
        return text or None

    # --- programs -------------------------------------------------------------------------------

    def _command(self, value: Any, here: Path) -> None:
        self._mark(*here)
        if isinstance(value, str) and here[-1] == "script" and _PYTHON_NAME.search(self._name):
            self._code(value, {}, here)
        elif (
            isinstance(value, str) and here[-1] == "script" and _JAVASCRIPT_NAME.search(self._name)
        ):
            _run_other(self._rec, self._state, value)
        elif isinstance(value, str):
            places = None
            told = self._spans is not None and len(value) <= MAX_SHELL
            if told and self._spans is not None and (span := self._spans.of.get(here)):
                places = places_in_string(self._spans.raw, span)
            run_shell(self._rec, self._state, value, places=places)
        elif isinstance(value, list):
            if value and _is_texts(value):
                if here[-1] == "commands":
                    for i, word in enumerate(value):
                        self._command(word, (*here, i))
                else:
                    launch(self._rec, self._state, value, None)
            else:
                for i, one in enumerate(value):
                    if isinstance(one, (str, list)):
                        self._command(one, (*here, i))
                    elif isinstance(one, Mapping):
                        self.read(one, (*here, i), None)
        elif isinstance(value, Mapping):
            self.read(value, here, None)

    def _typed(self, text: str, here: Path) -> None:
        """What is typed into something that runs: a shell, or Python's own prompt."""
        self._command(text, here)
        if "(" in text or "=" in text:
            lines = "\n".join(line.strip() for line in text.replace("\r", "\n").split("\n"))
            for program in (text, lines):
                if is_python(program):
                    run_python(self._rec, self._state.fork(), program)
                    return

    def _code(self, code: str, args: Mapping[str, Any], here: Path) -> None:
        self._mark(*here)
        language = str(args.get("language") or args.get("lang") or "python").lower()
        if language in ("bash", "sh", "shell", "zsh"):
            run_shell(self._rec, self._state, code)
        elif language.startswith(("py", "ipy")):
            run_python(self._rec, self._state, _without_magics(self._rec, self._state, code))
        else:
            follow_other_code(self._rec, self._state, code)

    # --- everything else ------------------------------------------------------------------------

    def _string(self, key: str, value: str, here: Path) -> None:
        if (key in _PATCH_KEYS or _PATCH_KEY.search(key)) and looks_like_patch(value):
            self._mark(*here)
            follow_patch(self._rec, self._state, value)
        elif key in _PROGRAM_KEYS and _RUNNING_NAME.search(self._name):
            self._mark(*here)
            if _SHELL_NAME.fullmatch(self._name):
                run_shell(self._rec, self._state, value)
            elif _PYTHON_NAME.search(self._name):
                run_python(self._rec, self._state, value)
            else:
                _run_other(self._rec, self._state, value)
        elif key in ("data", "line", "cmdline", "text", "keys", "input") and _TERMINAL.search(
            self._name
        ):
            self._typed(value, here)
        elif key in ("source", "cell", "cell_source") and not _names_file(key, value):
            self._mark(*here)
            if _RUNNING_NAME.search(self._name):
                run_python(self._rec, self._state, _without_magics(self._rec, self._state, value))
        elif key in _URL_KEYS:
            self._mark(*here)
            if value[:7].lower() == "file://":
                self._rec.read(self._state, "/" + value[7:].lstrip("/"))
            else:
                self._rec.connect(host_of_operand(value), address=value)
        elif key in _ADDRESS_KEYS and " " not in value:
            self._mark(*here)
            self._rec.connect(host_of_operand(value), address=value)
        elif key not in _PATH_KEYS and key not in _CONTENT_KEYS and len(value) <= 4096:
            if key in _FOLDER_KEYS or key in _OLD_KEYS or key in _NEW_KEYS or key in _TEXT_KEYS:
                return
            if key == "pattern" and not _GLOBBING_NAME.search(self._name):
                return  # a regular expression over contents
            if " " not in value and _REMOTE_PLACE.match(value):
                self._mark(*here)
                self._rec.connect(host_of_operand(value), address=value)
            elif host := host_of_url(value) if " " not in value else None:
                self._mark(*here)
                self._rec.connect(host, address=value)
            elif value.startswith(("/", "~/", "../", "./")) and looks_like_path(value):
                self._mark(*here)
                self._rec.read(self._state, value)

    def _list(self, key: str, values: Sequence[Any], here: Path, path: str | None) -> None:
        if key == "edits":  # read with their file, where they name none themselves
            for i, value in enumerate(values):
                if isinstance(value, Mapping) and any(map(value.get, _PATH_KEYS[:7])):
                    self.read(value, (*here, i), path)
            return
        for i, value in enumerate(values):
            if isinstance(value, Mapping):
                self.read(value, (*here, i), path)
            elif isinstance(value, str):
                if key in _PATH_KEYS and "://" not in value:
                    self._mark(*here, i)
                    if _WRITING_NAME.search(self._name):
                        self._rec.write(self._state, value)
                    else:
                        self._rec.read(self._state, value)
                else:
                    self._string(key, value, (*here, i))
            elif isinstance(value, list):
                self._list(key, value, (*here, i), path)


def _names_file(key: str, value: str) -> bool:
    """``source`` and its like also stand for text."""
    return bool(value) and "\n" not in value and not (key == "source" and "(" in value)


def _is_path(key: str, value: Any) -> bool:
    if key in _PATH_KEYS or key in _FOLDER_KEYS or not _PATH_KEY.fullmatch(key):
        return False
    return isinstance(value, str) and looks_like_path(value)


def _is_writing(verb: Any) -> bool:
    return isinstance(verb, str) and len(verb) <= 32 and bool(_WRITING_NAME.match(verb))


def _is_texts(value: Any) -> TypeGuard[list[str]]:
    return isinstance(value, list) and all(isinstance(one, str) for one in value)


def _first_string(args: Mapping[str, Any], keys: Sequence[str]) -> str | None:
    for key in keys:
        if isinstance(value := args.get(key), str):
            return value
    return None


def _without_magics(rec: Recorder, state: State, code: str) -> str:
    """Notebook code without ``!command`` and ``%magic`` lines; the commands are followed."""
    if "!" not in code and "%" not in code:
        return code
    kept: list[str] = []
    for line in code.split("\n"):
        bare = line.lstrip()
        if bare.startswith("!"):
            run_shell(rec, state, bare[1:])
        elif bare.startswith(("%%bash", "%%sh", "%%script")):
            run_shell(rec, state, code.partition("\n")[2])
            return ""
        elif bare.startswith(("%", "%%")):
            words = bare.lstrip("%").split(None, 1)
            if len(words) > 1 and words[0] in ("run", "cd", "pip", "sx", "system", "load"):
                run_shell(rec, state, bare.lstrip("%") if words[0] in ("cd", "pip") else words[1])
        else:
            kept.append(line)
            continue
        kept.append(f"{line[: len(line) - len(bare)]}pass")
    return "\n".join(kept)
