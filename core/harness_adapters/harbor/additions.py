"""What Harbor needs beside what our bundles say: added as marked lines and files, so that it can
be taken out again to the byte."""

from __future__ import annotations

import copy
import json
import re
import shlex
import tomllib
from collections.abc import Iterator
from typing import Any

MARK = "# added by ha tasks export"
IMAGE = "python:3.11-slim"
PYTEST = "8.4.2"
USER = "agent"

_MARKED_LINE = re.compile(rf"^[^\n]*{MARK}\n|\n[^\n]*{MARK}\Z", re.M)
_FROM = re.compile(r"^[ \t]*FROM[ \t]+([^\s$]+)(?:[ \t]+AS[ \t]+\S+)?[ \t]*$", re.M | re.I)
_USER = re.compile(r"^[ \t]*USER[ \t]", re.M | re.I)
_TABLE = re.compile(r"^\[", re.M)


def with_toml(text: str, workdir: str) -> str:
    """A ``task.toml`` that says in Harbor's words how our kinds are verified: what the agent left
    in ``workdir`` goes into a container of its own; no network; no root.

    :raises ValueError: it says something else, or cannot be extended line by line.
    """
    told: dict[str, Any] = tomllib.loads(text)
    expected = copy.deepcopy(told)
    if "artifacts" not in told:
        expected["artifacts"] = [workdir]
        text = f"artifacts = {json.dumps([workdir])}  {MARK}\n{text}"
    for table, key, value in _settings(told):
        expected.setdefault(table, {})[key] = value
        line = f"{key} = {json.dumps(value)}  {MARK}\n"
        header = re.search(rf"^\[{table}\][^\n]*\n", text, re.M)
        if header is not None:
            text = text[: header.end()] + line + text[header.end() :]
        elif (first := _TABLE.search(text)) is not None:
            text = f"{text[: first.start()]}[{table}]  {MARK}\n{line}{text[first.start() :]}"
    try:
        same = tomllib.loads(text) == expected
    except tomllib.TOMLDecodeError:
        same = False
    if not same:
        raise ValueError("write its tables as [table] headers, so that lines can be added")
    return text


def with_user(dockerfile: str, workdir: str) -> str:
    """An environment's Dockerfile with a user that is not root and owns the working folder.

    :raises ValueError: it has a user already.
    """
    if _USER.search(dockerfile):
        raise ValueError("USER: say it as [agent] user in task.toml")
    place = shlex.quote(workdir)
    owned = f"mkdir -p {place} && chown -R {USER} {place}"
    line = f"RUN useradd --create-home {USER} && {owned}  {MARK}"
    return f"{dockerfile}{line}\n" if dockerfile.endswith("\n") else f"{dockerfile}\n{line}"


def environment_dockerfile(workdir: str) -> str:
    """For a bundle that has none."""
    return with_user(f"{MARK}\nFROM {IMAGE}\nWORKDIR {workdir}\n", workdir)


def tests_dockerfile(environment: str, workdir: str) -> str:
    """A verifier's image with pytest, made from the image of the environment's Dockerfile.

    :raises ValueError: it has not exactly one plain ``FROM``.
    """
    images = _FROM.findall(environment)
    if len(images) != 1:
        raise ValueError("it has not one FROM with a plain image")
    return (
        f"{MARK}\nFROM {images[0]}\nRUN pip install --no-cache-dir pytest=={PYTEST}\n"
        f"COPY . /tests/\nWORKDIR {workdir}\n"
    )


def without(text: str) -> str | None:
    """What was there before; ``None`` for a file that was not."""
    return None if text.startswith(f"{MARK}\n") else _MARKED_LINE.sub("", text)


def _settings(told: dict[str, Any]) -> Iterator[tuple[str, str, Any]]:
    """What is to be added, as (table, key, value)."""
    agent, verifier, environment = (
        told.get(name, {}) for name in ("agent", "verifier", "environment")
    )
    if "user" not in agent:
        yield "agent", "user", USER
    if "environment_mode" not in verifier:
        yield "verifier", "environment_mode", "separate"
    elif verifier["environment_mode"] != "separate":
        raise ValueError('[verifier] environment_mode: our kinds need "separate"')
    said = environment.get("network_mode", environment.get("allow_internet"))
    if said is None:
        yield "environment", "network_mode", "no-network"
    elif said not in ("no-network", False):
        raise ValueError("[environment] asks for a network, which our sandboxes do not give")
