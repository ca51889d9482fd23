"""``guard.toml`` of one project: what the person behind the agent has decided.

It lies in the person's own configuration folder and not in the project: a repository that somebody
else wrote must not be able to bring permissions along.

```toml
log_only = false              # judge and log, block nothing
flag_only = ["seen_hosts"]    # guards whose findings never block here
server_tools = "flag"         # or "strip": take the provider's own tools out of requests

[[allow]]
rule = "tamper.verifier_root"
call = "0f3a..."              # fingerprint of the call
once = true                   # removed when it was used; false: always
note = "bash"
```
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import logging
import os
import re
import tomllib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from harness_adapters.errors import BadInput, did_you_mean
from harness_adapters.gateway.guard.calls import ToolCall

log = logging.getLogger(__name__)

_MAX_BYTES = 4 * 1024 * 1024
_KEYS = ("log_only", "flag_only", "server_tools", "allow")
_ENTRY_KEYS = ("rule", "call", "once", "note")
_BLOCK = re.compile(r"^\[\[allow\]\][^\n]*\n(?:(?!\[)[^\n]*\n?)*+", re.MULTILINE)


def project_file(project: Path) -> Path:
    """Where the ``guard.toml`` of a project is."""
    base = os.environ.get("XDG_CONFIG_HOME") or Path("~/.config").expanduser()
    place = project.resolve()
    name = re.sub(r"[^A-Za-z0-9._-]+", "-", place.name)[:40] or "root"
    digest = hashlib.sha256(os.fsencode(place)).hexdigest()[:12]
    return Path(base) / "harness-adapters" / "projects" / f"{name}-{digest}" / "guard.toml"


@dataclass(frozen=True, slots=True, kw_only=True)
class Allowed:
    """One call that one rule lets through. ``note`` is for the person."""

    rule: str
    call: str
    once: bool = False
    note: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Decisions:
    """What one ``guard.toml`` says."""

    log_only: bool = False
    flag_only: tuple[str, ...] = ("seen_hosts",)
    strip_server_tools: bool = False
    allowed: tuple[Allowed, ...] = ()

    def permits(self, rules: Sequence[str], call: str) -> bool:
        granted = {one.rule for one in self.allowed if one.call == call}
        return bool(rules) and granted.issuperset(rules)


class GuardFile:
    """The decisions, read again when the file has changed.

    :raises BadInput: the file is there and broken; later on, a broken file is reported and the
        last good one stays.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.problem = ""
        self._seen: tuple[int, int, int] | None = None
        self._decisions = Decisions()
        self._read(self._stamp())

    def current(self) -> Decisions:
        """What holds now. Costs one ``stat``."""
        stamp = self._stamp()
        if stamp != self._seen:
            try:
                self._read(stamp)
            except BadInput as error:
                self._seen = stamp
                self.problem = str(error)
                log.warning("%s; the last good version stays in force", error)
        return self._decisions

    def add(self, entries: Sequence[Allowed]) -> None:
        """Write new permissions.

        :raises BadInput: the file is broken, or cannot be written.
        """
        with self._locked():
            self._read(self._stamp())
            new = [entry for entry in entries if entry not in self._decisions.allowed]
            text = self._text()
            gap = "\n" if text and not text.endswith("\n") else ""
            self._write(text + gap + "".join(map(_block, new)))

    def use_up(self, call: str) -> None:
        """Remove the permissions for one call that hold only once.

        :raises BadInput: the file cannot be written, so the permission would hold for ever.
        """
        if not any(one.once and one.call == call for one in self._decisions.allowed):
            return
        with self._locked():
            self._read(self._stamp())
            left = [a for a in self._decisions.allowed if not (a.once and a.call == call)]
            text = _without_used(self._text(), call)
            if _parsed(text) != replace(self._decisions, allowed=tuple(left)):
                raise BadInput(
                    f"{self.path}: write [[allow]] tables with one key a line, so that a "
                    "permission can be removed once it was used"
                )
            self._write(text)

    def _stamp(self) -> tuple[int, int, int] | None:
        try:
            found = self.path.stat()
        except OSError:
            return None
        return found.st_mtime_ns, found.st_size, found.st_ino

    def _text(self) -> str:
        try:
            with self.path.open("rb") as file:
                data = file.read(_MAX_BYTES + 1)
            if len(data) > _MAX_BYTES:
                raise BadInput(f"{self.path} is larger than {_MAX_BYTES} bytes")
            return data.decode()
        except FileNotFoundError:
            return ""
        except (OSError, UnicodeDecodeError) as error:
            raise BadInput(f"cannot read {self.path}: {error}") from error

    def _read(self, stamp: tuple[int, int, int] | None) -> None:
        text = self._text()
        try:
            self._decisions = _parsed(text)
        except BadInput as error:
            raise BadInput(f"{self.path}: {error}") from None
        self._seen = stamp
        self.problem = ""

    def _write(self, text: str) -> None:
        draft = self.path.with_name(f"{self.path.name}.draft")
        try:
            draft.write_text(text)
            draft.chmod(0o600)
            draft.replace(self.path)
        except OSError as error:
            raise BadInput(f"cannot write {self.path}: {error.strerror}") from error
        self._read(self._stamp())

    @contextmanager
    def _locked(self) -> Iterator[None]:
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            lock = self.path.with_name("lock").open("w")
        except OSError as error:
            raise BadInput(f"cannot write in {self.path.parent}: {error.strerror}") from error
        with lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            yield


