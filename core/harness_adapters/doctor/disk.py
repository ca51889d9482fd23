"""Room where things are kept."""

from __future__ import annotations

import os
import shutil
import tempfile
from pathlib import Path

from harness_adapters.doctor.line import Line, Subject, fail, ok, warn
from harness_adapters.harness.cache import cache_folder
from harness_adapters.sandbox.reaper import state_folder

GIGABYTE = 1024**3
ENOUGH, LEAST = 5 * GIGABYTE, GIGABYTE // 2


async def check(subject: Subject) -> list[Line]:
    places = [
        ("cache", cache_folder(), "HA_CACHE"),
        ("state", state_folder(), "XDG_STATE_HOME"),
        ("temporary files", Path(tempfile.gettempdir()), "TMPDIR"),
    ]
    return [_room(name, folder, variable) for name, folder, variable in places]


def _room(name: str, folder: Path, variable: str) -> Line:
    there = next(place for place in (folder, *folder.parents) if place.exists())
    free = shutil.disk_usage(there).free
    text = f"{name}: {free / GIGABYTE:.1f} GB free at {folder}"
    fix = f"make room there, or set {variable} to another folder"
    if not os.access(there, os.W_OK | os.X_OK):
        return fail(f"{name}: {folder} cannot be written", fix)
    if free < LEAST:
        return fail(text, fix)
    return warn(text, fix) if free < ENOUGH else ok(text)
