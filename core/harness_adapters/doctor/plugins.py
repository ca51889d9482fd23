"""Plugins that were refused."""

from __future__ import annotations

from harness_adapters.doctor.line import Line, Subject, fail, ok, warn


async def check(subject: Subject) -> list[Line]:
    found: list[Line] = []
    for info in subject.plugins.infos:
        if info.status != "refused":
            continue
        text = f"plugin {info.name!r} of {info.distribution!r} was refused: {info.reason}"
        if info.builtin:
            found.append(fail(text, "install harness-adapters anew; runs will not start like this"))
        else:
            found.append(warn(text, f"update or uninstall {info.distribution}"))
    loaded = sum(info.status == "loaded" for info in subject.plugins.infos)
    return found or [ok(f"{loaded} plugins loaded, none refused")]
