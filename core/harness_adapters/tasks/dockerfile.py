"""The part of a Dockerfile that needs no Docker: which files lie where, and where work starts."""

from __future__ import annotations

import fnmatch
import json
import posixpath
import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from harness_adapters.errors import BrokenTask
from harness_adapters.tasks.contents import read_text

MAX_BYTES = 256 * 1024
# They describe how a container is started, not what is in it.
_NO_EFFECT = frozenset(
    {"CMD", "ENTRYPOINT", "EXPOSE", "HEALTHCHECK", "LABEL", "MAINTAINER", "STOPSIGNAL", "USER"}
)
# A sandbox has its own: putting a task's files over them would hide programs or a verdict.
_PROGRAMS = frozenset({"bin", "lib", "lib32", "lib64", "libx32", "sbin", "usr"})
_HARBOR = frozenset({"logs", "solution", "tests"})
_TAKEN = _PROGRAMS | _HARBOR | {"boot", "dev", "etc", "proc", "run", "sys"}
# Everything of a task belongs to the one user that its sandbox has.
_OWNERS = frozenset({"adduser", "addgroup", "chown", "groupadd", "useradd", "true"})
_PIP = (["pip", "install"], ["pip3", "install"], ["python3", "-m", "pip", "install"])


@dataclass(frozen=True, slots=True, kw_only=True)
class Image:
    """What a Dockerfile says about the workspace.

    :param name: of an image that has all this, made elsewhere; empty for none.
    :param needed: why only that image will do; empty when the rest says what there is.
    :param files: path inside -> file or folder on the host (a folder stands for what it holds).
    :param folders: those that must be there, empty or not.
    """

    name: str = ""
    needed: str = ""
    workdir: str = ""
    files: dict[str, Path] = field(default_factory=dict[str, Path])
    folders: tuple[str, ...] = ()
    environment: dict[str, str] = field(default_factory=dict[str, str])


class NeedsDocker(BrokenTask):
    """Only a container engine can tell what the workspace holds. The message says why."""


def read_dockerfile(path: Path, *, tests: bool = False) -> Image:
    """Read ``FROM``, ``WORKDIR``, ``ENV``, ``ARG``, ``COPY`` of files in the build context, and
    of ``RUN`` what a sandbox can do without an engine: ``mkdir``; ``chown`` and new users, since
    all belongs to one user; ``pip install pytest``, which a sandbox has, if in another version.

    :param tests: it describes a verifier's image, which may fill ``/tests``.
    :raises NeedsDocker: ``needs docker: RUN apt-get at line 3`` for what only a container engine
        can carry out.
    :raises BrokenTask: it makes no sense, or a path leaves the build context.
    """
    reader = _Reader(path, tests=tests)
    for line, word, rest in _instructions(read_text(path, max_bytes=MAX_BYTES)):
        reader.take(line, word, rest)
    environment = reader.environment
    environment.pop("PATH", None)  # where the image's programs are; a sandbox has others
    return Image(
        workdir=reader.workdir,
        files=reader.files,
        folders=tuple(reader.folders),
        environment=environment,
    )


def last_workdir(path: Path) -> str:
    """Where work starts, also in an image that only an engine can make; empty if it does not say.

    :raises BrokenTask: it starts where a sandbox has files of its own.
    """
    reader = _Reader(path, tests=False)
    for line, word, rest in _instructions(read_text(path, max_bytes=MAX_BYTES)):
        if word == "FROM":
            reader.workdir = ""
        elif word in ("ARG", "ENV", "WORKDIR"):
            reader.take(line, word, rest)
    return reader.workdir


def taken(place: str) -> bool:
    """Whether an absolute, normal path is one where a sandbox has files of its own."""
    top = place.split("/")[1]
    return not top or top in _TAKEN or place == "/opt" or f"{place}/".startswith("/opt/ha/")


