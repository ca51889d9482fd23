"""What the doctor says of a machine, and how it says it."""

from __future__ import annotations

import importlib.util
import json
import shutil
from collections import namedtuple
from pathlib import Path

import pytest

from harness_adapters.cli import main
from harness_adapters.doctor import checks, disk, docker, harnesses, node, plugins, sandbox
from harness_adapters.doctor.line import Line, Status, Subject, fail, ok, warn
from harness_adapters.errors import InfraError, MissingPrerequisite
from harness_adapters.plugins import BUILTIN, PluginInfo, Plugins
from harness_adapters.sandbox.base import Isolation
from harness_adapters.sandbox.bubblewrap import Bubblewrap
from harness_adapters.sandbox.docker.provider import Docker
from harness_adapters.types import Toolchain

Usage = namedtuple("Usage", "total used free")
SUBJECT = Subject(plugins=Plugins())


def refused(distribution: str) -> PluginInfo:
    return PluginInfo(
        name="x",
        module="x",
        distribution=distribution,
        version="1",
        status="refused",
        reason="ImportError: no y",
    )


async def test_refused_plugins_are_named_with_the_reason() -> None:
    loaded = Plugins()
    loaded.infos = [refused("someones-plugin"), refused(BUILTIN)]
    theirs, ours = await plugins.check(Subject(plugins=loaded))
    assert (theirs.status, ours.status) == (Status.WARN, Status.FAIL)
    assert "someones-plugin" in theirs.text and "no y" in theirs.text


@pytest.mark.parametrize(
    ("free", "status"), [(9 << 30, Status.OK), (1 << 30, Status.WARN), (1 << 20, Status.FAIL)]
)
async def test_room(
    free: int, status: Status, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("HA_CACHE", str(tmp_path / "not/there/yet"))
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    monkeypatch.setattr(shutil, "disk_usage", lambda place: Usage(0, 0, free))
    lines = await disk.check(SUBJECT)
    assert [line.status for line in lines] == [status] * 3
    if status is not Status.OK:
        assert ["HA_CACHE" in line.fix for line in lines] == [True, False, False]


async def test_what_a_sandbox_does_not_isolate_is_listed(monkeypatch: pytest.MonkeyPatch) -> None:
    async def probed(self: Bubblewrap) -> Isolation:
        return Isolation(ok=True, lost=("roles share one uid",))

    monkeypatch.setattr(Bubblewrap, "probe", probed)
    good, lost = await sandbox.check(SUBJECT)
    assert good.status is Status.OK
    assert lost.status is Status.WARN and "roles share one uid" in lost.text


async def test_a_sandbox_that_leaks_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    async def probed(self: Bubblewrap) -> Isolation:
        return Isolation(ok=False, reason="it reaches the network")

    monkeypatch.setattr(Bubblewrap, "probe", probed)
    (line,) = await sandbox.check(SUBJECT)
    assert line.status is Status.FAIL and "reaches the network" in line.text and line.fix


async def test_docker_is_a_wish_and_its_lack_no_failure(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DOCKER_HOST", "unix:///nowhere/docker.sock")
    (line,) = await docker.check(SUBJECT)
    assert line.status is Status.WARN and "unix:///nowhere/docker.sock" in line.text
    assert "harness-adapters[docker]" in line.fix and "\n" not in line.text


async def test_what_docker_does_not_isolate_is_listed(monkeypatch: pytest.MonkeyPatch) -> None:
    async def probed(self: Docker) -> Isolation:
        return Isolation(ok=True, lost=("memory is not limited",))

    monkeypatch.setattr(Docker, "probe", probed)
    good, lost = await docker.check(SUBJECT)
    assert good.status is Status.OK
    assert lost.status is Status.WARN and "memory is not limited" in lost.text


async def test_looking_for_node_installs_nothing(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv("HA_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    (line,) = await node.check(SUBJECT)
    assert line.status is Status.WARN and "npm" not in line.text
    assert not (tmp_path / "cache").exists()


async def test_a_check_that_cannot_be_made_is_a_failure_and_the_others_go_on() -> None:
    async def broken(subject: Subject) -> list[Line]:
        raise InfraError("the wire is cut")

    async def fine(subject: Subject) -> list[Line]:
        return [ok("fine")]

    found = await checks.examine(SUBJECT, {"broken": broken, "fine": fine})
    assert found["broken"][0].status is Status.FAIL
    assert "the wire is cut" in found["broken"][0].text
    assert found["fine"] == [ok("fine")]


@pytest.mark.parametrize(
    ("line", "code"), [(ok("a"), 0), (warn("b", "do"), 0), (fail("c", "do"), 1)]
)
def test_the_command(
    line: Line, code: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    async def check(subject: Subject) -> list[Line]:
        return [line]

    monkeypatch.setattr(checks, "CHECKS", {"one": check})
    with pytest.raises(SystemExit) as ended:
        main(["doctor", "--json"])
    said = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert ended.value.code == code and said["ok"] is (code == 0)
    row = {"check": "one", "status": str(line.status), "text": line.text, "fix": line.fix}
    assert said["checks"] == [row]
    with pytest.raises(SystemExit):
        main(["doctor"])
    shown = capsys.readouterr().out
    assert line.text in shown and line.fix in shown


@pytest.mark.parametrize(
    ("engine", "said"),
    [
        ("scriptd:oracle", "did you mean"),
        ("", "no engine ''"),
        ("ftp://127.0.0.1/", "no engine 'ftp://127.0.0.1/'"),
    ],
)
def test_an_engine_that_cannot_be_is_bad_input(
    engine: str, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["doctor", "--engine", engine])
    told = capsys.readouterr().err
    assert ended.value.code == 2 and said in told and len(told.splitlines()) == 1


async def test_without_bubblewrap_the_fix_names_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nonexistent")
    (line,) = await sandbox.check(SUBJECT)
    assert line.status is Status.FAIL and "install" in line.fix and "bubblewrap" in line.fix


async def test_a_state_folder_that_cannot_be_is_one_line(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    file = tmp_path / "file"
    file.write_text("")
    monkeypatch.setenv("XDG_STATE_HOME", str(file))
    found = await checks.examine(SUBJECT, {"disk": disk.check})
    (line,) = found["disk"]
    assert line.status is Status.FAIL and "XDG_STATE_HOME" in line.text


class Driver:
    """One whose installation ends as it is told."""

    def __init__(self, error: Exception) -> None:
        self.error = error

    async def install(self) -> Toolchain:
        raise self.error


@pytest.mark.parametrize(
    ("error", "status", "said"),
    [
        (MissingPrerequisite("it is not installed"), Status.WARN, "h: it is not installed"),
        (InfraError("no room"), Status.FAIL, "h: no room"),
        (KeyError("x"), Status.FAIL, "h: KeyError: 'x'"),
    ],
)
async def test_a_harness_that_cannot_be_had_is_a_line(
    error: Exception, status: Status, said: str
) -> None:
    own = Plugins()
    own.harnesses.registrar("d", "1")("h", lambda options: Driver(error), summary="")
    (line,) = await harnesses.check(Subject(plugins=own))
    assert (line.status, line.text) == (status, said)
    assert line.fix


async def test_an_installed_harness_runs_a_command() -> None:
    """Of the built-in ones the quickest; whether the others are here depends on who tests."""
    own = Plugins.load(only={"pi"})
    await own.harnesses.create("pi").install()
    (line,) = await harnesses.check(Subject(plugins=own))
    assert (line.status, line.fix) == (Status.OK, "")
    assert line.text.startswith("pi 0.")
