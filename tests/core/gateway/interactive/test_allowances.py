from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness_adapters.errors import BadInput
from harness_adapters.gateway.guard.calls import ToolCall
from harness_adapters.gateway.guard.ledger import Ledger
from harness_adapters.gateway.interactive.allowances import (
    Allowed,
    GuardFile,
    fingerprint,
    project_file,
)
from harness_adapters.types import TaskPolicy

ONCE = Allowed(rule="a.b", call="c1", once=True, note="bash")
ALWAYS = Allowed(rule="a.b", call="c2", note="bash")


@pytest.fixture
def file(tmp_path: Path) -> GuardFile:
    return GuardFile(tmp_path / "deep" / "guard.toml")


def test_without_a_file_the_defaults_hold(file: GuardFile) -> None:
    now = file.current()
    assert (now.log_only, now.flag_only, now.allowed) == (False, ("seen_hosts",), ())
    assert not file.path.parent.exists()


def test_permissions_are_kept_and_used_up(file: GuardFile) -> None:
    file.add([ONCE, ALWAYS])
    file.add([ALWAYS])
    assert file.current().allowed == (ONCE, ALWAYS)
    assert file.current().permits(["a.b"], "c1")
    assert not file.current().permits(["a.b", "other"], "c1")
    assert not file.current().permits(["a.b"], "c3")
    assert not file.current().permits([], "c1")
    file.use_up("c1")
    file.use_up("c2")
    assert file.current().allowed == (ALWAYS,)
    assert file.path.stat().st_mode & 0o077 == 0


def test_what_the_person_wrote_stays_when_a_permission_is_used_up(file: GuardFile) -> None:
    file.path.parent.mkdir()
    file.path.write_text("# mine\nlog_only = false\n")
    file.add([ONCE, ALWAYS])
    file.use_up("c1")
    assert file.path.read_text().startswith("# mine\nlog_only = false\n")
    assert file.current().allowed == (ALWAYS,)


@pytest.mark.parametrize(
    "text",
    [
        "allow = [{rule = 'a.b', call = 'c1', once = true}]",
        "  [[allow]]\nrule = 'a.b'\ncall = 'c1'\nonce = true",
        '[[allow]]\nrule = \'a.b\'\ncall = \'c1\'\nonce = true\nnote = """\n[[allow]]\n"""',
    ],
)
def test_a_permission_that_cannot_be_removed_is_not_used_up_in_silence(
    file: GuardFile, text: str
) -> None:
    file.path.parent.mkdir()
    file.path.write_text(text)
    assert file.current().permits(["a.b"], "c1")
    with pytest.raises(BadInput):
        file.use_up("c1")
    assert file.path.read_text() == text


@given(st.text(max_size=20), st.text(min_size=1, max_size=20), st.booleans())
def test_any_text_can_be_written(note: str, rule: str, once: bool) -> None:
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        entry = Allowed(rule=rule, call="c1", once=once, note=note)
        file = GuardFile(Path(folder) / "guard.toml")
        file.add([entry, ALWAYS])
        assert file.current().allowed == (entry, ALWAYS)
        file.use_up("c1")
        assert file.current().allowed == ((ALWAYS,) if once else (entry, ALWAYS))


def test_a_change_is_seen_and_a_broken_file_keeps_the_last_good_one(
    file: GuardFile, caplog: pytest.LogCaptureFixture
) -> None:
    file.path.parent.mkdir()
    file.path.write_text("log_only = true")
    assert file.current().log_only
    file.path.write_text("log_onyl = false")
    assert file.current().log_only
    assert file.current().log_only
    assert caplog.text.count("did you mean 'log_only'") == 1
    assert "log_onyl" in file.problem
    with pytest.raises(BadInput):
        file.add([ONCE])
    file.path.write_text("log_only = false # better")
    assert not file.current().log_only and not file.problem
    file.path.unlink()
    assert file.current().flag_only == ("seen_hosts",)


@pytest.mark.parametrize(
    "text",
    [
        "log_only = 1",
        "flag_only = 'seen_hosts'",
        "server_tools = 'maybe'",
        "allow = 3",
        "[[allow]]\nrule = 'a'",
        "[[allow]]\nrule = 'a'\ncall = ''",
        "[[allow]]\nrule = 'a'\ncall = 'b'\nonce = 'yes'",
        "[[allow]]\nrule = 'a'\ncall = 'b'\nfor = 'ever'",
        "= broken",
        "\udcff",
    ],
)
def test_a_file_that_is_broken_at_the_start_is_refused(tmp_path: Path, text: str) -> None:
    path = tmp_path / "guard.toml"
    path.write_bytes(text.encode(errors="surrogateescape"))
    with pytest.raises(BadInput, match=r"guard\.toml"):
        GuardFile(path)


def mark(name: str, raw: str) -> str:
    return fingerprint(ToolCall(id="", name=name, raw=raw, ledger=Ledger(TaskPolicy())))


def test_a_fingerprint_is_of_what_the_call_does() -> None:
    one = mark("bash", '{"command": "ls", "description": "look", "timeout": 5}')
    assert one == mark("bash", '{"timeout": 5, "description": "look again", "command": "ls"}')
    assert one != mark("bash", '{"command": "ls -a", "description": "look", "timeout": 5}')
    assert one != mark("exec", '{"command": "ls", "timeout": 5}')
    assert mark("note", '{"description": "a"}') != mark("note", '{"description": "b"}')
    assert mark("bash", '{"command": "ls"') != mark("bash", '{"command": "ls"}')


def test_permissions_lie_outside_the_project_one_file_each(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    one, other = tmp_path / "a" / "site", tmp_path / "b" / "site"
    assert project_file(one) != project_file(other)
    assert project_file(one).is_relative_to(tmp_path / "config")
