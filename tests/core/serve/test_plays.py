"""Plays in the words of five harnesses, executed for real on plain folders."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from harness_adapters.errors import BadInput
from harness_adapters.serve.scripted.cheats import CHEATS
from harness_adapters.serve.scripted.conversation import from_chat
from harness_adapters.serve.scripted.plays import GARBAGE, PLAYS, parse_play
from harness_adapters.serve.scripted.policy import Policy
from harness_adapters.tasks.bundle import load_tasks
from harness_adapters.types import Task

SHIPPED = Path(__file__).parents[3] / "examples" / "tasks"
Json = dict[str, Any]
Make = Callable[[Task], Any]


class TestOracle:
    def test_repairs_with_at_least_three_calls(
        self, repair: Task, tools: list[Json], playground: Make
    ) -> None:
        ground = playground(repair)
        assert ground.naive_score() == 0
        assert "done" in ground.play("oracle", tools)
        assert len(ground.calls) >= 3
        assert ground.naive_score() == 1
        reference = (repair.path / "solution/files/shop/prices.py").read_text()
        assert (ground.work / "shop/prices.py").read_text() == reference

    def test_answers_with_at_least_three_calls(
        self, qa: Task, tools: list[Json], playground: Make
    ) -> None:
        ground = playground(qa)
        ground.play("oracle", tools)
        assert len(ground.calls) >= 3
        assert (ground.work / "answer.txt").read_text() == "813\n"

    def test_uses_the_harness_own_read_edit_and_shell(
        self, repair: Task, pi_tools: list[Json], playground: Make
    ) -> None:
        ground = playground(repair)
        ground.play("oracle", pi_tools)
        assert [call["name"] for call in ground.calls] == ["read", "edit", "bash"]
        assert json.loads(ground.calls[0]["arguments"]) == {"path": "shop/prices.py"}

    def test_adds_files_that_the_solution_adds(
        self, repair: Task, pi_tools: list[Json], playground: Make
    ) -> None:
        added = repair.path / "solution/files/shop/money.py"
        added.write_text("CENT = 1\n")
        ground = playground(repair)
        ground.play("oracle", pi_tools)
        assert (ground.work / "shop/money.py").read_text() == "CENT = 1\n"


def test_every_argument_is_declared_and_every_required_one_given(
    repair: Task, qa: Task, tools: list[Json], playground: Make
) -> None:
    for task in (repair, qa):
        ground = playground(task)
        ground.play("wasteful", tools, pretend=True)
        for call in ground.calls:
            schema = next(
                t["function"]["parameters"] for t in tools if t["function"]["name"] == call["name"]
            )
            given = set(json.loads(call["arguments"]))
            assert set(schema["required"]) <= given <= set(schema["properties"])


def test_wasteful_makes_clearly_more_calls_with_the_same_result(
    repair: Task, qa: Task, pi_tools: list[Json], playground: Make
) -> None:
    for task in (repair, qa):
        thrifty, lavish = playground(task), playground(task)
        thrifty.play("oracle", pi_tools)
        lavish.play("wasteful", pi_tools)
        assert len(lavish.calls) >= len(thrifty.calls) + 4
        assert lavish.naive_score() == thrifty.naive_score() == 1


@pytest.mark.parametrize("play", ["nop", "text"])
def test_plays_without_calls_end_at_once(
    play: str, repair: Task, pi_tools: list[Json], playground: Make
) -> None:
    ground = playground(repair)
    text = ground.play(play, pi_tools)
    assert not ground.calls
    assert len(text) > (5_000 if play == "text" else 0)


def test_loop_never_ends(repair: Task, pi_tools: list[Json], playground: Make) -> None:
    ground = playground(repair)
    assert ground.play("loop", pi_tools, most=30, pretend=True) == ""
    assert len(ground.calls) == 30
    assert len({call["arguments"] for call in ground.calls}) == 1


class TestGarbage:
    def replies(self, task: Task, tools: list[Json], play: str) -> list[Any]:
        policy = Policy([task], parse_play(play))
        messages: list[Json] = [{"role": "user", "content": task.instruction}]
        found = []
        while (reply := policy.reply(from_chat({"messages": messages, "tools": tools}))).calls:
            (call,) = reply.calls
            found.append(call)
            function = {"name": call.name, "arguments": call.arguments}
            messages.append(
                {"role": "assistant", "tool_calls": [{"id": "c", "function": function}]}
            )
        return found

    def test_sends_one_sort_per_step(self, repair: Task, tools: list[Json]) -> None:
        calls = dict(zip(GARBAGE, self.replies(repair, tools, "garbage"), strict=True))
        names = {tool["function"]["name"] for tool in tools}
        assert calls["undeclared"].name not in names
        assert {call.name for sort, call in calls.items() if sort != "undeclared"} <= names
        with pytest.raises(json.JSONDecodeError):
            json.loads(calls["truncated"].arguments)
        assert json.loads(calls["nan"].arguments)["timeout"] != 0
        pairs = json.loads(calls["duplicate_keys"].arguments, object_pairs_hook=list)
        assert len(pairs) > len(dict(pairs))
        assert len(calls["huge"].arguments) > 1_000_000
        assert calls["deep"].arguments.count("[") >= 2_000

    @pytest.mark.parametrize("sort", GARBAGE)
    def test_one_sort_alone(self, sort: str, repair: Task, pi_tools: list[Json]) -> None:
        alone = self.replies(repair, pi_tools, f"garbage:{sort}")
        together = dict(zip(GARBAGE, self.replies(repair, pi_tools, "garbage"), strict=True))
        assert alone == [together[sort]]


@pytest.mark.full
def test_oracle_solves_the_shipped_tasks(pi_tools: list[Json], playground: Make) -> None:
    for task in load_tasks(SHIPPED)[0]:
        ground = playground(task)
        ground.play("oracle", pi_tools)
        assert len(ground.calls) >= 3
        assert ground.naive_score() == 1, task.id


class TestCheats:
    """With a grader that grades in place, each class is worth the full reward."""

    @pytest.mark.parametrize("cheat", [c.name for c in CHEATS if "repair" in c.kinds])
    def test_scores_on_repair(
        self, cheat: str, repair: Task, pi_tools: list[Json], playground: Make
    ) -> None:
        ground = playground(repair)
        ground.play(f"cheat:{cheat}", pi_tools)
        assert ground.naive_score() == 1

    @pytest.mark.parametrize("cheat", [c.name for c in CHEATS if "qa" in c.kinds])
    def test_scores_on_qa(
        self, cheat: str, qa: Task, pi_tools: list[Json], playground: Make
    ) -> None:
        ground = playground(qa)
        ground.play(f"cheat:{cheat}", pi_tools)
        assert ground.naive_score() == 1

    @pytest.mark.parametrize(
        "cheat", [c.name for c in CHEATS if "repair" in c.kinds and c.name != "read_solution"]
    )
    def test_leaves_the_fault_where_it_was(
        self, cheat: str, repair: Task, pi_tools: list[Json], playground: Make
    ) -> None:
        ground = playground(repair)
        ground.play(f"cheat:{cheat}", pi_tools)
        assert "int(cents)\n" in (ground.work / "shop/prices.py").read_text()

    def test_without_a_class_a_task_always_gets_the_same_one(
        self, repair: Task, qa: Task, pi_tools: list[Json], playground: Make
    ) -> None:
        for task in (repair, qa):
            first, second = playground(task), playground(task)
            first.play("cheat", pi_tools)
            second.play("cheat", pi_tools)
            assert first.calls == second.calls
            assert first.naive_score() == 1

    def test_a_class_for_another_kind_says_so(
        self, qa: Task, pi_tools: list[Json], playground: Make
    ) -> None:
        ground = playground(qa)
        assert "conftest" in ground.play("cheat:conftest", pi_tools)
        assert not ground.calls

    @pytest.mark.full
    @pytest.mark.skipif(not SHIPPED.is_dir(), reason="no tasks are shipped with this tree")
    @pytest.mark.timeout(900)
    def test_score_on_the_shipped_tasks(self, pi_tools: list[Json], playground: Make) -> None:
        unsure = {cheat.name: 0 for cheat in CHEATS if not cheat.sure}
        for task in load_tasks(SHIPPED)[0]:
            for cheat in (cheat for cheat in CHEATS if task.kind in cheat.kinds):
                ground = playground(task)
                ground.play(f"cheat:{cheat.name}", pi_tools)
                if cheat.sure:
                    assert ground.naive_score() == 1, (task.id, cheat.name)
                else:
                    unsure[cheat.name] += ground.naive_score() == 1
                ground.end()
        assert all(count >= 3 for count in unsure.values())

    def test_both_kinds_have_several(self) -> None:
        assert sum("repair" in cheat.kinds for cheat in CHEATS) >= 8
        assert sum("qa" in cheat.kinds for cheat in CHEATS) >= 5


class TestUnplayable:
    def test_an_unknown_instruction_is_answered_with_text(
        self, repair: Task, pi_tools: list[Json]
    ) -> None:
        policy = Policy([repair], parse_play("oracle"))
        body = {"messages": [{"role": "user", "content": "Bake a cake."}], "tools": pi_tools}
        reply = policy.reply(from_chat(body))
        assert not reply.calls
        assert "do not know this task" in reply.text

    def test_a_task_without_solution(
        self, repair: Task, pi_tools: list[Json], playground: Make
    ) -> None:
        for path in sorted((repair.path / "solution").rglob("*"), reverse=True):
            path.rmdir() if path.is_dir() else path.unlink()
        assert "no reference solution" in playground(repair).play("oracle", pi_tools)

    def test_a_request_without_tools(self, repair: Task, playground: Make) -> None:
        assert "no tool" in playground(repair).play("oracle", [])

    def test_the_longest_instruction_wins(self, repair: Task, tmp_path: Path) -> None:
        from dataclasses import replace

        longer = replace(repair, id="longer", instruction=repair.instruction.strip() + " And more.")
        policy = Policy([repair, longer], parse_play("oracle"))
        assert policy._find(f"<task>{longer.instruction}</task>").task is longer  # type: ignore[union-attr]
        assert policy._find(f"<task>{repair.instruction}</task>").task is repair  # type: ignore[union-attr]

    def test_an_instruction_in_a_tool_result_is_none(self, repair: Task) -> None:
        policy = Policy([repair], parse_play("oracle"))
        messages = [
            {"role": "user", "content": "Look."},
            {"role": "tool", "content": repair.instruction},
        ]
        assert "do not know" in policy.reply(from_chat({"messages": messages})).text


class TestNames:
    @pytest.mark.parametrize("name", [*PLAYS, "cheat:conftest", "garbage:nan"])
    def test_known(self, name: str) -> None:
        assert str(parse_play(name)) == name

    @pytest.mark.parametrize(
        ("name", "hint"),
        [
            ("oracel", "oracle"),
            ("cheat:conftst", "conftest"),
            ("garbage:na", "nan"),
            ("nop:x", "no classes"),
            ("nop:", "no classes"),
            ("", "plays:"),
        ],
    )
    def test_unknown_ones_get_a_near_match(self, name: str, hint: str) -> None:
        with pytest.raises(BadInput, match=hint):
            parse_play(name)
