"""What a task names as a source of its answer, and whether a call reaches for it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from urllib.parse import unquote

from harness_adapters import (
    ConnectHost,
    InstallPackage,
    ReadPath,
    RunCommand,
    ToolCall,
    WritePath,
)
from harness_adapters.gateway.guard.ledger import project_name

_INDEXES = frozenset(("pypi", "npm", "crates", "crate", "cargo", "gem", "rubygems", "go", "conda"))
_FOLDERS = frozenset(("datasets", "buckets", "models", "spaces", "competitions", "code", "repos"))
_MAX_TEXT = 64 * 1024
_HUB_TOOL = re.compile(r"kaggle|hugging|(?:\b|_)hf(?:\b|_)|dataset|\bhub\b", re.IGNORECASE)
_DOI = re.compile(r"\bdoi(?::|\.org/)", re.IGNORECASE)
_FETCH = re.compile(r"\b(?:download|fetch|get|look up|search|pull|clone|install|open|read|find)\b")
# ``Port OWNER/NAME's file over ours``: of a repository by its name.
_TAKES_OVER = re.compile(r"\b(?:copy|compare|port|sync|mirror|grab|replicate|see how|use)\b")
_OF_INDEX = re.compile(
    r"\b(?:pypi|pip|npm|crates?\.io|rubygems|package index|(?:latest|next|new\w*|that) release"
    r"|registry|tarball|sources?)\b"
)
# ``The fix is in upstream NAME (PR 12), get that diff from GitHub``.
_OF_UPSTREAM = re.compile(
    r"\bupstream\b[^\n]{0,200}?\b(?:github|gitlab|diff|patch|commit|pr|pull request|release|curl)\b"
)
_LONG_SITE = 7  # characters of a site's name that are no chance where blanks are left out
_SOLVED = re.compile(r"\b(?:solutions?|solved|solver|answers?|walkthrough|editorial|writeup)\b")
# What is forbidden, to the end of the clause.
_BANS = re.compile(
    r"\b(?:do not|don't|never|must not|mustn't|without|avoid|not)\b(?:[^,;:.\n]|\.(?=\S)){0,160}"
)
_TELLING = 4  # characters of a name that says enough by itself


@dataclass(frozen=True, slots=True)
class Source:
    """
    :ivar text: as the task names it.
    :ivar host: of an address, without ``www.``.
    :ivar slug: ``owner/name``, or a longer path where that is all there is.
    :ivar package: the name of a package.
    :ivar path: a place on this machine.
    :ivar part: the name of a part of some library, as its code calls it.
    """

    text: str
    host: str = ""
    slug: str = ""
    package: str = ""
    path: str = ""
    part: str = ""

    @property
    def record(self) -> re.Pattern[str] | None:
        """How a record of an archive is named by its number, other than by its page: ``zenodo
        record 771020``, ``10.5281/zenodo.771020``; ``None`` where the source is none."""
        number = self.slug.rpartition("/")[2]
        archive = self.host.removesuffix(".org").removesuffix(".com")
        if len(number) < 5 or not number.isdigit() or "." in archive:
            return None
        return re.compile(
            rf"\b{re.escape(archive)}\W(?:\W|records?|article|dataset){{0,4}}{number}\b"
        )


@lru_cache(1024)
def source(text: str) -> Source:
    """Read ``pypi:NAME``, ``LIBRARY:PART``, ``https://HOST/PATH``, ``HOST/PATH``, ``hf://KIND/OWNER/NAME``,
    ``OWNER/NAME``, ``/PATH`` or a bare name."""
    bare = text.strip().lower()
    if bare.startswith("/"):
        return Source(text, path=text.strip().rstrip("/"))
    scheme, colon, rest = bare.partition(":")
    if colon and not rest.startswith("//"):
        if scheme in _INDEXES:
            return Source(text, package=rest.strip("/"))
        if scheme.isidentifier() and "_" in rest and rest.isidentifier():
            return Source(text, part=rest)  # ``sklearn:load_iris``
        bare = rest
    hub = scheme in ("hf", "kaggle", "s3", "gs") and rest.startswith("//")
    bare = bare.split("://", 1)[-1].strip("/").removesuffix(".git")
    head, _, tail = bare.partition("/")
    host = "" if hub or "." not in head else head.removeprefix("www.")
    pieces = (tail if host else bare).split("/")
    while len(pieces) > 2 and pieces[0] in _FOLDERS:
        pieces = pieces[1:]
    slug = "/".join(pieces[:2]) if len(pieces) > 1 else ""
    if not host and not slug:
        return Source(text, package=bare)
    return Source(text, host=host, slug=slug or "/".join(p for p in pieces if p))


def reached(call: ToolCall, sources: Sequence[str]) -> Iterator[tuple[str, tuple[int, int]]]:
    """Every source that a call reaches for, with what it does and where."""
    connects, installs = call.of(ConnectHost), call.of(InstallPackage)
    text = _said(call) if connects else ""
    for one in map(source, sources):
        named = bool(connects) and _named_in(one, text)
        for connect in connects:
            if named or (_at_site(one, connect.host) and _told_by_site(one, text)):
                yield f"reaches {one.text}", connect.span
        name = one.package or one.slug.rpartition("/")[2]
        for install in installs:
            if name and project_name(install.name.rpartition("/")[2]) == project_name(name):
                yield f"installs {one.text}", install.span
        for read in call.of(ReadPath):
            if one.path and (read.path + "/").startswith(one.path + "/"):
                yield f"reads {read.path}", read.span
            elif one.slug and _cached(one.slug, read.path):
                yield f"reads {read.path}, a copy of {one.text}", read.span
        if one.record and _DOI.search(call.raw) and one.record.search(call.raw.lower()):
            yield f"asks for {one.text}", (0, len(call.raw))
        if one.part and re.search(rf"\b{one.part}\b", call.raw):
            yield f"takes {one.text}", (0, len(call.raw))
        if one.slug and not connects and _is_asked(call) and _asks_for(one, call):
            yield f"asks for {one.text}", (0, len(call.raw))


def _is_asked(call: ToolCall) -> bool:
    """Whether a tool that some server has is called, for what is not on this machine."""
    runs, writes = call.of(RunCommand), call.of(WritePath)
    return call.name.startswith("mcp") and not runs and not writes


def _asks_for(one: Source, call: ToolCall) -> bool:
    text = call.raw.lower()
    name = one.slug.rpartition("/")[2]
    of_hub = _HUB_TOOL.search(call.name) is not None and len(name) > _TELLING
    return _named(one.slug, text) or (of_hub and _named(name, text))


def _named(slug: str, text: str) -> bool:
    return re.search(rf"(?<![\w-]){re.escape(slug)}(?![\w-])", unquote(text)) is not None


def _cached(slug: str, path: str) -> bool:
    """Whether a path lies in a copy that a hub's client keeps: ``datasets--OWNER--NAME``."""
    if "cache" not in path and "--" not in path:
        return False
    bare = path.lower()
    if re.search(r"huggingface/hub/datasets--\*|huggingface/(?:hub|datasets)/\*\*?/", bare):
        return True  # whatever lies there, that too
    owner = slug.partition("/")[0]
    if re.search(rf"(?:datasets|models|spaces)--{re.escape(owner)}(?![\w-]*--)", bare):
        return True
    return f"/{slug}/" in bare.replace("--", "/") + "/"


