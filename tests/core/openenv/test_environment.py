"""The real OpenEnv: its server, its client, and our tasks and rollouts between them."""

from __future__ import annotations

import re
import runpy
import shutil
import socket
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import pytest

from harness_adapters.errors import BadInput
from harness_adapters.tasks.bundle import load_tasks

pytest.importorskip("openenv", reason="needs OpenEnv: the extra openenv")
pytestmark = [
    pytest.mark.filterwarnings("default"),  # theirs, and of what they build on
    pytest.mark.timeout(600),  # importing it takes 8 s on a quiet machine
    pytest.mark.xdist_group("openenv"),
]

EXAMPLES = Path(__file__).parents[3] / "examples"
QUESTION, BUG = "qa-accounts-0012", "repair-bookings"


@pytest.fixture
def tasks(tmp_path: Path) -> Path:
    for name in (QUESTION, BUG):
        shutil.copytree(EXAMPLES / "tasks" / name, tmp_path / "tasks" / name)
    return tmp_path / "tasks"


@contextmanager
def environment(tasks: Path, **options: Any) -> Iterator[Any]:
    from harness_adapters.openenv.environment import TaskEnvironment

    with closing(TaskEnvironment(load_tasks(tasks)[0], **options)) as opened:
        yield opened


def action(**fields: Any) -> Any:
    from harness_adapters.openenv.environment import TaskAction

    return TaskAction(**fields)


@contextmanager
def served(tasks: Path, **options: Any) -> Iterator[str]:
    import uvicorn

    from harness_adapters.openenv.environment import make_app

    listener = socket.create_server(("127.0.0.1", 0))
    server = uvicorn.Server(uvicorn.Config(make_app(tasks, **options), log_level="warning"))
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]})
    thread.start()
    try:
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"
    finally:
        server.should_exit = True
        thread.join()
        listener.close()


def test_a_task_is_played_over_the_wire(tasks: Path) -> None:
    from openenv.core.generic_client import GenericEnvClient

    solution = (tasks / BUG / "solution/files/bookings/interval.py").read_text()
    with served(tasks) as url, GenericEnvClient(base_url=url).sync() as client:
        start = client.reset(task=BUG)
        assert start.observation["instruction"] == (tasks / BUG / "instruction.md").read_text()
        assert not start.done
        listed = client.step({"command": "pwd; ls; cat /tests/test.sh; exit 4"})
        assert listed.observation["stdout"].split()[:2] == ["/work", "README.md"]
        assert "No such file" in listed.observation["stderr"]
        assert listed.observation["returncode"] == 4
        assert client.state()["task"] == BUG
        write = f"cat > bookings/interval.py <<'EOF_'\n{solution}\nEOF_"
        assert client.step({"command": write}).observation["returncode"] == 0
        done = client.step({"do": "submit"})
        assert (done.done, done.reward) == (True, 1.0)

        client.reset(task=BUG)
        assert client.step({"do": "submit"}).reward == 0.0


def test_a_rollout_is_played_by_the_real_harness(tasks: Path) -> None:
    from openenv.core.harness.training import TrainingTrace

    with environment(tasks, engine="scripted:oracle", harness="pi") as opened:
        opened.reset(task=QUESTION)
        played = opened.step(action(do="rollout"))
    assert (played.done, played.outcome) == (True, "solved")
    assert played.reward > 0.9
    trace = TrainingTrace.model_validate(played.training_trace)
    assert len(trace.turns) > 1
    assert sum(map(sum, (turn.loss_mask for turn in trace.turns))) > 0


def test_what_there_is_to_play(tasks: Path) -> None:
    with environment(tasks) as opened:
        assert opened.list_splits() == ["train"]
        assert opened.num_tasks("train") == 2
        assert opened.get_task("train", 1) == {"id": BUG, "index": 1, "kind": "repair"}
        assert [one["id"] for one in opened.get_task_range("train", 0, 1)] == [QUESTION]
        opened.reset(split="train", index=1, episode_id="e")
        assert (opened.state.task, opened.state.episode_id) == (BUG, "e")
        opened.reset(seed=3)
        assert opened.state.task == BUG
        with pytest.raises(BadInput, match=r"no task 'repair-booking'.*repair-bookings"):
            opened.reset(task="repair-booking")
        with pytest.raises(BadInput, match="2 tasks in train: no number 2"):
            opened.reset(split="train", index=2)


def test_steps_that_cannot_be_taken(tasks: Path) -> None:
    with environment(tasks) as opened:
        with pytest.raises(BadInput, match="reset first"):
            opened.step(action(command="true"))
        opened.reset(task=QUESTION)
        slow = opened.step(action(command="sleep 100", seconds=0.2))
        assert slow.timed_out
        offline = opened.step(action(command="exec 3<>/dev/tcp/1.1.1.1/53"))
        assert offline.returncode != 0
        with pytest.raises(BadInput, match="no engine was named"):
            opened.step(action(do="rollout"))
        with pytest.raises(BadInput, match="reset first"):
            opened.step(action(do="submit"))


def test_the_page_serves_what_it_says(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    page = (EXAMPLES.parent / "docs" / "harbor.md").read_text()
    found = re.search(r"\$ cat serve\.py\n(.*?)\$ uvicorn serve:app", page, re.S)
    assert found is not None
    (tmp_path / "serve.py").write_text(found[1])
    (tmp_path / "examples").symlink_to(EXAMPLES)
    monkeypatch.chdir(tmp_path)
    app = runpy.run_path("serve.py")["app"]
    assert {"/reset", "/step", "/ws"} <= {route.path for route in app.routes}


def test_a_broken_task_is_not_served(tasks: Path) -> None:
    from harness_adapters.openenv.environment import make_app

    (tasks / BUG / "instruction.md").write_text("")
    with pytest.raises(BadInput, match=r"instruction\.md: it is empty"):
        make_app(tasks)
