"""The image of all sandboxes: folders and links, a few kilobytes made here.

Everything else is the host's and mounted read-only, as in a bubblewrap sandbox, so no registry is
needed and nothing in it grows old. Its name holds a hash of its content.
"""

from __future__ import annotations

import hashlib
import io
import tarfile
from collections.abc import Mapping
from pathlib import PurePosixPath

REPOSITORY = "harness-adapters/sandbox"


def archive(links: Mapping[str, str]) -> bytes:
    """A tar archive; the same for the same links.

    :param links: absolute path -> target.
    """
    data = io.BytesIO()
    with tarfile.open(fileobj=data, mode="w", format=tarfile.GNU_FORMAT) as tar:
        for folder in _parents(links):
            entry = tarfile.TarInfo(folder)
            entry.type, entry.mode = tarfile.DIRTYPE, 0o755
            tar.addfile(entry)
        for path in sorted(links):
            entry = tarfile.TarInfo(path.lstrip("/"))
            entry.type, entry.linkname = tarfile.SYMTYPE, links[path]
            tar.addfile(entry)
    return data.getvalue()


def tag(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()[:16]


def _parents(paths: Mapping[str, str]) -> list[str]:
    found = {parent for path in paths for parent in PurePosixPath(path.lstrip("/")).parents}
    return sorted(str(parent) for parent in found if parent != PurePosixPath("."))
