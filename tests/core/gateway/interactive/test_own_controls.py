from __future__ import annotations

import json

import pytest

from harness_adapters.gateway.guard.calls import ToolCall
from harness_adapters.gateway.guard.ledger import Ledger
from harness_adapters.gateway.interactive.own_controls import OwnControls
from harness_adapters.types import Finding, TaskPolicy

CONFIG, STATE = "/home/me/.config/harness-adapters", "/home/me/.local/state/harness-adapters"


def judge(command: str) -> Finding | None:
    ledger = Ledger(TaskPolicy(workdir="/home/me/project"), home="/home/me")
    call = ToolCall(id="", name="bash", raw=json.dumps({"command": command}), ledger=ledger)
    return OwnControls((CONFIG, STATE)).judge(call, ledger)


@pytest.mark.parametrize(
    "command",
    [
        "ha gateway allow 3fa2c1",
        "cd /tmp && /usr/bin/ha --debug gateway allow 3fa2c1 --always",
        "bash -c 'ha gateway stop'",
        "python -m harness_adapters.cli gateway allow 3fa2c1",
        "uvx --from harness-adapters ha gateway allow x",
        f"echo 'log_only = true' > {CONFIG}/projects/x/guard.toml",
        "sed -i s/false/true/ ~/.config/harness-adapters/projects/x/guard.toml",
        f"cat {STATE}/gateways/abc.json",
        f"rm -rf {CONFIG}",
    ],
)
def test_reaching_for_the_guard_is_blocked(command: str) -> None:
    found = judge(command)
    assert found is not None and found.rule == "own_controls.reached_for"


@pytest.mark.parametrize(
    "command",
    [
        "ha gateway ls",
        "ha run examples/tasks",
        "git commit -m 'document ha gateway allow'",
        "echo 'ha gateway allow ID' >> README.md",
        "cat docs/gateway.md && grep -rn allow src",
        "ls ~/.config",
    ],
)
def test_other_work_is_left_alone(command: str) -> None:
    assert judge(command) is None
