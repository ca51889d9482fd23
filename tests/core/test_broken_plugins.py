"""Broken distributions beside good ones: each is refused with its name and reason, all else works,
and nothing that asked for what it offers is started."""

from __future__ import annotations

import json
import os
import subprocess
from dataclasses import dataclass
from pathlib import Path

import pytest
from command import HA, TASKS, Done
from distributions import install


@dataclass(frozen=True)
class Broken:
    """:param guard: what it would offer, and the name of its plugin."""

    guard: str
    code: str
    reason: str
    attribute: str = ""

    @property
    def distribution(self) -> str:
        return f"acme-{self.guard.replace('_', '-')}"


REGISTER = """
from harness_adapters import hookimpl
ha_api_version = 1
@hookimpl
{hook}(register):
    {body}
"""
GOOD = REGISTER.format(
    hook="def ha_register_guards",
    body="register('fine', lambda options: Rule(), summary='Objects to nothing.')",
)
RULE = """
class Rule:
    def judge(self, call, ledger):
        return None
"""
ALL = [
    Broken("no_import", "import acme_missing_dependency", "No module named 'acme_missing"),
    Broken("old", "ha_api_version = 0", "ha_api_version 0, this harness-adapters 1"),
    Broken(
        "again",
        REGISTER.format(
            hook="def ha_register_guards", body="register('tamper', object, summary='')"
        ),
        "guard 'tamper' is offered by both 'harness-adapters' and 'acme-again'",
    ),
    Broken(
        "awaited",
        REGISTER.format(hook="async def ha_register_guards", body="pass"),
        "ha_register_guards must be a plain function",
    ),
    Broken(
        "misspelled",
        REGISTER.format(hook="def ha_register_gards", body="pass"),
        "unknown hook 'ha_register_gards'",
    ),
    Broken(
        "raising",
        REGISTER.format(hook="def ha_register_guards", body="raise OSError('no such licence')"),
        "OSError: no such licence",
    ),
    Broken("elsewhere", "ha_api_version = 1", "has no attribute 'plugin'", attribute=":plugin"),
    Broken("unfinished", "def ha_register(:", "SyntaxError"),
    Broken("script", "import sys; sys.exit('usage: acme')", "SystemExit: usage: acme"),
]
each = pytest.mark.parametrize(
    "broken",
    [
        pytest.param(one, id=one.guard, marks=[pytest.mark.full] if n > 1 else [])
        for n, one in enumerate(ALL)
    ],
)


@pytest.fixture
def ha(tmp_path: Path) -> HaWith:
    return HaWith(tmp_path)


class HaWith:
    """``ha``, where all the broken distributions and a good one are installed."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        site = folder / "site"
        for one in ALL:
            module = f"acme_{one.guard}{one.attribute}"
            install(site, one.distribution, module, one.code, one.guard)
        install(site, "acme-fine", "acme_fine", GOOD + RULE, "fine")

    def __call__(self, *words: str | Path) -> Done:
        done = subprocess.run(
            [*HA, *map(str, words)],
            cwd=self.folder,
            env={**os.environ, "PYTHONPATH": str(self.folder / "site")},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
        )
        return Done(done.returncode, done.stdout, done.stderr)


def test_each_is_refused_by_name_and_reason_and_all_else_loads(ha: HaWith) -> None:
    done = ha("plugins", "--json")
    assert done.code == 1, done.stderr  # done, with trouble left
    infos = {info["name"]: info for info in done.json["plugins"]}
    for one in ALL:
        info = infos.pop(one.guard)
        assert (info["status"], info["distribution"]) == ("refused", one.distribution)
        assert one.reason in info["reason"], info
        assert info["offers"] == []
    assert {info["status"] for info in infos.values()} == {"loaded"}
    assert infos["fine"]["offers"] == ["guard fine"]

    assert "Traceback" not in done.stderr
    shown = ha("plugins")
    for one in ALL:
        assert one.distribution in shown.stdout


@each
def test_a_run_that_asks_for_its_guard_does_not_start(ha: HaWith, broken: Broken) -> None:
    done = ha("run", TASKS, "--guards", f"tamper,{broken.guard}", "--out", "run", "--json")
    assert done.code == 2
    assert repr(broken.distribution) in done.stderr and broken.reason in done.stderr
    assert len(done.stderr.strip().splitlines()) <= 2 and "Traceback" not in done.stderr
    assert done.stdout == "" and not (ha.folder / "run").exists()


def test_everything_else_works(ha: HaWith) -> None:
    """A run in real pi, behind a built-in guard and the good one."""
    words = ("--limit", "1", "--guards", "tamper,fine", "--out", "run", "--json")
    done = ha("run", TASKS, *words)
    assert (done.code, done.json["solved"]) == (0, 1), done.stderr
    manifest = json.loads((ha.folder / "run" / "manifest.json").read_text())
    parts = {one["name"]: one["distribution"] for one in manifest["components"]}
    assert parts["fine"] == "acme-fine" and parts["tamper"] == "harness-adapters"


def test_a_near_name_is_still_offered(ha: HaWith) -> None:
    done = ha("run", TASKS, "--guards", "tampr", "--out", "run")
    assert done.code == 2
    assert "did you mean 'tamper'?; refused, as `ha plugins` tells: 'acme-again'," in done.stderr
