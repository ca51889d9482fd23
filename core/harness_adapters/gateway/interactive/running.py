"""Which gateways run on this machine for this user: one state file each, locked while it runs.

The lock is the sign of life: the kernel takes it back with the process, however that ends.
"""

from __future__ import annotations

import fcntl
import json
import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path

from harness_adapters.errors import MissingPrerequisite
from harness_adapters.sandbox.reaper import state_folder


@dataclass(frozen=True, slots=True, kw_only=True)
class Running:
    """A gateway that runs. The file that says so is readable by its user only: it holds keys.

    :param url: of the default session, with the client key.
    """

    id: str
    pid: int
    origin: str
    url: str
    admin_key: str
    upstream: str
    project: str
    started: float


def gateways_folder() -> Path:
    """:raises MissingPrerequisite: it cannot be made."""
    folder = state_folder().parent / "gateways"
    try:
        folder.mkdir(exist_ok=True, mode=0o700)
    except OSError as error:
        raise MissingPrerequisite(f"cannot make {folder}: {error.strerror}") from None
    return folder


@contextmanager
def announced(gateway: Running) -> Iterator[None]:
    """Let others on this machine find it, for as long as the context lasts."""
    path = gateways_folder() / f"{gateway.id}.json"
    draft = path.with_suffix(".draft")
    with os.fdopen(os.open(draft, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600), "w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        file.write(json.dumps(asdict(gateway)))
        file.flush()
        draft.replace(path)
        try:
            yield
        finally:
            path.unlink(missing_ok=True)


def new_id() -> str:
    return secrets.token_hex(3)


def running() -> list[Running]:
    """The gateways that run, the oldest first; files of dead ones are removed."""
    found: list[Running] = []
    for path in gateways_folder().glob("*.json"):
        try:
            with path.open() as file:
                if _is_locked(file.fileno()):
                    found.append(Running(**json.loads(file.read())))
                else:
                    path.unlink(missing_ok=True)
        except (FileNotFoundError, ValueError, TypeError):
            continue  # it ended just now, or is no file of ours
    return sorted(found, key=lambda one: one.started)


def is_running(gateway: Running) -> bool:
    return any(one.id == gateway.id for one in running())


def _is_locked(file: int) -> bool:
    try:
        fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    return False
