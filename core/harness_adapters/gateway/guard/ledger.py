"""What a session has done so far, as far as rules need to know it. Grows by O(new) per call."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from fnmatch import fnmatchcase
from itertools import islice
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

from harness_adapters.gateway.guard.actions import (
    Action,
    ConnectHost,
    ReadPath,
    RunCommand,
    WritePath,
)
from harness_adapters.gateway.guard.errors import Unjudgeable
from harness_adapters.gateway.guard.expectations import Expectations
from harness_adapters.gateway.guard.hosts import (
    PACKAGE_INDEXES,
    hosts_in,
    is_loopback,
    tidy_host,
)
from harness_adapters.gateway.guard.names import names
from harness_adapters.gateway.guard.policy_match import PolicyMatch
from harness_adapters.types import TaskPolicy

if TYPE_CHECKING:
    from harness_adapters.gateway.guard.calls import ToolCall

_MAX_FILE = 256 * 1024  # characters kept of one file
_MAX_FILES = 4 * 1024 * 1024  # characters kept of all files
_MAX_NAMES = 10_000  # files, links and hosts remembered at most
_MAX_PUT_TOGETHER = 4096  # characters of a file whose hosts are looked for when it is written
_MAX_ASKED = 256  # names and numbers of a question
_MAX_VARIABLES = 64 * 1024
_MAX_MESSAGE = 256 * 1024
# Sites that people call by name rather than by host.
_SITES = {
    "github": "github.com",
    "gitlab": "gitlab.com",
    "bitbucket": "bitbucket.org",
    "huggingface": "huggingface.co",
    "kaggle": "www.kaggle.com",
    "wikipedia": "en.wikipedia.org",
}
_SITE = re.compile(
    r"\b(github|gitlab|bitbucket|hugging ?face|kaggle|wikipedia)\b(?![./-])", re.IGNORECASE
)
_VARIABLE = re.compile(r"(?<![\w-])[A-Z][A-Z0-9]*_[A-Z0-9_]+(?![\w-])")
_PROJECT = re.compile(
    r"\b(?:package|library|project|module|crate|gem)\s+[`'\"]?([A-Za-z][\w.-]{2,63})[`'\"]"
    r"|[`'\"]([A-Za-z][\w.-]{2,63})[`'\"]\s+(?:package|library|project|module|crate|gem)\b"
)
# What makes a question this one: numbers, values in quotes, and names within a sentence.
_SPECIFIC = re.compile(
    r"\b\d{3,}\b|['\"`]([^\W\d_](?:[^\W_]|[ -]){2,40})['\"`]|(?<=[\w,;:(] )[^\W\d_a-z][\w'-]{2,40}"
)
_NO_NAMES = names(
    """
    january february march april june july august september october november december
    monday tuesday wednesday thursday friday saturday sunday
    csv tsv json jsonl sql sqlite xlsx excel parquet python pandas html xml yaml utf utc iso
    answer write give file round
    """
)
_WILD = re.compile(r"[*?\[]")
_SED_PRINTS = re.compile(r"(?:\d+|\$|/[^/]*/)?(?:,(?:\d+|\$|/[^/]*/))?[pq]")
_GIT_CONTENTS = names("log show diff grep blame stash cat-file archive annotate notes whatchanged")
_FORMAT = re.compile(
    r"--?(?:format|pretty|printf|printf?|write-out|template)\b|-w\Z|-printf\Z|-c\Z.*%"
)
_SENT = re.compile(r"--?(?:d|F|data[\w-]*|form[\w-]*|json|post-\w+|body-\w+)(?:=|\Z)|-d.|-F.")
# Options with which these say something that stands in no file.
_PUTS_IN = {
    "rg": ("-r", "--replace", "--field-", "--context-separator"), "grep": ("--label",),
    "cut": ("--output-delimiter",), "nl": ("-s", "--number-separator"), "tree": ("-H", "-T"),
    "ls": ("--time-style", "--hyperlink"), "diff": ("-L", "--label"), "du": ("--time-style",),
}  # fmt: skip
_NO_PROJECTS = names(
    """
    src lib tests test docs doc examples example scripts data repo work app build dist core utils
    bin include pkg packages plugins tools tmp .git node_modules venv site config workdir workspace
    project code testbed root home user input output package
    """
)
#: Tools of known harnesses (Claude Code, hermes, OpenHands) that keep one shell from call to call.
PERSISTENT_SHELLS = frozenset(("Bash", "terminal", "execute_bash"))
_PARTS = re.compile(r"(?<![\w/.-])[a-z]\w{1,40}(?:-\w{1,40}){1,4}(?![\w/-])")
_SNAKE = re.compile(r"\b[a-z]\w{1,40}_\w{1,40}\b")
_COMMIT = re.compile(r"\b[0-9a-f]{7,40}\b")
# A line of a log: ``5be2f91 (origin/main)``.
_ON_REMOTE = re.compile(
    r"\b([0-9a-f]{7,40}) \((?:origin|upstream)/[\w./-]{1,100}"
    r"(?:, (?:origin|upstream)/[\w./-]{1,100}){0,8}\)"
)
_PLUGIN = re.compile(
    r"\bpy\.?test (?:plugin|extension|hook|fixture)s?\b|\bpytest-[a-z]"
    r"|\b(?:plugin|extension)s?\b.{0,80}\bpy\.?test\b|\bpytest11\b"
    r"|\bpackaging\b|\bmetadata\b|\bentry[- ]?points?\b",
    re.IGNORECASE,
)
_MATCHERS = re.compile(
    r"\b(?:argument|asymmetric|wildcard)\s+match\w+|\bmock(?:s|ing)?\s+(?:library|framework)\b"
    r"|\banything\b\W{0,4}\s?matcher",
    re.IGNORECASE,
)
_RUNS_TESTS = re.compile(
    r"(?:python[\d.]* -m )?(?:pytest|unittest)\b"
    r"|(?:go|cargo|npm|pnpm|yarn|mvn|gradle|make) (?:-\w+ )?test\b"
)
# Programs that say what stands elsewhere and cannot be made to say anything else.
_TELLERS = names(
    """
    cat head tail less more grep egrep fgrep rg ag ls tree find fd stat file wc sort uniq nl cut cd
    pwd git curl wget pip pip3 npm cargo go jq zcat bzcat xzcat diff du bat man which sed gh hf
    """
)


class Ledger:
    """The facts of one session, kept up to date by the gateway and read by rules.

    :ivar policy: what the task allows.
    :ivar declared_tools: tool name -> wire schema, of the request at hand; ``None`` when a log
        does not say which tools were declared.
    :ivar cwd: the shell's working folder, absolute.
    :ivar home: what ``~`` and ``$HOME`` stand for.
    :ivar persistent_shell: whether the harness keeps one shell for the whole session; most start
        each command fresh in the working folder. Told by the tools that a request declares,
        unless it is given.
    :ivar variables: set by the session and still set in its shell.
    :ivar files: path -> text of files that the session wrote (``None``: in an unknown way).
    :ivar wrote_python: whether the session made a file that Python could import.
    :ivar not_kept: files that the session wrote and whose text was too much to keep.
    :ivar links: path of a link made in the session -> the path that it stands for.
    :ivar functions: shell functions and aliases of a persistent shell -> the text that made them.
    :ivar hosts: hosts that the model did not bring up itself -> who named them first:
        ``"system"``, ``"user"``, or ``"tool"`` for what a tool read or fetched.
    :ivar projects: names of the packages that the session works on: of folders in the workspace
        that its calls touch, and of what the user's text calls a package.
    :ivar expectations: what the tests that its calls looked at expect.
    :ivar named: names of environment variables that the system or user message spoke of.
    :ivar wants_matchers: whether the user asked for what equals everything: argument matchers, or a
        library of mocks.
    :ivar wants_plugin: whether the user spoke of a plugin of a test runner, or of how a package is
        declared.
    :ivar spoken: names of two or more parts in the user's text, as services and programs have,
        and commits in it, by seven digits.
    :ivar ahead: commits, by seven digits, that a log showed above ``HEAD``, on remote branches.
    :ivar asked: of a task that asks a question: names and numbers in the user's text, in lower
        case -> whether it is a name, rather than a number or a date.
    """

    def __init__(
        self,
        policy: TaskPolicy,
        *,
        persistent_shell: bool | None = None,
        home: str = "/home/agent",
    ) -> None:
        self.policy = policy
        self.declared_tools: Mapping[str, Mapping[str, Any]] | None = None
        self.cwd = policy.workdir
        self.home = home
        self.persistent_shell = bool(persistent_shell)
        self._shell_told = persistent_shell is not None
        self.variables: dict[str, str] = {}
        self.files: dict[str, str | None] = {}
        self.not_kept: dict[str, None] = {}
        self.links: dict[str, str] = {}
        self.functions: dict[str, str] = {}
        self.hosts: dict[str, str] = {}
        self.named: dict[str, None] = {}
        self.asked: dict[str, bool] = {}
        self.wants_matchers = False
        self.wants_plugin = False
        self.spoken: dict[str, None] = {}
        self.wrote_python = False
        self.expectations = Expectations()
        self.projects: dict[str, None] = {}
        self.ahead: dict[str, None] = {}
        self._planted: dict[str, None] = {}  # hosts that the model's own calls named first
        self._wrote_in: dict[str, None] = {}  # folders with files that the session wrote
        self._unknown_in: dict[str, None] = {}  # and those with files whose text is not known
        self._telling: dict[str, bool] = {}  # call id -> its result tells what is out there
        self._shows_tests: dict[str, bool] = {}  # call id -> its result shows protected files
        self._kept = 0
        self._match = PolicyMatch(policy)
        for name in _projects_of(policy):
            self.projects[name] = None

    # --- what the gateway tells -----------------------------------------------------------------

    def see_request(
        self,
        *,
        tools: Mapping[str, Mapping[str, Any]] | None,
        new_messages: Sequence[Mapping[str, Any]],
    ) -> None:
        """Take in one request: the tools it declares, and the messages that are new in it."""
        self.declared_tools = tools
        if not self._shell_told and tools:
            self.persistent_shell = not PERSISTENT_SHELLS.isdisjoint(tools)
        for message in new_messages:
            role = message.get("role")
            content = message.get("content")
            if role in ("system", "developer", "user"):
                by = "user" if role == "user" else "system"
                for text in _texts(content):
                    for host in hosts_in(text[:_MAX_MESSAGE], bare=True):
                        _note(self.hosts, host, by)
                    for site in _SITE.findall(text[:_MAX_MESSAGE]):
                        _note(self.hosts, _SITES[site.lower().replace(" ", "")], by)
                    for found in _PROJECT.finditer(text[:_MAX_MESSAGE]):
                        _note(self.projects, project_name(found.group(1) or found.group(2)), None)
                    for name in _VARIABLE.findall(text[:_MAX_MESSAGE]):
                        _note(self.named, name, None)
                    if self.is_task:
                        self.expectations.see(text)
                    if role == "user":
                        self._note_wish(text[:_MAX_MESSAGE])
            elif role == "tool":
                self._see_result(message)

    def _note_wish(self, text: str) -> None:
        for one in (*_PARTS.findall(text), *_SNAKE.findall(text)):
            _note(self.spoken, one, None)
        if self.is_task:
            self.expectations.give(text)
        for commit in _COMMIT.findall(text):
            _note(self.spoken, commit[:7], None)
        self.wants_matchers = self.wants_matchers or _MATCHERS.search(text) is not None
        self.wants_plugin = self.wants_plugin or _PLUGIN.search(text) is not None
        if self.policy.kind == "qa":
            self._note_question(text)

    def _note_question(self, text: str) -> None:
        for found in islice(_SPECIFIC.finditer(text), _MAX_ASKED - len(self.asked)):
            word = in_words(found.group(1) or found.group())
            self.asked.setdefault(word, not word.isdigit() and word not in _NO_NAMES)

    def _see_result(self, message: Mapping[str, Any]) -> None:
        texts = _texts(message.get("content"))
        if self.is_task:
            tests = self._shows_tests.pop(str(message.get("tool_call_id")), False)
            for text in texts:
                self.expectations.see(text, tests=tests)
                head = text.rfind("(HEAD", 0, _MAX_MESSAGE)
                for commit in _ON_REMOTE.findall(text, 0, max(head, 0)):
                    # One that stands below HEAD as well is of the past; one that the user named
                    # is to be looked at.
                    if text.find(commit[:7], head) < 0 and commit[:7] not in self.spoken:
                        _note(self.ahead, commit[:7], None)
        if self._telling.pop(str(message.get("tool_call_id")), False):
            for text in texts:
                for host in hosts_in(text[:_MAX_MESSAGE]):
                    if host not in self._planted:
                        _note(self.hosts, host, "tool")

    def commit(self, call: ToolCall) -> None:
        """Take in a call that was let through."""
        try:
            actions, effects = call.reading.actions, call.reading.effects
        except Unjudgeable:  # only with the guards off
            return
        self._plant(call.raw)
        for action in actions:
            if isinstance(action, ConnectHost):
                self._plant_host(action.host)
            elif isinstance(action, RunCommand):
                for word in action.words:
                    if "." in word:
                        self._plant(word.replace("/", " ") if "/" in word else word)
            elif isinstance(action, ReadPath | WritePath):
                for name in self._folders(action.path):
                    _note(self.projects, name, None)
        _note(self._telling, call.id, self._tells(actions))
        if any(isinstance(one, ReadPath) and self.is_protected(one.path) for one in actions):
            _note(self._shows_tests, call.id, True)
        for path, text in effects.files.items():
            self._keep(path, text)
        for link, target in effects.links.items():
            if len(self.links) < _MAX_NAMES:
                self.links[link] = target
        goes_on = self.persistent_shell or effects.typed
        if goes_on and sum(map(len, effects.functions.values())) <= _MAX_VARIABLES:
            self.functions = effects.functions
        if self.persistent_shell:
            self.cwd = effects.cwd
            if sum(map(len, effects.variables.values())) <= _MAX_VARIABLES:
                self.variables = effects.variables

    def _plant(self, text: str) -> None:
        """Hosts that the model names do not become known by being told back to it."""
        for host in hosts_in(text, bare=True):
            self._plant_host(host)
        if "\\" in text or "[.]" in text:  # as patterns name hosts
            for host in hosts_in(text.replace("[.]", ".").replace("\\", ""), bare=True):
                self._plant_host(host)
        if "%" in text:
            for host in hosts_in(unquote(text), bare=True):
                self._plant_host(host)

    def _plant_host(self, host: str) -> None:
        if host not in self.hosts:
            _note(self._planted, host, None)

    def _folders(self, path: str) -> list[str]:
        """Folders of the workspace that may be a package: the first two, down to a file."""
        if not path.startswith(self.policy.workdir + "/"):
            return []
        folders = path[len(self.policy.workdir) + 1 :].split("/")[:-1]
        return [
            project_name(name)
            for name in folders[:3]
            if name.replace("_", "").replace("-", "").isalnum() and name not in _NO_PROJECTS
        ]

    def _tells(self, actions: Sequence[Action]) -> bool:
        """Whether all that a call's result can say comes from files that the session did not write
        or from the net. What computes, decodes or repeats its own words launders."""
        told = False
        for action in actions:
            match action:
                case RunCommand(words=(("bash" | "sh" | "zsh"), ("-c" | "-lc"), _)):
                    continue  # what it is told to run stands here as well
                case RunCommand(words=words) if _RUNS_TESTS.match(" ".join(words[:3])):
                    # What is tested may say anything, but here nobody has written any of it yet.
                    if self.files or self.not_kept:
                        return False
                    told = True
                case RunCommand(words=words):
                    if words[0].rpartition("/")[2] not in _TELLERS or self._makes_up(words):
                        return False
                case ReadPath(path=path):
                    if self._wrote_unknown(path):
                        return False
                    told = True
                case ConnectHost(host=host):
                    # What serves on this machine may be its own, and what a host says that nobody
                    # named makes no other known.
                    if not self._trusts(host):
                        return False
                    told = True
                case _:
                    return False
        return told

    def _trusts(self, host: str) -> bool:
        bare = host.removeprefix("www.")
        if is_loopback(host):
            return False
        if bare in self.hosts or f"www.{bare}" in self.hosts or bare in PACKAGE_INDEXES:
            return True
        return any(fnmatchcase(bare, tidy_host(one)) for one in self.policy.allowed_hosts)

    def _makes_up(self, words: Sequence[str]) -> bool:
        """Whether a program that tells what is out there is told to say something else, or tells of
        what the session itself put there."""
        name = words[0].rpartition("/")[2]
        if any("\\" in word or "%x" in word for word in words):
            return True
        if name == "sed" and not any(_SED_PRINTS.fullmatch(word) for word in words[1:]):
            return True
        if name == "git":
            verb = next((word for word in words[1:] if word[:1] != "-"), "")
            shows = verb in _GIT_CONTENTS and bool(self.files or self.not_kept)
            return shows or any(_FORMAT.match(word) for word in words)
        if name in ("curl", "wget"):  # what is sent there may be what comes back
            return any(_SENT.match(word) or _FORMAT.match(word) for word in words)
        if name in _PUTS_IN:
            return any(word.startswith(_PUTS_IN[name]) for word in words[1:])
        if name in ("jq", "yq"):
            return any('"' in word or "@" in word or "+" in word for word in words[1:])
        return any(_FORMAT.match(word) for word in words)

    def _wrote_unknown(self, path: str) -> bool:
        """Whether the session made what stands there, or part of it, in a way that the text does
        not tell: the hosts in texts that it does tell count as the model's."""
        if path in self.files or path in self.not_kept or path.startswith("/tmp/"):
            return True
        folder = path.rpartition("/")[0]
        while len(folder) > 1:
            if folder in self.files or f"{folder}/**" in self.files:  # made as a whole
                return True
            folder = folder.rpartition("/")[0]
        if path in self._unknown_in:
            return True
        if _WILD.search(path):
            head = _WILD.split(path, maxsplit=1)[0].rpartition("/")[0]
            return head in self._unknown_in or head in self._wrote_in
        return False

    def _keep(self, path: str, text: str | None) -> None:
        folder = path.rpartition("/")[0]
        _note(self._wrote_in, folder, None)
        if text is not None:
            if len(text) <= _MAX_PUT_TOGETHER:  # a host may be put together from several calls
                self._plant(text)
        else:
            while folder and folder not in self._unknown_in:
                _note(self._unknown_in, folder, None)
                folder = folder.rpartition("/")[0]
        self._kept -= len(self.files.pop(path, None) or "")
        self.not_kept.pop(path, None)
        if text is not None and len(text) > _MAX_FILE:
            self._forget(path)
            return
        self.files[path] = text
        self.wrote_python = self.wrote_python or path.endswith(".py")
        self._kept += len(text or "")
        while self._kept > _MAX_FILES or len(self.files) > _MAX_NAMES:
            oldest = next(iter(self.files))
            gone = self.files.pop(oldest)
            self._kept -= len(gone or "")
            if gone:
                self._forget(oldest)

    def _forget(self, path: str) -> None:
        self.not_kept[path] = None
        if len(self.not_kept) > _MAX_NAMES:
            del self.not_kept[next(iter(self.not_kept))]

    # --- what rules ask -------------------------------------------------------------------------

    @property
    def is_task(self) -> bool:
        """Whether the session works on a task; daily use does not."""
        return self._match.is_task

    def verifier_root(self, path: str) -> str | None:
        """The verifier's root (``policy.protected_roots``) that a path of an action lies in."""
        return self._match.verifier_root(path)

    def is_editable(self, path: str) -> bool:
        return self._match.is_editable(path)

    def is_protected(self, path: str) -> bool:
        """Whether writing there changes a protected file of the workspace."""
        return self._match.is_protected(path)

    def protects(self, path: str) -> bool:
        """Whether the path must not be written: a verifier root or a protected file."""
        return self.verifier_root(path) is not None or self.is_protected(path)

    def named_protected(self, text: str) -> str | None:
        """A protected file that text which makes a program names."""
        return self._match.named_protected(text)

    def named_root(self, text: str) -> tuple[int, int] | None:
        """Where text that no grammar reads first names a verifier root; start and end in it."""
        return self._match.named_root(text)


def _projects_of(policy: TaskPolicy) -> list[str]:
    """What the task is about: its folder, and the packages and repositories it must not look up."""
    names = [policy.workdir.rstrip("/").rpartition("/")[2]]
    for source in policy.answer_sources:
        names.append(source.rstrip("/").rpartition("/")[2].rpartition(":")[2].removesuffix(".git"))
    return [project_name(name) for name in names if name and name not in _NO_PROJECTS]


def in_words(text: str) -> str:
    """The words of a text, in lower case and one space apart."""
    return " ".join(re.findall(r"\w+", text.lower()))


def project_name(name: str) -> str:
    """One spelling per package: as package indexes compare names."""
    return name.lower().replace("_", "-").replace(".", "-")


def _note(names: dict[str, Any], name: str, value: Any) -> None:
    if len(names) < _MAX_NAMES:
        names.setdefault(name, value)


def _texts(content: Any) -> list[str]:
    if isinstance(content, str):
        return [content]
    if isinstance(content, list):
        return [
            part["text"]
            for part in content
            if isinstance(part, Mapping) and isinstance(part.get("text"), str)
        ]
    return []
