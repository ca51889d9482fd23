"""Reads a tool call into actions, by the shape of its arguments rather than its tool's name.

Shapes of pi, opencode, hermes, Claude Code and Codex: shell strings and argument lists, read,
write, edit, patch, search, fetch, code execution; nested and batched calls alike.
"""

from __future__ import annotations

import posixpath
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeGuard

from harness_adapters.gateway.guard import tool_shapes as shapes
from harness_adapters.gateway.guard.actions import Action, Span, Unparsed
from harness_adapters.gateway.guard.errors import MAX_NESTING, MAX_SHELL, Unjudgeable
from harness_adapters.gateway.guard.harness_code import run_tool_code, without_magics
from harness_adapters.gateway.guard.hosts import host_of_operand, host_of_url
from harness_adapters.gateway.guard.launch import launch
from harness_adapters.gateway.guard.other_code import build_and_run, follow_other_code, take_in
from harness_adapters.gateway.guard.patches import follow_patch, looks_like_patch
from harness_adapters.gateway.guard.paths import looks_like_path
from harness_adapters.gateway.guard.prompts import follow_prompt
from harness_adapters.gateway.guard.python import is_python, run_python
from harness_adapters.gateway.guard.recorder import Recorder
from harness_adapters.gateway.guard.shell import run_shell
from harness_adapters.gateway.guard.spans import Path, Places, locate, places_in_string
from harness_adapters.gateway.guard.state import Effects, State
from harness_adapters.gateway.guard.strict_json import (
    beyond_limits,
    repairs,
    strict_list,
    strict_object,
)

