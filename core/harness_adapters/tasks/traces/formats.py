"""The readers by name, and reading a file with the one that fits."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from harness_adapters.errors import BadInput, UnreadableTrace, did_you_mean
from harness_adapters.tasks.traces import (
    atif,
    chat,
    claude_code,
    codex,
    hermes,
    opencode,
    pi,
    swe_agent,
)
from harness_adapters.tasks.traces.events import Trace
from harness_adapters.tasks.traces.source import load

_LOOKED_AT = 200  # records by which a format is recognised

Records = Sequence[dict[str, Any]]


@dataclass(frozen=True, slots=True)
class Reader:
    """:param recognises: whether records look like this format.
    :param read: the sessions in them; never raises, whatever the records hold.
    """

    recognises: Callable[[Records], bool]
    read: Callable[[Records], list[Trace]]


# In this order: what comes later is less particular.
FORMATS = {
    "claude-code": Reader(claude_code.recognises, claude_code.read),
    "pi": Reader(pi.recognises, pi.read),
    "codex": Reader(codex.recognises, codex.read),
    "opencode": Reader(opencode.recognises, opencode.read),
    "hermes": Reader(hermes.recognises, hermes.read),
    "atif": Reader(atif.recognises, atif.read),
    "swe-agent": Reader(swe_agent.recognises, swe_agent.read),
    "chat": Reader(chat.recognises, chat.read),
}


def read_traces(path: Path, *, format: str | None = None) -> list[Trace]:
    """The sessions of one file; most formats hold one. Counts of damage stand in the first.

    :param format: a name of ``FORMATS``; by default the file's content tells.
    :raises UnreadableTrace: no reader fits, or the file is beyond the limits.
    :raises BadInput: there is no such format.
    """
    if format is not None and format not in FORMATS:
        known = ", ".join(FORMATS)
        hint = did_you_mean(format, FORMATS)
        raise BadInput(f"no trace format {format!r}{hint} (formats: {known})")
    source = load(path)
    traces: list[Trace] = []
    for name, reader in FORMATS.items():
        fits = name == format if format else reader.recognises(source.records[:_LOOKED_AT])
        if fits:
            traces = [one for one in reader.read(source.records) if one.events]
            break
    if not traces:
        tried = format or ", ".join(FORMATS)
        raise UnreadableTrace(f"{path}: no session found in it (tried: {tried})")
    first = replace(traces[0], malformed=source.malformed, repaired=source.repaired)
    return [first, *traces[1:]]