class _Reader:
    def __init__(self, path: Path, *, tests: bool) -> None:
        self.path = path
        self.tests = tests
        self.context = path.parent
        self.workdir = ""
        self.files: dict[str, Path] = {}
        self.folders: dict[str, None] = {}
        self.environment: dict[str, str] = {}
        self.arguments: dict[str, str] = {}
        self.stages = 0

    def take(self, line: int, word: str, rest: str) -> None:
        if word == "FROM":
            self.stages += 1
            if self.stages > 1:
                raise self.needs_docker(line, "a second FROM")
        elif word == "ARG":
            name, _, value = rest.partition("=")
            self.arguments[name.strip()] = self.expand(value.strip().strip("\"'"))
        elif word == "ENV":
            self.environment.update(self.pairs(line, rest))
        elif word == "WORKDIR":
            self.workdir = self.inside(line, "WORKDIR", self.expand(rest.strip().strip("\"'")))
        elif word == "COPY":
            self.copy(line, rest)
        elif word == "RUN":
            for command in self.commands(line, rest):
                self.run(line, command)
        elif word not in _NO_EFFECT:
            raise self.needs_docker(line, word)

    def pairs(self, line: int, rest: str) -> Iterator[tuple[str, str]]:
        words = self.split(line, rest)
        if words and "=" not in words[0]:  # the old form: ENV NAME the whole rest
            name, _, value = rest.strip().partition(" ")
            yield name, self.expand(value.strip())
            return
        for word in words:
            name, _, value = word.partition("=")
            yield name, self.expand(value)

    def copy(self, line: int, rest: str) -> None:
        words = rest.strip()
        while found := re.match(r"--(\w+)(?:=(\S+))?\s+", words):
            if found[1] not in ("chown", "chmod", "link"):
                raise self.needs_docker(line, f"COPY --{found[1]}")
            words = words[found.end() :]
        if words.startswith("<<"):
            raise self.needs_docker(line, "COPY <<")
        try:
            items = json.loads(words) if words.startswith("[") else self.split(line, words)
        except ValueError:
            raise BrokenTask(f"{self.path}: line {line}: COPY is no valid list") from None
        if len(items) < 2 or not all(isinstance(item, str) for item in items):
            raise BrokenTask(f"{self.path}: line {line}: COPY needs a source and a target")
        *patterns, target = (self.expand(item) for item in items)
        sources = [source for pattern in patterns for source in self.sources(line, pattern)]
        into_folder = target.endswith(("/", "/.")) or target == "." or len(sources) > 1
        place = self.inside(line, "COPY", target)
        for source in sources:
            if source.is_dir() or not into_folder:
                self.add(line, place, source)
            else:
                self.add(line, posixpath.join(place, source.name), source)

    def commands(self, line: int, rest: str) -> Iterator[list[str]]:
        """The commands of a ``RUN`` that are joined by ``&&`` and need no shell otherwise."""
        lexer = shlex.shlex(rest, posix=True, punctuation_chars=True)
        lexer.whitespace_split = True
        command = list[str]()
        try:
            for word in lexer:
                if word == "&&" and command:
                    yield command
                    command = []
                elif set(word) & set("&|;<>()$`*?[{~"):
                    raise self.needs_docker(line, "RUN")
                else:
                    command.append(word)
        except ValueError as error:
            raise BrokenTask(f"{self.path}: line {line}: {error}") from None
        if not command:
            raise self.needs_docker(line, "RUN")
        yield command

    def run(self, line: int, command: list[str]) -> None:
        name, *words = command
        plain = [word for word in words if not word.startswith("-")]
        if name == "mkdir" and plain and len(words) - len(plain) == words.count("-p"):
            for word in plain:
                place = self.absolute(line, "RUN mkdir", word)
                if place.split("/")[1] not in _HARBOR:  # those are there when they are needed
                    self.folders[self.free(line, "RUN mkdir", place)] = None
        elif not (name in _OWNERS or _installs_pytest(command)):
            raise self.needs_docker(line, f"RUN {name}")

    def add(self, line: int, place: str, source: Path) -> None:
        if source.is_dir() and place in self.files:  # two folders on one place: both count
            for inner in sorted(source.iterdir()):
                self.add(line, posixpath.join(place, inner.name), inner)
            return
        self.files[place] = source

    def sources(self, line: int, pattern: str) -> list[Path]:
        parts = [part for part in pattern.split("/") if part not in ("", ".")]
        if ".." in parts:
            raise BrokenTask(f"{self.path}: line {line}: COPY {pattern!r} leaves the bundle")
        found = [self.context]
        for part in parts:
            if any(mark in part for mark in "*?["):
                found = [
                    inner
                    for folder in found
                    if folder.is_dir()
                    for inner in sorted(folder.iterdir())
                    if fnmatch.fnmatchcase(inner.name, part)
                ]
            else:
                found = [folder / part for folder in found if (folder / part).exists()]
        if not found:
            raise BrokenTask(f"{self.path}: line {line}: COPY finds no {pattern!r}")
        return found

    def inside(self, line: int, word: str, place: str) -> str:
        """The absolute path of a place in the sandbox; refused where a sandbox has its own."""
        return self.free(line, word, self.absolute(line, word, place))

    def absolute(self, line: int, word: str, place: str) -> str:
        if not place.startswith("/") and not self.workdir:
            raise self.needs_docker(line, f"{word} {place!r} without a WORKDIR")
        place = posixpath.normpath(posixpath.join(self.workdir, place))
        return "/" + place.lstrip("/")

    def free(self, line: int, word: str, place: str) -> str:
        if taken(place) and not (self.tests and place.split("/")[1] == "tests"):
            raise self.needs_docker(line, f"{word} {place}")
        return place

    def expand(self, text: str) -> str:
        known = self.arguments | self.environment
        return re.sub(
            r"\$(?:\{(\w+)(?::-([^}]*))?\}|(\w+))",
            lambda found: known.get(found[1] or found[3], found[2] or ""),
            text,
        )

    def split(self, line: int, text: str) -> list[str]:
        try:
            return shlex.split(text)
        except ValueError as error:
            raise BrokenTask(f"{self.path}: line {line}: {error}") from None

    def needs_docker(self, line: int, what: str) -> NeedsDocker:
        return NeedsDocker(f"{self.path}: needs docker: {what} at line {line}")


def _installs_pytest(command: list[str]) -> bool:
    for start in _PIP:
        if command[: len(start)] == start:
            packages = [word for word in command[len(start) :] if not word.startswith("-")]
            return bool(packages) and all(re.split("[=~<>!]", p)[0] == "pytest" for p in packages)
    return False


def _instructions(text: str) -> Iterator[tuple[int, str, str]]:
    """First line's number, upper-case word, and the rest with continuation lines joined."""
    start, parts = 0, list[str]()
    for number, raw in enumerate(text.splitlines(), 1):
        line = raw.strip()
        if line.startswith("#") or (not line and not parts):
            continue
        start = start or number
        if line.endswith("\\"):
            parts.append(line[:-1])
            continue
        parts.append(line)
        word, _, rest = " ".join(parts).strip().partition(" ")
        if word:
            yield start, word.upper(), rest
        start, parts = 0, []
    if parts:
        word, _, rest = " ".join(parts).strip().partition(" ")
        yield start, word.upper(), rest