def sought(query: str, sources: Sequence[str]) -> str | None:
    """The source that the words of a search name."""
    words = query.lower()
    for one in map(source, sources):
        name = one.package or one.slug.rpartition("/")[2]
        spread = re.sub(r"[-_]", r"[\\s_-]?", re.escape(name).replace(r"\-", "-"))
        if len(name) > 3 and re.search(rf"(?<![\w-]){spread}(?![\w-])", words):
            return one.text
        if one.record and one.record.search(words):
            return one.text
        # ``advent of code`` for adventofcode.com
        site = one.host.rpartition(".")[0].rpartition(".")[2]
        if (
            len(site) > _LONG_SITE
            and site in re.sub(r"[\s_-]+", "", words)
            and _SOLVED.search(words)
        ):
            return one.text
    return None


def ordered(prompt: str, sources: Sequence[str]) -> str | None:
    """The source that another agent is told to fetch."""
    text = _BANS.sub(" ", prompt.lower())
    fetches = _FETCH.search(text) is not None
    if not fetches and not _TAKES_OVER.search(text):
        return None
    for one in map(source, sources):
        project = one.slug.rpartition("/")[2]
        tells = len(project) > _TELLING and _named(project, text)
        if fetches and tells and _OF_UPSTREAM.search(text):
            return one.text
        by_name = fetches and one.package and _OF_INDEX.search(text) and _named(one.package, text)
        if (
            by_name
            or ("/" in one.slug and _named(one.slug, text))
            or (fetches and one.record and one.record.search(text))
        ):
            return one.text
    return None


def _said(call: ToolCall) -> str:
    """The call's text and the words that it becomes, in lower case and without ``%2F``."""
    addresses = [connect.address for connect in call.of(ConnectHost)]
    words = [word for run in call.of(RunCommand)[:64] for word in run.words[:64]]
    return unquote("\n".join([call.raw[:_MAX_TEXT], *addresses, *words])[: 2 * _MAX_TEXT]).lower()


def _named_in(one: Source, text: str) -> bool:
    """Whether a text names a repository by owner and name, or a package as part of an address."""
    if one.slug:
        return re.search(rf"(?<![\w-]){re.escape(one.slug)}(?![\w-])", text) is not None
    asked = rf"/{re.escape(one.package)}(?:[/@#?\"'\s.]|\Z)"
    return bool(one.package) and re.search(asked, text) is not None


def _at_site(one: Source, host: str) -> bool:
    bare = host.removeprefix("www.")
    return bool(one.host) and (bare == one.host or bare.endswith(f".{one.host}"))


def _told_by_site(one: Source, text: str) -> bool:
    """Whether reaching the source's site is enough, given what is said: owner and name apart."""
    owner, _, name = one.slug.partition("/")
    return not one.slug or (
        bool(name)
        and all(re.search(rf"['\"\s/=]{re.escape(part)}['\"\s/.]", text) for part in (owner, name))
    )