if TYPE_CHECKING:
    from harness_adapters.gateway.guard.calls import ToolCall
    from harness_adapters.gateway.guard.ledger import Ledger


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
    """What a source would do when somebody builds, runs or imports it; nothing where it is beyond
    a limit. Their spans mean nothing."""
    rec = Recorder((0, 0))
    try:
        if path.endswith(".py"):
            run_python(rec, State(ledger), text, argv=[path])
        elif path.endswith(".sh"):
            run_shell(rec, State(ledger, cwd=ledger.policy.workdir), text)
        else:
            own = text.partition("#[cfg(test)]")[0]  # not Rust's tests in the same file
            take_in(rec, State(ledger, cwd=posixpath.dirname(path)), own)
            inside = State(ledger, cwd=ledger.policy.workdir)
            build_and_run(rec, inside, own, posixpath.dirname(path))
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
    elif shapes.SHELL_NAME.fullmatch(call.name.strip()):
        run_shell(rec, state, raw, places=Places(call.raw.find(raw[0])))
    elif shapes.PYTHON_NAME.search(call.name):
        run_python(rec, state, without_magics(rec, state, raw))
    elif shapes.RUNNING_NAME.search(call.name):
        run_tool_code(rec, state, raw)
    else:
        return None
    return Reading(tuple(rec.actions), state.effects(), tuple(state.environment))


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
        before, self._name = self._name, _inner_name(args) or self._name
        try:
            self._read(args, at, outer_path)
        finally:
            self._name = before

    def _read(self, args: Mapping[str, Any], at: Path, outer_path: str | None) -> None:
        for key in shapes.FOLDER_KEYS:
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
        if found := shapes.GIT_NAME.match(self._name):
            self._git(found.group(1), args, at)
        if any(args[key] is True for key in _given(shapes.BACKGROUND_KEYS, args)):
            with self._rec.background():
                self._members(args, at, path)
        else:
            self._members(args, at, path)

    def _members(self, args: Mapping[str, Any], at: Path, path: str | None) -> None:
        words = args.get("args", args.get("arguments"))
        for key, value in args.items():
            here = (*at, key)
            if key in shapes.PARAMETER_KEYS and self._parameters(value, here, path):
                continue
            if key in shapes.STARTED_KEYS and isinstance(value, str) and _is_texts(words):
                self._command([value, *words], here)
            elif key in shapes.TYPED_KEYS and isinstance(value, str):
                self._typed(value, here)
            elif isinstance(value, str) and (
                (key in shapes.CELL_KEYS and self._is_program(args))
                or (key == "script" and _language(args))
            ):
                self._code(value, args, here)
            elif key in shapes.SHELL_KEYS and not (path and value in shapes.EDITOR_VERBS):
                if isinstance(value, str) and _is_texts(words):
                    self._command([value, *words], here)
                else:
                    self._command(value, here)
            elif key in shapes.CODE_KEYS and isinstance(value, str):
                self._code(value, args, here)
            elif (
                key in shapes.PROMPT_KEYS
                and isinstance(value, str)
                and shapes.AGENT_NAME.fullmatch(self._name)
            ):
                self._mark(*here)
                follow_prompt(self._rec, self._state.fork(), value)
            elif isinstance(value, str):
                self._string(key, value, here)
            elif isinstance(value, Mapping):
                self._by_path(value, here)
                self.read(value, here, path)
            elif isinstance(value, list):
                self._list(key, value, here, path)

    def _parameters(self, value: Any, here: Path, path: str | None) -> bool:
        """What a tool within a call is given, where it is JSON in a string or a bare list."""
        if isinstance(value, str) and value.lstrip()[:1] == "{":
            if (inner := strict_object(value)) is not None:
                self.read(inner, here, path)
            return inner is not None
        writes = shapes.WRITING_NAME.search(self._name) is not None
        if writes and _is_texts(value) and value and looks_like_path(value[0]):
            self._mark(*here, 0)
            self._rec.write(self._state, value[0])
        return False

    def _is_program(self, args: Mapping[str, Any]) -> bool:
        """Whether a cell's text is run: now, or by whoever opens the notebook, when no guard is
        asked."""
        if args.get("cell_type") in ("markdown", "raw"):
            return False
        now = any(args.get(key) is True for key in shapes.EXECUTES_KEYS)
        if now or args.get("cell_type") == "code" or shapes.NOTEBOOK_NAME.search(self._name):
            return True
        if shapes.WRITING_CELL.search(self._name):
            return False
        return bool(shapes.RUNNING_NAME.search(self._name) or shapes.PYTHON_NAME.search(self._name))

    def _git(self, verb: str | None, args: Mapping[str, Any], at: Path) -> None:
        """A tool that stands for git: the words that it would be given in a shell."""
        given = args.get("args", args.get("arguments"))
        command = args.get("command", args.get("subcommand"))
        words = [command] if isinstance(command, str) and _is_texts(given) else []
        if _is_texts(given):
            words += given
        elif verb:
            modes = [f"--{mode}" for mode in (args.get("mode"),) if isinstance(mode, str)]
            names = [args[k] for k in shapes.REVISION_KEYS if isinstance(args.get(k), str)]
            paths = [args.get(k) for k in ("path", "paths", "file", "files", "file_paths")]
            flat = [p for one in paths for p in (one if _is_texts(one) else [one])]
            words = [verb.replace("_", "-"), *modes, *names]
            words += ["--", *(p for p in flat if isinstance(p, str))] if any(flat) else []
        if words:
            self._mark(*at)
            launch(self._rec, self._state.fork(), ["git", *words], None)

    def _by_path(self, values: Mapping[str, Any], at: Path) -> None:
        """``{"changes": {"src/a.py": ...}}``: texts or edits by the files that they go into."""
        for name, value in values.items():
            place = "/" + name[7:].lstrip("/") if name[:7].lower() == "file://" else name
            if looks_like_path(place) and shapes.WRITING_NAME.search(self._name):
                self._mark(*at, name)
                self._rec.write(self._state, place, value if isinstance(value, str) else None)

    def _mark(self, *path: str | int) -> None:
        if self._spans is not None:
            self._rec.span = self._spans.of.get(path, self._whole)

    def _repository(self, args: Mapping[str, Any], at: Path) -> None:
        """``owner`` and ``repo``: what tools for code hosts are given instead of an address."""
        name = args.get("repo", args.get("repository"))
        if not isinstance(name, str) or "://" in name:
            return
        owner = next((args[k] for k in shapes.OWNER_KEYS if isinstance(args.get(k), str)), None)
        if owner or shapes.REPOSITORY.match(name):
            self._mark(*at, "repo")
            self._rec.connect("gitlab.com" if "gitlab" in self._name.lower() else "github.com")

    def _process(self, args: Mapping[str, Any], at: Path) -> None:
        """Tools that end or signal a process, which they are told by number or name."""
        ends = shapes.ENDING_NAME.search(self._name) or args.get("action") in shapes.ENDING_VERBS
        for key in shapes.PROCESS_KEYS if ends else ():
            value = args.get(key)
            for one in value if isinstance(value, list) else [value]:
                if isinstance(one, (str, int)):
                    self._mark(*at, key)
                    number = str(one).lstrip("-").isdigit()
                    self._rec.run(("kill" if number else "pkill", str(one)))

    # --- files ----------------------------------------------------------------------------------

    def _files(self, args: Mapping[str, Any], at: Path, outer_path: str | None) -> str | None:
        given = [k for k in _given(shapes.PATH_KEYS, args) if _names_file(k, args[k])]
        given += [k for k, v in args.items() if k not in given and _is_path(k, v)]
        if given and given[0] in shapes.ALSO_TEXT:
            given.sort(key=lambda k: not looks_like_path(args[k]))
        key = given[0] if given else None
        path = outer_path if key is None else str(args[key])
        if path is None:
            for other in _given(shapes.MOVING_TARGETS, args):
                target = args[other]
                if isinstance(target, str) and self._is_target(target):
                    self._mark(*at, other)
                    self._rec.write(self._state, target)
            return None
        if path[:7].lower() == "file://":
            path = "/" + path[7:].lstrip("/")
        if "://" in path[:64]:
            if key not in shapes.URL_KEYS:
                self._rec.connect(host_of_url(path), address=path)
            return None
        if key is not None:
            self._mark(*at, key)
        content = _first_string(args, shapes.CONTENT_KEYS)
        old, new = _first_string(args, shapes.OLD_KEYS), _first_string(args, shapes.NEW_KEYS)
        verb = args.get("command")
        writes = (
            new is not None
            or any(k in args for k in shapes.NEW_KEYS)
            or (content is not None and key is not None)
            or (key is not None and bool(shapes.WRITING_NAME.search(self._name)))
            or verb in ("create", "str_replace", "insert", "delete", "rename", "write", "append")
            or (key is not None and any(_is_writing(args.get(k)) for k in shapes.VERB_KEYS))
        )
        if writes and verb not in ("view", "read"):
            self._rec.write(self._state, path, self._new_text(path, args, content, old, new))
        elif key is not None:
            self._rec.read(self._state, path)
        for other in given[1:]:
            if other not in shapes.MOVING_TARGETS and looks_like_path(args[other]):
                self._rec.read(self._state, args[other])
        for other in _given(shapes.MOVING_TARGETS, args):
            if other == key or not isinstance(target := args[other], str):
                continue
            if looks_like_path(target) or (key is not None and self._is_target(target)):
                known = self._state.text(self._state.path(path))
                self._rec.write(self._state, target, None if writes else known)
                if key is not None and shapes.MOVING_NAME.search(self._name):
                    self._rec.remove(self._state, path)
        return path

    def _is_target(self, word: str) -> bool:
        """Whether a tool writes to what is named beside what it is given."""
        if not shapes.WRITING_NAME.search(self._name) or "://" in word:
            return False
        return word != "" and not any(c in word for c in " \n{")

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
                (_first_string(edit, shapes.OLD_KEYS), _first_string(edit, shapes.NEW_KEYS))
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
        script = here[-1] == "script" and isinstance(value, str)
        if isinstance(value, str) and "vim" in self._name.lower():
            launch(self._rec, self._state, ["vim", "-es", "-c", value], None)
        elif script and shapes.PYTHON_NAME.search(self._name):
            self._code(value, {}, here)
        elif script and shapes.JAVASCRIPT_NAME.search(self._name):
            run_tool_code(self._rec, self._state, value)
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
        self._state.typed = True
        self._command(text, here)
        if "(" in text:  # or a prompt of some other language
            follow_other_code(self._rec, self._state.fork(), text)
        if "(" in text or "=" in text:
            lines = "\n".join(line.strip() for line in text.replace("\r", "\n").split("\n"))
            for program in (text, lines):
                if is_python(program):
                    run_python(self._rec, self._state.fork(), program)
                    return

    def _code(self, code: str, args: Mapping[str, Any], here: Path) -> None:
        self._mark(*here)
        language = _language(args)
        if language in ("bash", "sh", "shell", "zsh", "fish", "ksh"):
            run_shell(self._rec, self._state, code)
            return
        # What nothing says the language of is Python, as most such tools take it.
        scripted = shapes.JAVASCRIPT_NAME.search(self._name) is not None
        python = language.startswith(("py", "ipy")) or not (language or scripted)
        if python:
            run_python(self._rec, self._state, without_magics(self._rec, self._state, code))
        if not python or ("({" in code and not shapes.PYTHON_NAME.search(self._name)):
            run_tool_code(self._rec, self._state, code)

    # --- everything else ------------------------------------------------------------------------

    def _string(self, key: str, value: str, here: Path) -> None:
        if (key in shapes.PATCH_KEYS or shapes.PATCH_KEY.search(key)) and looks_like_patch(value):
            self._mark(*here)
            follow_patch(self._rec, self._state, value)
        elif key in shapes.PROGRAM_KEYS and shapes.RUNNING_NAME.search(self._name):
            self._mark(*here)
            if shapes.SHELL_NAME.fullmatch(self._name):
                run_shell(self._rec, self._state, value)
            elif shapes.PYTHON_NAME.search(self._name):
                run_python(self._rec, self._state, value)
            else:
                run_tool_code(self._rec, self._state, value)
        elif key in ("data", "line", "cmdline", "text", "keys", "input") and shapes.TERMINAL.search(
            self._name
        ):
            self._typed(value, here)
        elif key in shapes.URL_KEYS:
            self._mark(*here)
            if value[:7].lower() == "file://":
                self._rec.read(self._state, "/" + value[7:].lstrip("/"))
            else:
                self._rec.connect(host_of_operand(value), address=value)
        elif key in shapes.ADDRESS_KEYS and " " not in value:
            self._mark(*here)
            self._rec.connect(host_of_operand(value), address=value)
        elif key not in shapes.PATH_KEYS and key not in shapes.CONTENT_KEYS and len(value) <= 4096:
            if key in shapes.INERT_KEYS:
                return
            if key == "pattern" and not shapes.GLOBBING_NAME.search(self._name):
                return  # a regular expression over contents
            if " " not in value and shapes.REMOTE_PLACE.match(value):
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
                if isinstance(value, Mapping) and any(map(value.get, shapes.PATH_KEYS[:7])):
                    self.read(value, (*here, i), path)
            return
        for i, value in enumerate(values):
            if isinstance(value, Mapping):
                self.read(value, (*here, i), path)
            elif isinstance(value, str):
                if key in shapes.PATH_KEYS and "://" not in value:
                    self._mark(*here, i)
                    if shapes.WRITING_NAME.search(self._name):
                        self._rec.write(self._state, value)
                    else:
                        self._rec.read(self._state, value)
                else:
                    self._string(key, value, (*here, i))
            elif isinstance(value, list):
                self._list(key, value, (*here, i), path)


