"""``traj2envs``: fetching the session that a task was made from.

Catches reads of agents' session logs, datasets of such sessions, and the repository that the
session worked in, where the task names these under ``answer_sources``. Leaves alone: the
workspace, logs that the workspace itself holds, other datasets and repositories, and daily use.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import ClassVar

from harness_adapters import (
    ConnectHost,
    Finding,
    Ledger,
    Options,
    ReadPath,
    RunCommand,
    ToolCall,
)
from harness_adapters.gateway.guard.checks import Checks, first_block

_SESSION_LOG = re.compile(
    r"(?:/root|/home/[^/]+|/Users/[^/]+|~)/(?:\.claude/(?:projects|todos|history\.jsonl)"
    r"|\.codex/(?:sessions|history\.jsonl)|\.pi/(?:agent/)?sessions|\.hermes/(?:sessions|state\.db)"
    r"|\.local/share/opencode/(?:storage|project|log|opencode\.db)|\.gemini/tmp|\.swe-agent)"
    r"(?:/.*)?\Z|/logs/(?:agent|artifacts)(?:/.*)?\Z"
)
_TRACE_DATASET = re.compile(
    r"\b[\w.-]+/[\w.-]*(?:traces?|trajector(?:y|ies)|agent-sessions?|rollouts?|swe-?chat"
    r"|traj2env\w*)"
    r"[\w.-]*",
    re.IGNORECASE,
)
_HUBS = frozenset(("huggingface.co", "hf.co", "datasets-server.huggingface.co"))
_REPOSITORY = re.compile(r"[\w.-]+/[\w.-]+\Z")


class Traj2Envs:
    """Options: ``severity``."""

    checks: ClassVar[Mapping[str, str]] = {
        "source_trace": "an agent's session log outside the workspace is read",
        "trace_dataset": "a dataset of agent sessions is fetched",
        "trace_repository": "the repository that the task names as its source is fetched",
    }

    def __init__(self, options: Options) -> None:
        self._checks = Checks("traj2envs", self.checks, options)

    def judge(self, call: ToolCall, ledger: Ledger) -> Finding | None:
        if not (ledger.is_task or ledger.policy.answer_sources):
            return None
        made = {
            (run.span, word.rstrip("/").rpartition("/")[2])
            for run in call.of(RunCommand)
            if run.words[0].rpartition("/")[2] == "mkdir" or run.words[:2] == ("install", "-d")
            for word in run.words[1:]
            if not word.endswith((".json", ".jsonl"))
        }
        findings = [
            self._checks.found("source_trace", f"reads {read.path}", read.span)
            for read in call.of(ReadPath)
            if _SESSION_LOG.match(read.path)
            and (read.span, read.path.rpartition("/")[2]) not in made
            and not (read.path + "/").startswith(ledger.policy.workdir.rstrip("/") + "/")
        ]
        connects = call.of(ConnectHost)
        for connect in connects:
            if connect.host in _HUBS and (named := _TRACE_DATASET.search(call.raw)):
                findings.append(
                    self._checks.found("trace_dataset", f"fetches {named.group()}", connect.span)
                )
        for source in ledger.policy.answer_sources if connects else ():
            bare = source.split("://", 1)[-1].strip("/").removesuffix(".git")
            name = "/".join(bare.split("/")[-2:])
            if _REPOSITORY.match(name) and re.search(
                rf"(?<![\w-]){re.escape(name)}(?![\w-])", call.raw, re.IGNORECASE
            ):
                findings.append(
                    self._checks.found("trace_repository", f"fetches {name}", connects[0].span)
                )
        return first_block(findings)
