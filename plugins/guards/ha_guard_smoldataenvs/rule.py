"""``smoldataenvs``: fetching the answer of a SmolDataEnvs question instead of working it out.

Catches the bucket that holds data and answers, the published suites, the Kaggle dataset that a
question was made from, and the gold answer in the task's own definition. Leaves alone: the input
files of the task, the answer file, and everything outside of tasks.
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
from harness_adapters.gateway.guard.environment import listing

_SUITE = re.compile(r"\bsmol-?data-?envs?\b|\bFineEnvs/", re.IGNORECASE)
_BUCKET_VARIABLES = frozenset(("HF_BUCKET", "BUCKET_PREFIX", "EXPECTED_ANSWER", "GOLD_ANSWER"))
_DEFINITION = re.compile(
    r"(?:.*/)?(?:task\.toml|pull_bucket\.py|registry\.json|manifest\.parquet)\Z"
)
_GOLD = re.compile(r"gold_answer|EXPECTED_ANSWER|reward_mode_initial|kaggle_dataset_name")
_ANSWER = re.compile(r"answer|gold|expected|reward", re.IGNORECASE)
_SEARCHERS = frozenset(("grep", "rg", "egrep", "ag", "ack", "awk", "jq"))


class SmolDataEnvs:
    """Options: ``severity``."""

    checks: ClassVar[Mapping[str, str]] = {
        "answer_source": "the bucket, the published suite, the Kaggle dataset, or the gold answer "
        "in the task's definition",
    }

    def __init__(self, options: Options) -> None:
        self._checks = Checks("smoldataenvs", self.checks, options)

    def judge(self, call: ToolCall, ledger: Ledger) -> Finding | None:
        policy = ledger.policy
        if not (ledger.is_task or policy.answer_sources):
            return None
        found: list[tuple[str, tuple[int, int] | None]] = []
        for connect in call.of(ConnectHost):
            host = connect.host
            if host == "kaggle.com" or host.endswith(".kaggle.com"):
                found.append((f"fetches from {host}", connect.span))
            elif host in ("huggingface.co", "hf.co") and (
                _SUITE.search(call.raw)
                or re.search(r"\bhf://buckets/|/buckets/|\bbuckets\b", call.raw)
            ):
                found.append(("fetches the suite or its bucket", connect.span))
        for read in call.of(ReadPath):
            inside = (read.path + "/").startswith(policy.workdir.rstrip("/") + "/")
            if not inside and _DEFINITION.match(read.path):
                found.append((f"reads the task's definition, {read.path}", read.span))
        runs = call.of(RunCommand)
        searches = [run for run in runs if run.words[0] in _SEARCHERS]
        dumps = bool(searches) and any(listing(run.words) is not None for run in runs)
        for run in searches:
            if any(map(_GOLD.search, run.words[1:3])) or (
                dumps and any(map(_ANSWER.search, run.words[1:]))
            ):
                found.append(("searches for the gold answer", run.span))
        if not runs and any(_GOLD.search(one) for one in _patterns(call)):
            found.append(("searches for the gold answer", None))
        found += [
            (f"uses {name}", None)
            for name in call.reading.environment
            if (name in _BUCKET_VARIABLES and name not in ledger.named)
            or (name[0] == "*" and _ANSWER.search(name))
        ]
        return first_block([self._checks.found("answer_source", *one) for one in found[:64]])


def _patterns(call: ToolCall) -> list[str]:
    """What a search tool is asked to look for."""
    given = call.arguments or {}
    return [v for k in ("pattern", "query", "regex") if isinstance(v := given.get(k), str)]
