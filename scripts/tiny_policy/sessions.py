"""Synthetic sessions: ways of answering a question that a careful person might take, all correct.

Some go straight to the answer; most look around first, work it out twice and check what they
wrote. How thorough a session is, is drawn once per session.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass

from commands import command, printed

from harness_adapters.tasks.questions import Question
from harness_adapters.tasks.questions.query import Op

THOROUGHNESS = ((0.25, 0.15), (0.75, 0.45), (0.92, 0.40))
"""The chance of one more step where one may stop, and how often a session has it."""
WRITTEN_BY_HAND = 0.12  # the printed result is copied with the write tool instead of a redirect
FINAL = ("Done.", "The answer is in answer.txt.")
ANSWER = "answer.txt"
REDIRECT = f" > {ANSWER}"


@dataclass(frozen=True, slots=True)
class Call:
    """One tool call: ``tool`` is ``shell``, ``read`` or ``write``.

    ``output`` is what the shell command prints or the whole text of the file that is read; each
    harness makes its own result of it.
    """

    tool: str
    arguments: dict[str, str | int]
    output: str = ""


@dataclass(frozen=True, slots=True)
class Session:
    calls: tuple[Call, ...]
    final: str


@dataclass(slots=True)
class _Workspace:
    """The files a session sees."""

    file: str
    text: str
    answer: str | None = None

    def ls(self) -> str:
        names = [self.file] if self.answer is None else sorted([self.file, ANSWER])
        return "".join(f"{name}\n" for name in names)

    @property
    def lines(self) -> list[str]:
        return self.text.splitlines(keepends=True)


def session(question: Question, dice: random.Random, *, shortest: bool = False) -> Session:
    """One session that ends with the right answer in ``answer.txt``.

    :param shortest: only the one command that writes the answer.
    """
    (file, data), *_ = question.files.items()
    space = _Workspace(file, data.decode())
    compute = command(question.query, file)
    result = printed(question.query, space.text)
    (more,) = dice.choices(
        [chance for chance, _ in THOROUGHNESS], [share for _, share in THOROUGHNESS]
    )
    more = 0.0 if shortest else more
    calls: list[Call] = []

    def shell(line: str, output: str) -> None:
        calls.append(Call("shell", {"command": line}, output))

    looks = _looks(question, space, shell, calls)
    while looks and dice.random() < more:
        looks.pop(dice.randrange(len(looks)))()
    while len(calls) < 8 and dice.random() < more * 0.8:
        shell(compute, f"{result}\n")
        if dice.random() < 0.4:
            break
    if calls and calls[-1].output == f"{result}\n" and dice.random() < WRITTEN_BY_HAND:
        calls.append(Call("write", {"path": ANSWER, "content": result}))
        space.answer = result
    else:
        shell(f"{compute}{REDIRECT}", "")
        space.answer = f"{result}\n"
    checks = [
        lambda: shell(f"cat {ANSWER}", space.answer or ""),
        lambda: shell(f"cat {ANSWER}", space.answer or ""),
        lambda: shell("ls", space.ls()),
        lambda: shell(compute, f"{result}\n"),
        lambda: shell(f"wc -l {file}", f"{len(space.lines)} {file}\n"),
    ]
    while checks and len(calls) < 14 and dice.random() < more:
        checks.pop(dice.randrange(len(checks)))()
    return Session(tuple(calls), dice.choice(FINAL))


def _looks(
    question: Question,
    space: _Workspace,
    shell: Callable[[str, str], None],
    calls: list[Call],
) -> list[Callable[[], None]]:
    """Ways of looking at the data, each at most once."""
    file, lines = space.file, space.lines

    def read() -> None:
        calls.append(Call("read", {"path": file, "limit": 2}, space.text))

    looks: list[Callable[[], None]] = [
        lambda: shell("ls", space.ls()),
        lambda: shell(f"head -n 1 {file}", lines[0]),
        lambda: shell(f"head -n 2 {file}", "".join(lines[:2])),
        lambda: shell(f"wc -l {file}", f"{len(lines)} {file}\n"),
        lambda: shell(f"tail -n 1 {file}", lines[-1]),
        read,
    ]
    named = [one.value for one in question.query.where if one.op is Op.IS]
    if named:
        found = sum(str(named[0]) in line for line in lines)
        looks.append(lambda: shell(f"grep -c {named[0]} {file}", f"{found}\n"))
    return looks