def fingerprint(call: ToolCall) -> str:
    """Names what a call does: tool and arguments, whatever their order. What a shell call says
    about itself is left out, since agents word it anew each time."""
    content: Any = call.raw
    if call.arguments is not None:
        content = dict(call.arguments)
        if "command" in content:
            content.pop("description", None)
    packed = json.dumps([call.name, content], sort_keys=True)
    return hashlib.sha256(packed.encode()).hexdigest()[:32]


def _without_used(text: str, call: str) -> str:
    """The file's text without its tables for one call that hold once; all else as it stands."""

    def rest(block: re.Match[str]) -> str:
        (entry,) = _parsed(block.group()).allowed
        return "" if entry.call == call and entry.once else block.group()

    return _BLOCK.sub(rest, text)


def _parsed(text: str) -> Decisions:
    """:raises BadInput: it is no TOML, or not of this kind."""
    try:
        return _decisions(tomllib.loads(text))
    except tomllib.TOMLDecodeError as error:
        raise BadInput(str(error)) from None


def _decisions(content: dict[str, Any]) -> Decisions:
    _known(content, _KEYS, "")
    log_only = content.get("log_only", False)
    flag_only = content.get("flag_only", ["seen_hosts"])
    server_tools = content.get("server_tools", "flag")
    entries = content.get("allow", [])
    if not isinstance(log_only, bool):
        raise BadInput("log_only must be true or false")
    if not isinstance(flag_only, list) or not all(isinstance(name, str) for name in flag_only):
        raise BadInput("flag_only must be a list of guard names")
    if server_tools not in ("flag", "strip"):
        raise BadInput('server_tools must be "flag" or "strip"')
    if not isinstance(entries, list) or not all(isinstance(one, dict) for one in entries):
        raise BadInput("allow must be a list of tables: [[allow]]")
    return Decisions(
        log_only=log_only,
        flag_only=tuple(flag_only),
        strip_server_tools=server_tools == "strip",
        allowed=tuple(_allowed(number, entry) for number, entry in enumerate(entries, start=1)),
    )


def _allowed(number: int, entry: dict[str, Any]) -> Allowed:
    place = f"allow entry {number}: "
    _known(entry, _ENTRY_KEYS, place)
    for key in ("rule", "call"):
        if not isinstance(entry.get(key), str) or not entry[key]:
            raise BadInput(f"{place}{key} must be a text that is not empty")
    if not isinstance(entry.get("once", False), bool):
        raise BadInput(f"{place}once must be true or false")
    return Allowed(
        rule=entry["rule"],
        call=entry["call"],
        once=entry.get("once", False),
        note=str(entry.get("note", "")),
    )


def _known(table: dict[str, Any], keys: Sequence[str], place: str) -> None:
    for key in table:
        if key not in keys:
            raise BadInput(f"{place}unknown key {key!r}{did_you_mean(key, keys)}")


def _block(entry: Allowed) -> str:
    return (
        f"\n[[allow]]\nrule = {_quoted(entry.rule)}\ncall = {_quoted(entry.call)}\n"
        f"once = {'true' if entry.once else 'false'}\nnote = {_quoted(entry.note)}\n"
    )


def _quoted(text: str) -> str:
    """A TOML string: JSON's escapes are TOML's too, but for DEL, which TOML wants escaped."""
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")
