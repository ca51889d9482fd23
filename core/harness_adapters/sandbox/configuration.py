"""What a supervisor is told first: what its sandbox is, and where its paths really are."""

from __future__ import annotations

import posixpath
from collections.abc import Mapping
from dataclasses import dataclass, field

from harness_adapters.sandbox.base import SandboxSpec
from harness_adapters.sandbox.inside import wire


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Where a sandbox's paths really are, as its programs see them.

    :param base: a folder that holds everything, or empty where the sandbox has its own root.
    :param targets: paths, besides the writable folders, that lie below ``base``.
    """

    base: str = ""
    targets: tuple[str, ...] = ()
    environment: Mapping[str, str] = field(default_factory=dict[str, str])


def configuration(
    spec: SandboxSpec,
    place: Place,
    *,
    pid_namespace: bool,
    seal: bytes,
    uids: tuple[int, int] | None,
    homes: tuple[str, str],
    processes: int,
    outlet: str,
    port: int,
    alias: int = 0,
    remove: str = "",
) -> bytes:
    """The supervisor's first frame; see ``inside.supervisor.Configuration`` for what it means.

    :param uids: of agent and tests; ``None`` where programs run as the supervisor does.
    :param alias: uid that programs see instead of the supervisor's uid 0; 0 for no other.
    :param processes: limit for each uid; 0 for none.
    :raises ValueError: as ``check_folders`` does.
    """
    check_folders(spec)
    base = place.base
    return wire.pack(
        b"1" if pid_namespace else b"0",
        seal,
        *(b"%d" % uid for uid in uids or ()),
        *(() if uids else (b"", b"")),
        b"%d" % spec.limits.memory_bytes,
        b"%d" % processes,
        b"%d" % spec.limits.open_files,
        *map(encode, homes),
        encode(base + spec.workdir),
        encode(outlet),
        b"%d" % port,
        encode(remove),
        b"%d" % alias,
        *(encode(base + folder) for folder in sorted(spec.writable)),
    )


def check_folders(spec: SandboxSpec) -> None:
    """:raises ValueError: the working folder is not below a writable one, or a path is no plain
    one."""
    for path in (spec.workdir, *spec.writable):
        if not path.startswith("/") or path != posixpath.normpath(path) or path == "/":
            raise ValueError(f"not a plain absolute path of a folder: {path!r}")
    if not any(is_below(spec.workdir, folder) for folder in spec.writable):
        raise ValueError(f"the working folder {spec.workdir!r} is not below a writable folder")


def encode(text: str) -> bytes:
    return text.encode(errors="surrogateescape")


def is_below(path: str, folder: str) -> bool:
    return path == folder or path.startswith(folder.rstrip("/") + "/")
