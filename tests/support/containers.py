"""A Docker Engine, where one answers; ``scripts/setup_docker`` starts one."""

from __future__ import annotations

import json
import os

import pytest

from harness_adapters.errors import MissingPrerequisite
from harness_adapters.sandbox.base import SandboxProvider
from harness_adapters.sandbox.docker.engine import OWNER, client
from harness_adapters.sandbox.docker.provider import Docker


def docker_sandboxes() -> SandboxProvider:
    """Skips the test, with the reason, where no engine answers."""
    try:
        api, _ = client()
    except MissingPrerequisite as error:
        pytest.skip(str(error))
    api.close()
    return Docker()


def containers_left(owner: int | None = None) -> list[str]:
    """Containers that a process has opened, this one by default, whatever their state."""
    api, _ = client()
    try:
        found = api.containers(all=True, filters={"label": OWNER})
    finally:
        api.close()
    pid = os.getpid() if owner is None else owner
    return [one["Names"][0] for one in found if json.loads(one["Labels"][OWNER])[0] == pid]
