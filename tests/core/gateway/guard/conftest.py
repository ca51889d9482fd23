"""Calls made as harnesses make them."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from harness_adapters import (
    Action,
    ConnectHost,
    InstallPackage,
    Ledger,
    ReadPath,
    RunCommand,
    TaskPolicy,
    ToolCall,
    Unparsed,
    WritePath,
)

Said = list[tuple[str, str]]


def said(actions: tuple[Action, ...]) -> Said:
    """Actions in short: ``("read", "/tests/x")``; commands by their words."""
    found: Said = []
    for action in actions:
        match action:
            case RunCommand(words=words):
                found.append(("run", " ".join(words)))
            case ReadPath(path=path):
                found.append(("read", path))
            case WritePath(path=path):
                found.append(("write", path))
            case ConnectHost(host=host):
                found.append(("connect", host))
            case InstallPackage(name=name):
                found.append(("install", name))
            case Unparsed(text=text):
                found.append(("unparsed", text))
    return found


@pytest.fixture
def ledger() -> Ledger:
    return Ledger(TaskPolicy(workdir="/work", protected=("tests/**",)))


@pytest.fixture
def make(ledger: Ledger) -> Callable[..., ToolCall]:
    """``make("bash", command="ls")`` or ``make("bash", raw="{...")``."""

    def _make(name: str, /, *, raw: str | None = None, **arguments: Any) -> ToolCall:
        text = json.dumps(arguments) if raw is None else raw
        return ToolCall(id="c1", name=name, raw=text, ledger=ledger)

    return _make


@pytest.fixture
def does(make: Callable[..., ToolCall]) -> Callable[..., Said]:
    """What a call does apart from starting programs."""

    def _does(name: str, /, **arguments: Any) -> Said:
        return [one for one in said(make(name, **arguments).actions) if one[0] != "run"]

    return _does


@pytest.fixture
def shell(does: Callable[..., Said]) -> Callable[[str], Said]:
    def _shell(command: str) -> Said:
        return does("bash", command=command)

    return _shell
