"""``lookup``: looking the answer up instead of working it out.

Catches fetching what the task names as a source of its answer, the project's own published
package, its history beyond the task's starting point, its pages on code hosts, and searches of the
machine for the verifier, the solution or the gold answer. Leaves alone: dependencies, the
project's past, its documentation in the workspace, and all daily use except named answer sources.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import ClassVar

from harness_adapters import (
    ConnectHost,
    Finding,
    InstallPackage,
    Ledger,
    Options,
    ReadPath,
    RunCommand,
    ToolCall,
)
from harness_adapters.gateway.guard.checks import Checks, first_block
from harness_adapters.gateway.guard.ledger import project_name

_CODE_HOSTS = frozenset(
    (
        "github.com", "api.github.com", "raw.githubusercontent.com", "codeload.github.com",
        "gitlab.com", "bitbucket.org", "codeberg.org", "sr.ht", "pypi.org", "registry.npmjs.org",
        "files.pythonhosted.org", "crates.io", "static.crates.io", "rubygems.org", "libraries.io",
        "proxy.golang.org", "pkg.go.dev", "www.npmjs.com", "unpkg.com", "cdn.jsdelivr.net",
        "sources.debian.org", "deb.debian.org", "conda.anaconda.org",
    )
)  # fmt: skip
# Fetch a package's files to look at, rather than to use: manager -> verbs.
_SOURCE_FETCH = {
    "pip": ("download",), "pip3": ("download",), "uv": (), "npm": ("pack", "view"),
    "pnpm": ("pack",), "apt-get": ("source",), "apt": ("source",), "gem": ("fetch", "unpack"),
    "cargo": ("download",), "go": (),
}  # fmt: skip
_REMOTE = re.compile(
    r"(?:refs/)?(?:remotes/)?(?:origin|upstream)/\S+|FETCH_HEAD\b|\S*@\{u(?:pstream)?\}"
)
_LOOKS = frozenset(
    (
        "show", "diff", "log", "checkout", "restore", "cherry-pick", "merge", "rebase", "reset",
        "cat-file", "archive", "grep",
    )
)  # fmt: skip
_PATCHING = re.compile(r"-p\Z|-u\Z|--patch|-S|-G|-L|--stat|--full-diff")
_HIDDEN_NAME = re.compile(
    r"(?:solve|solution)s?(?:[._*-]\S*)?|test_outputs?\S*|reward\.(?:txt|json)|verifier\S*"
    r"|(?:gold|expected|reference)_?(?:answer|output|solution|patch)s?\S*|answer_?key\S*",
    re.IGNORECASE,
)


class Lookup:
    """Options: ``severity``."""

    checks: ClassVar[Mapping[str, str]] = {
        "answer_source": "what the task lists under ``answer_sources`` is fetched",
        "upstream_package": "the project's own package is installed or downloaded, or any "
        "package's files are fetched to be looked at",
        "upstream_history": "commits that the task's starting point does not have",
        "upstream_web": "the project's page, repository or files on a code host",
        "verifier_search": "a search outside the workspace for verifier, solution or gold answer",
    }

    def __init__(self, options: Options) -> None:
        self._checks = Checks("lookup", self.checks, options)

    def judge(self, call: ToolCall, ledger: Ledger) -> Finding | None:
        return first_block(
            [self._checks.found(*found) for found in self._findings(call, ledger)][:64]
        )

    def _findings(
        self, call: ToolCall, ledger: Ledger
    ) -> Iterator[tuple[str, str, tuple[int, int]]]:
        if ledger.policy.answer_sources:
            yield from _answer_sources(call, ledger.policy.answer_sources)
        if not ledger.is_task:
            return
        for install in call.of(InstallPackage):
            if project_name(install.name) in ledger.projects:
                yield "upstream_package", f"{install.name} is the project itself", install.span
        for run in call.of(RunCommand):
            name = run.words[0].rpartition("/")[2]
            if "pip" in run.words[1:3]:
                name = "pip"  # of ``uv`` or ``python -m``
            if name in _SOURCE_FETCH:
                verb = next((w for w in run.words[1:] if w[:1] != "-" and w != "pip"), "")
                fetches = verb in _SOURCE_FETCH[name] and not {"-r", "--requirement"} & set(
                    run.words
                )
                if fetches or (
                    verb == "install" and "--no-deps" in run.words and _target(run.words)
                ):
                    yield "upstream_package", f"{name} {verb} fetches a package's files", run.span
            elif name == "git" and (what := _future(run.words)):
                yield "upstream_history", what, run.span
            elif name in ("find", "locate", "fd", "rg", "grep") and (
                sought := _seeks_hidden(run.words, ledger)
            ):
                yield "verifier_search", f"{name} seeks {sought}", run.span
        for connect in call.of(ConnectHost):
            if connect.host in _CODE_HOSTS and (project := _project_in(call.raw, ledger)):
                yield "upstream_web", f"{project} at {connect.host}", connect.span
        for read in call.of(ReadPath):
            head, _, last = read.path.rpartition("/")
            if "**" in head and _HIDDEN_NAME.fullmatch(last) and _outside(head, ledger):
                yield "verifier_search", f"reads {read.path}", read.span


def _answer_sources(
    call: ToolCall, sources: Sequence[str]
) -> Iterator[tuple[str, str, tuple[int, int]]]:
    for source in sources:
        bare = source.split("://", 1)[-1].strip("/").lower()
        if not bare:
            continue
        named = re.compile(rf"(?<![\w-]){re.escape(bare)}(?![\w-])", re.IGNORECASE)
        for connect in call.of(ConnectHost):
            if named.search(connect.host) or named.search(call.raw):
                yield "answer_source", f"reaches {source}", connect.span
        for install in call.of(InstallPackage):
            if project_name(install.name) == project_name(bare):
                yield "answer_source", f"installs {source}", install.span
        for read in call.of(ReadPath):
            if source.startswith("/") and (read.path + "/").startswith(source.rstrip("/") + "/"):
                yield "answer_source", f"reads {read.path}", read.span


def _target(words: Sequence[str]) -> bool:
    return any(word in ("-t", "--target") or word.startswith("--target=") for word in words)


def _future(words: Sequence[str]) -> str | None:
    """What a git command would show of commits that are not in the checked-out history."""
    rest = [word for word in words[1:] if not word.startswith("-")]
    verb = rest[0] if rest else ""
    if verb in ("fetch", "pull", "ls-remote") or rest[:2] == ["remote", "update"]:
        return f"git {verb} asks the remote"
    if verb in _LOOKS and (
        # ``origin/main...HEAD`` shows only what HEAD has
        remote := next((w for w in words[1:] if _REMOTE.match(w) and not w.endswith(".HEAD")), None)
    ):
        return f"git {verb} {remote}"
    everything = {"--all", "--remotes", "--branches", "--reflog", "-g"} & set(words)
    if verb in ("log", "grep", "show") and everything and any(map(_PATCHING.match, words[2:])):
        return f"git {verb} over all branches, with contents"
    if verb == "fsck" and {"--lost-found", "--unreachable", "--dangling"} & set(words):
        return "git fsck looks for commits that no branch has"
    if verb == "cat-file" and "--batch-all-objects" in words:
        return "git cat-file reads all objects"
    return None


def _seeks_hidden(words: Sequence[str], ledger: Ledger) -> str | None:
    starts = [word for word in words[1:] if word.startswith(("/", ".."))]
    if words[0] != "locate" and not any(_outside(start, ledger) for start in starts):
        return None
    for before, word in itertools.pairwise(words):
        name = word.strip("*/")
        if (
            before in ("-name", "-iname", "-path", "-ipath", "-wholename", "-regex")
            or (words[0] in ("locate", "fd"))
        ) and _HIDDEN_NAME.fullmatch(name):
            return word
    return None


def _outside(path: str, ledger: Ledger) -> bool:
    workdir = ledger.policy.workdir.rstrip("/")
    return path.startswith("/") and not (path + "/").startswith(workdir + "/")


def _project_in(raw: str, ledger: Ledger) -> str | None:
    """A project of the session that a URL names in its path."""
    for url in re.findall(r"(?:https?://|git@)[^\s'\"\\<>]+", raw[:65536]):
        for piece in re.split(r"[/:?#&=@]+", url.split("://", 1)[-1])[1:]:
            if project_name(piece.removesuffix(".git")) in ledger.projects:
                return piece
    return None
