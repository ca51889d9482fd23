from __future__ import annotations

import json
import random
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

from harness_adapters.errors import BadInput
from harness_adapters.train.names import new_run_id
from harness_adapters.train.store import AdapterStore

RUN = new_run_id()


@contextmanager
def store(folder: Path) -> Iterator[AdapterStore]:
    with closing(AdapterStore(folder, model="tiny", harness="pi", run=RUN)) as opened:
        yield opened


def save(folder: Path) -> None:
    (folder / "adapter_config.json").write_text("{}")
    (folder / "adapter_model.safetensors").write_bytes(b"weights")


def test_a_version_is_a_peft_folder_with_its_own_facts(tmp_path: Path) -> None:
    with store(tmp_path) as versions:
        versions.about = {"adapted_share": 0.5}
        version = versions.add(save, step=3)
        assert version.path == tmp_path / version.name
        assert version.name == f"tiny.pi.{RUN}.v1"
        assert (version.path / "adapter_model.safetensors").read_bytes() == b"weights"
        facts = json.loads((version.path / "version.json").read_bytes())
        assert (facts["step"], facts["adapted_share"]) == (3, 0.5)
        assert versions.steps == {version.name: 3}


def test_a_version_that_cannot_be_written_has_no_name(tmp_path: Path) -> None:
    """A server that looks meanwhile sees no half of it, and the next open clears it away."""

    def crash(folder: Path) -> None:
        save(folder)
        assert [p.name for p in tmp_path.iterdir() if p.is_dir() and p.name[0] != "."] == []
        raise KeyboardInterrupt

    with store(tmp_path) as versions, pytest.raises(KeyboardInterrupt):
        versions.add(crash, step=0)
    with store(tmp_path) as versions:
        assert [path.name for path in tmp_path.iterdir()] == ["versions.log"]
        assert versions.steps == {}


def test_names_never_repeat_over_crashes_removals_and_servers_that_know_more(
    tmp_path: Path,
) -> None:
    """RF24, RF41."""
    chance = random.Random(1)
    given: list[str] = []
    while len(given) < 150:
        with store(tmp_path) as versions:
            if given and chance.random() < 0.3:
                ahead = int(given[-1].rpartition("v")[2]) + chance.randint(0, 5)
                versions.skip([f"tiny.pi.{RUN}.v{ahead}"])
                given.append(f"tiny.pi.{RUN}.v{ahead}")
            for _ in range(chance.randint(1, 12)):
                if chance.random() < 0.2:
                    with pytest.raises(OSError, match="full"):
                        versions.add(full_disk, step=0)
                    break
                version = versions.add(save, step=0)
                assert version.name not in given
                given.append(version.name)
                if chance.random() < 0.5:
                    versions.remove(version)
    numbers = [int(name.rpartition("v")[2]) for name in given]
    assert numbers == sorted(numbers)


def full_disk(folder: Path) -> None:
    save(folder)
    raise OSError("the disk is full")


def test_numbers_go_on_after_a_crash_and_above_what_servers_know(tmp_path: Path) -> None:
    with store(tmp_path) as versions:
        first = versions.add(save, step=0)
        versions.remove(first)
    with store(tmp_path) as versions:
        assert versions.steps == {first.name: 0}
        versions.skip(["base", f"tiny.pi.{new_run_id()}.v90", f"tiny.pi.{RUN}.v7"])
        assert versions.add(save, step=1).number == 8
    with store(tmp_path) as versions:
        assert versions.add(save, step=None).number == 9
        assert set(versions.steps.values()) == {0, 1}, "a proof is no policy"


def test_one_process_writes(tmp_path: Path) -> None:
    with store(tmp_path), pytest.raises(BadInput, match="another process"), store(tmp_path):
        pass
