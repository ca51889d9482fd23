"""The synthetic sessions that the policy learned from: right, varied, true to the harnesses."""

from __future__ import annotations

import importlib
import random
import subprocess
from pathlib import Path
from typing import Any

import pytest

from harness_adapters.quickstart.policy import policy_folder
from harness_adapters.quickstart.questions import questions
from harness_adapters.tasks.questions import Question

HARNESSES = ("pi", "opencode", "hermes")


@pytest.fixture(scope="module")
def asked() -> list[Question]:
    return list(questions(21, 12, "train"))


def module(name: str) -> Any:
    return importlib.import_module(name)


def test_the_command_prints_what_the_session_says_and_that_is_the_answer(
    asked: list[Question], tmp_path: Path
) -> None:
    commands = module("commands")
    for question in asked:
        ((file, data),) = question.files.items()
        folder = tmp_path / question.id
        folder.mkdir()
        (folder / file).write_bytes(data)
        line = commands.command(question.query, file)
        ran = subprocess.run(
            ["bash", "-c", line], cwd=folder, capture_output=True, text=True, check=True
        )
        printed = commands.printed(question.query, data.decode())
        if question.answer.type == "number":  # sums of floats are rounded otherwise by Python 3.12
            assert float(ran.stdout) == pytest.approx(float(printed))
        else:
            assert ran.stdout == printed + "\n"
        answer = question.answer
        if answer.type == "number":
            assert isinstance(answer.value, int | float)
            assert float(ran.stdout) == pytest.approx(answer.value, abs=answer.abs_tol or 1e-6)
        else:
            assert ran.stdout.strip() == answer.value


def test_sessions_are_of_every_length(asked: list[Question]) -> None:
    dice = random.Random(1)
    lengths = [
        len(module("sessions").session(question, dice).calls)
        for question in asked
        for _ in range(40)
    ]
    assert min(lengths) == 1
    assert 12 <= max(lengths) < 15  # 15 calls earn no bonus
    assert 6 <= sum(lengths) / len(lengths) <= 11


def test_every_session_ends_with_the_answer_written(asked: list[Question]) -> None:
    dice = random.Random(2)
    for question in asked:
        calls = module("sessions").session(question, dice).calls
        assert any(
            call.tool == "write" or str(call.arguments["command"]).endswith("> answer.txt")
            for call in calls
            if call.tool != "read"
        )


@pytest.mark.parametrize("harness", HARNESSES)
def test_the_pieces_are_the_whole_conversation(asked: list[Question], harness: str) -> None:
    """What is trained on is what a server renders of the messages, prompt by prompt."""
    rendering, prompts = module("rendering"), module("harness_prompts")
    prompt = prompts.prompt(harness)
    session = module("sessions").session(asked[0], random.Random(5))
    pieces = rendering.pieces(prompt, asked[0], session, random.Random(9))
    messages: list[dict[str, Any]] = [
        {"role": "system", "content": prompt.filled(random.Random(9))},
        {"role": "user", "content": prompt.instruction(asked[0].instruction)},
    ]
    read = iter(text for text, written in pieces if not written)
    shown = ""
    for number, call in enumerate((*session.calls, None)):
        shown += next(read)
        assert rendering.render(messages, prompt.tools, True) == shown
        shown += pieces[2 * number + 1][0]
        if call is not None:
            name, arguments, result = prompt.call(call)
            function = {"name": name, "arguments": arguments}
            messages += [
                {"role": "assistant", "content": None, "tool_calls": [{"function": function}]},
                {"role": "tool", "content": result},
            ]


@pytest.mark.parametrize("harness", HARNESSES)
def test_a_session_is_a_few_hundred_tokens_and_survives_them(
    asked: list[Question], harness: str
) -> None:
    from tokenizers import Tokenizer

    tokenizer = Tokenizer.from_file(str(policy_folder() / "tokenizer.json"))
    rendering, prompts = module("rendering"), module("harness_prompts")
    dice = random.Random(3)
    for question in asked:
        session = module("sessions").session(question, dice)
        pieces = rendering.pieces(prompts.prompt(harness), question, session, dice)
        ids = [tokenizer.encode(text).ids for text, _ in pieces]
        texts = [tokenizer.decode(one, skip_special_tokens=False) for one in ids]
        assert texts == [text for text, _ in pieces]
        # What was sampled piece by piece is what the whole is read as in the next prompt.
        whole = tokenizer.encode("".join(text for text, _ in pieces)).ids
        assert whole == [token for one in ids for token in one]
        assert len(whole) < 1200


def test_every_name_is_one_token() -> None:
    from tokenizers import Tokenizer

    tokenizer = Tokenizer.from_file(str(policy_folder() / "tokenizer.json"))
    names = module("vocabulary").names()
    assert len(names) > 200
    assert all(len(tokenizer.encode(name).ids) == 1 for name in names)
