"""Taking a session's key out of what is recorded: an agent can print its configuration."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

from harness_adapters.gateway.transcript import Transcript

PLACEHOLDER = "[session key]"


def without_key(transcript: Transcript, key: str) -> Transcript:
    """The same transcript; wherever a text held the key there is a placeholder. Token ids stay:
    they are what was sampled, and the key is dead by now."""
    return replace(
        transcript,
        turns=tuple(
            replace(
                turn,
                new_messages=_clean(list(turn.new_messages), key),
                reply=_clean(turn.reply, key),
                calls=tuple(
                    replace(call, arguments=_clean(call.arguments, key)) for call in turn.calls
                ),
            )
            for turn in transcript.turns
        ),
    )


def clean_logs(folder: Path, key: str) -> None:
    """The same for the files that a driver has kept below a folder."""
    secret = key.encode()
    for path in folder.rglob("*"):
        if path.is_file() and secret in (content := path.read_bytes()):
            path.write_bytes(content.replace(secret, PLACEHOLDER.encode()))


def _clean(value: Any, key: str) -> Any:
    if isinstance(value, str):
        return value.replace(key, PLACEHOLDER)
    if isinstance(value, dict):
        return {_clean(name, key): _clean(item, key) for name, item in value.items()}
    if isinstance(value, list):
        return [_clean(item, key) for item in value]
    return value
