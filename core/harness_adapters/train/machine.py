"""What this machine has to train with: packages, GPUs, memory, models on disk. Imports none of
the packages and starts nothing but ``nvidia-smi``."""

from __future__ import annotations

import os
import shutil
import subprocess
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path

from packaging.requirements import Requirement

DISTRIBUTION = "harness-adapters"
_MIB = 2**20


@dataclass(frozen=True, slots=True, kw_only=True)
class Gpu:
    """:ivar memory: in bytes."""

    name: str
    memory: int


def gpus() -> list[Gpu]:
    """NVIDIA GPUs that ``nvidia-smi`` lists; none where it is missing or does not answer."""
    if not (program := shutil.which("nvidia-smi")):
        return []
    query = [program, "--query-gpu=name,memory.total", "--format=csv,noheader,nounits"]
    try:
        done = subprocess.run(query, capture_output=True, text=True, timeout=20, check=True)
    except (OSError, subprocess.SubprocessError):
        return []
    found = []
    for line in done.stdout.splitlines():
        name, _, memory = line.rpartition(",")
        if memory.strip().isdigit():
            found.append(Gpu(name=name.strip(), memory=int(memory) * _MIB))
    return found


def available_memory() -> int | None:
    """Bytes of main memory that a process could still get; ``None`` where the kernel does not
    say."""
    try:
        for line in Path("/proc/meminfo").read_text().splitlines():
            name, _, rest = line.partition(":")
            if name == "MemAvailable":
                return int(rest.split()[0]) * 1024
    except (OSError, ValueError, IndexError):
        return None
    return None


@dataclass(frozen=True, slots=True, kw_only=True)
class Package:
    """A package that an extra of this distribution asks for.

    :ivar wanted: the range, such as ``>=1.15,<1.17``.
    :ivar version: what is installed; ``None`` for nothing.
    """

    name: str
    wanted: str
    version: str | None
    fits: bool


def packages(extra: str) -> list[Package]:
    """What an extra asks for, and what is installed."""
    found = []
    for text in metadata.requires(DISTRIBUTION) or []:
        requirement = Requirement(text)
        marker = requirement.marker
        if (
            marker is None
            or marker.evaluate({"extra": ""})
            or not marker.evaluate({"extra": extra})
        ):
            continue
        try:
            version: str | None = metadata.version(requirement.name)
        except metadata.PackageNotFoundError:
            version = None
        found.append(
            Package(
                name=requirement.name,
                wanted=str(requirement.specifier),
                version=version,
                fits=version is not None
                and requirement.specifier.contains(version, prereleases=True),
            )
        )
    return found


def model_folder(model: str) -> Path | None:
    """Where a model's files are on this machine: the folder that is named, or the newest snapshot
    of that id in the Hub's cache."""
    if (folder := Path(model).expanduser()).is_dir():
        return folder
    cached = _hub_cache() / f"models--{model.replace('/', '--')}" / "snapshots"
    snapshots = [path.parent for path in cached.glob("*/config.json")]
    return max(snapshots, key=lambda path: path.stat().st_mtime, default=None)


def _hub_cache() -> Path:
    """As huggingface_hub finds it."""
    if cache := os.environ.get("HF_HUB_CACHE"):
        return Path(cache).expanduser()
    base = os.environ.get("XDG_CACHE_HOME") or "~/.cache"
    home = os.environ.get("HF_HOME") or f"{base}/huggingface"
    return Path(home).expanduser() / "hub"
