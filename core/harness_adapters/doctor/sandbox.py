"""The sandbox that runs use, and what it does not isolate here."""

from __future__ import annotations

from harness_adapters.doctor.line import Line, Subject, fail, ok, warn
from harness_adapters.sandbox.bubblewrap import Bubblewrap

INSTALL = "install bubblewrap (apt install bubblewrap), and allow namespaces where this runs"
LOST = "run as root, or on a kernel or container that allows it, if that matters to you"


async def check(subject: Subject) -> list[Line]:
    sandbox = Bubblewrap()
    isolation = await sandbox.probe()
    if not isolation.ok:
        return [fail(f"{sandbox.name} does not isolate here: {isolation.reason}", INSTALL)]
    return [
        ok(f"{sandbox.name} isolates: tried in a sandbox"),
        *(warn(f"not isolated here: {lost}", LOST) for lost in isolation.lost),
    ]
