from __future__ import annotations

from collections.abc import Awaitable, Callable

import pytest

from ha_task_qa.kind import Qa
from harness_adapters import BadInput, BrokenTask, Task, Verdict
from harness_adapters.tasks.workspace import original_files

Write = Callable[..., Task]
Grade = Callable[..., Awaitable[Verdict]]
QA = Qa({})


@pytest.mark.parametrize("answer", ["12.5", "12.52\n", "12.5 metres"])
async def test_right_answers(question: Write, grade: Grade, answer: str) -> None:
    verdict = await grade(QA, question(), files={"answer.txt": answer})
    assert (verdict.passed, verdict.score, verdict.detail) == (True, 1.0, "")


@pytest.mark.parametrize(
    ("script", "detail"),
    [
        ("true", "no answer file"),
        ("echo 13 > answer.txt", "wrong answer: '13'"),
        ("printf '12.5 13' > answer.txt", "wrong answer: '12.5 13'"),
        ("printf '\\377' > answer.txt", "not UTF-8"),
        ("mkdir answer.txt", "no readable answer"),
        ("mkfifo answer.txt", "no readable answer"),
        ("ln -s /etc/hostname answer.txt", "no"),
        ("ln -s answer.txt answer.txt", "no"),
        ("ln -s /proc/self/environ answer.txt", "no"),
        ("head -c 70000 /dev/zero > answer.txt", "no readable answer"),
    ],
)
async def test_wrong_unreadable_and_missing_answers_score_nothing(
    question: Write, grade: Grade, script: str, detail: str
) -> None:
    verdict = await grade(QA, question(), script=script)
    assert (verdict.passed, verdict.score) == (False, 0.0)
    assert detail in verdict.detail


async def test_editing_the_data_helps_nobody(question: Write, grade: Grade) -> None:
    script = "echo 'name,height' > stations.csv; echo 'a,99' >> stations.csv; echo 99 > answer.txt"
    assert not (await grade(QA, question(), script=script)).passed


def test_the_answer_is_not_among_what_the_agent_sees(question: Write) -> None:
    task = question()
    assert set(original_files(task)) == {"/work/stations.csv"}
    assert QA.policy(task).protected == ()


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("tests/expected.json", '{"type": "number"}', "expected.json: value: Field required"),
        ("tests/expected.json", '{"type": "number", "value": 1, "tol": 1}', "unknown field 'tol'"),
        ("tests/expected.json", "nonsense", "expected.json: .*Invalid JSON"),
        ("task.toml", "answer_file = '../x'", "answer_file: .*below the working folder"),
        ("task.toml", "answer_fil = 'x'", "unknown field 'answer_fil'; did you mean 'answer_file'"),
    ],
)
def test_a_broken_question_is_found_before_work_starts(
    question: Write, name: str, content: str, message: str
) -> None:
    if name == "task.toml":
        toml = question().path.joinpath(name).read_text()
        content = toml.replace('answer_file = "answer.txt"', content)
    with pytest.raises(BrokenTask, match=message):
        QA.check(question({name: content}))


def test_the_kind_takes_no_options() -> None:
    with pytest.raises(BadInput, match="no option 'x'"):
        Qa({"x": 1})