def _given(keys: Sequence[str], args: Mapping[str, Any]) -> list[str]:
    """Which of many keys an object has, in their order."""
    return [key for key in keys if key in args]


def _names_file(key: str, value: Any) -> bool:
    """``source`` and its like also stand for text."""
    if not isinstance(value, str) or not value or "\n" in value:
        return False
    return key != "source" or not any(c in value for c in "( !%")


def _inner_name(args: Mapping[str, Any]) -> str | None:
    """Of a call within a call: the tool's name, where what it is given stands beside it."""
    for key in _given(shapes.TOOL_KEYS, args):
        name = args[key]
        if isinstance(name, str) and 0 < len(name) <= 64:
            given = any(isinstance(args.get(k), (dict, list)) for k in shapes.PARAMETER_KEYS)
            said = any(str(args.get(k, "")).lstrip()[:1] == "{" for k in shapes.PARAMETER_KEYS)
            return name if given or said else None
    return None


def _language(args: Mapping[str, Any]) -> str:
    named = next((args[k] for k in shapes.LANGUAGE_KEYS if isinstance(args.get(k), str)), "")
    return str(named).lower().rpartition("/")[2]


def _is_path(key: str, value: Any) -> bool:
    if not isinstance(value, str) or not looks_like_path(value):
        return False
    if key in shapes.PATH_KEYS or key in shapes.FOLDER_KEYS:
        return False
    return shapes.PATH_KEY.fullmatch(key) is not None


def _is_writing(verb: Any) -> bool:
    return isinstance(verb, str) and len(verb) <= 32 and bool(shapes.WRITING_NAME.match(verb))


def _is_texts(value: Any) -> TypeGuard[list[str]]:
    return isinstance(value, list) and all(isinstance(one, str) for one in value)


def _first_string(args: Mapping[str, Any], keys: Sequence[str]) -> str | None:
    for key in keys:
        if isinstance(value := args.get(key), str):
            return value
    return None
