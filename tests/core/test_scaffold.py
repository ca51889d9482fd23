"""Writing a new distribution: names, folders, and nothing half done. That they work is tested in
tests/examples/test_plugins.py, with wheels."""

from __future__ import annotations

import ast
import tomllib
from pathlib import Path

import pytest

from harness_adapters import BadInput
from harness_adapters.cli import main
from harness_adapters.scaffold import KINDS, write_distribution


@pytest.mark.parametrize("kind", KINDS)
def test_a_distribution_is_complete(kind: str, tmp_path: Path) -> None:
    folder = write_distribution(kind, "my-own2", tmp_path)

    assert folder == tmp_path / f"ha-{kind}-my-own2"
    assert list(tmp_path.iterdir()) == [folder]
    project = tomllib.loads((folder / "pyproject.toml").read_text())
    module = f"ha_{kind}_my_own2"
    assert project["project"]["entry-points"]["harness_adapters"] == {"my-own2": module}
    assert (folder / "src" / module / "py.typed").exists()
    for path in folder.rglob("*"):
        assert "__module__" not in path.name and not path.name.endswith(".tmpl")
        if path.is_file():
            assert "{{" not in path.read_text().replace('{{"', ""), path
        if path.suffix == ".py":
            ast.parse(path.read_text())
    assert (folder.stat().st_mode & 0o700) == 0o700


@pytest.mark.parametrize(
    "name",
    [
        *("", ".", "..", "../x", "a/b", "/tmp/x", "-x", "x-", "a--b", "Sudo", "no sudo", "a_b"),
        *("é", "1a", "a\n", "x" * 41, "class", "None"),
    ],
)
def test_a_name_that_is_no_plain_segment_is_refused(name: str, tmp_path: Path) -> None:
    with pytest.raises(BadInput):
        write_distribution("guard", name, tmp_path)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("kind", "name", "why"),
    [
        ("gaurd", "x", "did you mean 'guard'"),
        ("guard", "tamper", "'harness-adapters' already"),
        ("guard", "declared-tools", "'harness-adapters' already"),
        ("guard", "pi", "installed already"),
    ],
)
def test_a_taken_name_or_unknown_kind_is_refused(
    kind: str, name: str, why: str, tmp_path: Path
) -> None:
    with pytest.raises(BadInput, match=why):
        write_distribution(kind, name, tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_exists_stays_as_it_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "ha-guard-mine").mkdir()
    (tmp_path / "ha-guard-mine" / "work.py").write_text("# weeks of it\n")

    with pytest.raises(SystemExit) as end:
        main(["plugin", "new", "guard", "mine"])

    assert end.value.code == 2
    assert "exists already" in capsys.readouterr().err
    assert [path.name for path in tmp_path.rglob("*")] == ["ha-guard-mine", "work.py"]


def test_a_link_in_its_place_counts_as_a_folder(tmp_path: Path) -> None:
    (tmp_path / "ha-guard-mine").symlink_to(tmp_path / "nowhere")
    with pytest.raises(BadInput, match="exists already"):
        write_distribution("guard", "mine", tmp_path)


def test_a_fault_in_the_middle_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(self: Path, *arguments: object, **options: object) -> int:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "write_text", full)
    with pytest.raises(BadInput, match="No space left"):
        write_distribution("guard", "mine", tmp_path)
    assert list(tmp_path.iterdir()) == []
