"""Container images without a registry: made of programs of this machine and their libraries."""

from __future__ import annotations

import io
import re
import secrets
import shutil
import subprocess
import sys
import tarfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from harness_adapters.sandbox.docker.engine import client

SHELL = (
    *(
        "bash",
        "sh",
        "cat",
        "chmod",
        "chown",
        "cp",
        "dirname",
        "env",
        "find",
        "grep",
        "id",
        "install",
        "ls",
    ),
    *(
        "head",
        "kill",
        "mkdir",
        "mktemp",
        "mv",
        "rm",
        "sleep",
        "sort",
        "touch",
        "tr",
        "true",
        "wc",
        "xargs",
    ),
)
_FOLDERS = {"etc": 0o755, "home": 0o755, "root": 0o700, "tmp": 0o1777, "var": 0o755}
_HEAVY = re.compile(r"/(test|tests|idlelib|turtledemo|config-[^/]*|__pycache__|site-packages)$")


@contextmanager
def local_image(
    files: Mapping[str, str | Path],
    *,
    programs: Sequence[str] = SHELL,
    changes: Sequence[str] = (),
    name: str = "",
) -> Iterator[str]:
    """An image on the engine of ``DOCKER_HOST``; it is gone afterwards.

    :param files: absolute path -> text, or a file or folder of this machine.
    :param changes: lines of a Dockerfile such as ``ENV A=b``.
    :yield: its name.
    """
    repository, _, tag = (name or f"ha-test-{secrets.token_hex(8)}:1").partition(":")
    api, _ = client()
    try:
        content = _archive(files, programs)
        api.import_image_from_data(content, repository=repository, tag=tag, changes=[*changes])
        yield f"{repository}:{tag}"
    finally:
        api.remove_image(f"{repository}:{tag}", force=True)
        api.close()


def python_files() -> dict[str, str | Path]:
    """This machine's interpreter below ``/usr/local``, with pip, as Python's images have it."""
    prefix = Path(sys.base_prefix).resolve()
    version = f"python{sys.version_info.major}.{sys.version_info.minor}"
    library = prefix / "lib" / version
    found: dict[str, str | Path] = {
        f"/usr/local/bin/{version}": prefix / "bin" / version,
        f"/usr/local/lib/{version}": library,
        f"/usr/local/lib/{version}/site-packages/pip": library / "site-packages" / "pip",
    }
    for shared in (prefix / "lib").glob("libpython3*.so*"):
        found[f"/usr/lib/{shared.name}"] = shared
    for link in ("python", "python3"):
        found[f"/usr/local/bin/{link}"] = prefix / "bin" / version
    return found


def _archive(files: Mapping[str, str | Path], programs: Sequence[str]) -> bytes:
    data = io.BytesIO()
    with tarfile.open(fileobj=data, mode="w") as tar:
        for folder, mode in _FOLDERS.items():
            entry = tarfile.TarInfo(folder)
            entry.type, entry.mode = tarfile.DIRTYPE, mode
            tar.addfile(entry)
        wanted: dict[str, str | Path] = dict(files)
        for program in programs:
            path = shutil.which(program)
            assert path is not None, program
            wanted[f"/usr/bin/{program}"] = Path(path).resolve()
            wanted[f"/bin/{program}"] = Path(path).resolve()
        for place, what in wanted.items():
            if isinstance(what, str):
                entry = tarfile.TarInfo(place.lstrip("/"))
                entry.size = len(what.encode())
                entry.mode = 0o755 if what.startswith("#!") else 0o644
                tar.addfile(entry, io.BytesIO(what.encode()))
            else:
                tar.add(what, place.lstrip("/"), filter=_light)
        for library in sorted(_libraries(wanted.values())):
            tar.add(library.resolve(), str(library).lstrip("/"))
    return data.getvalue()


def _light(entry: tarfile.TarInfo) -> tarfile.TarInfo | None:
    entry.uid = entry.gid = 0
    return None if _HEAVY.search(f"/{entry.name}") and not entry.name.endswith("pip") else entry


def _libraries(found: Any) -> set[Path]:
    """What the loader needs for programs, and for the shared objects in folders."""
    programs = [one for one in found if isinstance(one, Path) and one.is_file()]
    for folder in (one for one in found if isinstance(one, Path) and one.is_dir()):
        programs += folder.glob("lib-dynload/*.so")
    said = subprocess.run(
        ["ldd", *map(str, programs)], capture_output=True, text=True, check=False
    ).stdout
    return {Path(path) for path in re.findall(r"(?:=> |^\t)(/\S+) \(0x", said, re.M)}
