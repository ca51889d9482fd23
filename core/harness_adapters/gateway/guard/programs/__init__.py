"""What well-known programs do to files, hosts and packages, read from their words."""

from __future__ import annotations

from harness_adapters.gateway.guard.names import names
from harness_adapters.gateway.guard.pipe import Pipe
from harness_adapters.gateway.guard.programs import (
    agents,
    archives,
    builders,
    editors,
    files,
    git,
    network,
    text_tools,
)
from harness_adapters.gateway.guard.programs.manifests import (
    FETCH_BY_FILES,
    note_detours,
    note_settings,
)
from harness_adapters.gateway.guard.programs.others import (
    follow_unknown,
    note_addresses,
    note_outputs,
)
from harness_adapters.gateway.guard.programs.words import Handler, Words
from harness_adapters.gateway.guard.recorder import Recorder
from harness_adapters.gateway.guard.state import State

# Say things, or ask the system, and touch no file that they name.
_NO_FILES = names(
    """
    echo printf : true false seq exit return kill killall pkill wait which type
    whoami uname id hostname pwd basename dirname expr jobs break continue shift unalias
    ulimit umask getopts let hash history notify-send yes
    """
)
_HANDLERS: dict[str, Handler] = (
    files.HANDLERS
    | text_tools.HANDLERS
    | editors.HANDLERS
    | archives.HANDLERS
    | git.HANDLERS
    | network.HANDLERS
    | builders.HANDLERS
    | agents.HANDLERS
)


def knows(name: str) -> bool:
    """Whether more is known of a program than its name."""
    return name in _HANDLERS


def follow(rec: Recorder, state: State, name: str, words: Words, pipe: Pipe | None) -> None:
    """Record what one plain command does."""
    if name in _NO_FILES:
        return
    if handler := _HANDLERS.get(name):
        handler(rec, state, words, pipe)
    else:
        follow_unknown(rec, state, name, words)
    if len(words) == 1:
        return
    said = " ".join(words)
    if "--" in said:
        note_outputs(rec, state, words)
    if "://" in said:
        note_addresses(rec, name, words)
    if "=" in said or "--" in said:
        note_detours(rec, name, words)
    if name in FETCH_BY_FILES and state.known_any:
        note_settings(rec, state, name, words)
