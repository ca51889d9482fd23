"""Sandboxes for whoever asks for Docker; nobody has to."""

from __future__ import annotations

from harness_adapters.doctor.line import Line, Subject, ok, warn
from harness_adapters.sandbox.docker.engine import INSTALL
from harness_adapters.sandbox.docker.provider import Docker

FIX = f"only --sandbox docker needs it: {INSTALL}, and a running Docker Engine that you may use"
LOST = "use a Docker Engine and a kernel with control groups, if that matters to you"


async def check(subject: Subject) -> list[Line]:
    sandbox = Docker()
    isolation = await sandbox.probe()
    if not isolation.ok:
        return [warn(f"no sandboxes with Docker: {isolation.reason}", FIX)]
    return [
        ok(f"{sandbox.name} isolates: tried in a container"),
        *(warn(f"not isolated by Docker here: {lost}", LOST) for lost in isolation.lost),
    ]
