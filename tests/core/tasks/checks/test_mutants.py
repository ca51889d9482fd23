from __future__ import annotations

import ast

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from harness_adapters.sandbox.base import FileEntry
from harness_adapters.tasks.checks.baseline import stubbed
from harness_adapters.tasks.checks.mutants import mutants, variant

BEFORE = "def same(x):\n    return x + 1\n\n\ndef fixed(x):\n    return x\n"
AFTER = '''\
"""What it is."""  # a comment


def same(x):
    return x + 1


def fixed(x):
    """Says 3."""
    if x < 3 and not x == 1:
        raise ValueError(x)
    while x > 10:
        x -= 1
    return (x
            * 2)
'''


def tree(**texts: str) -> dict[str, FileEntry]:
    return {
        name.replace("_", "."): FileEntry(content=content.encode())
        for name, content in texts.items()
    }


def made(before: dict[str, FileEntry], after: dict[str, FileEntry]) -> dict[str, str]:
    found = mutants(before, after, seed="s", limit=1000)
    return {
        what: next(e.content.decode() for name, e in one.items() if e != after.get(name))
        for what, one in found.items()
    }


def test_python_mutants_are_faults_in_what_the_solution_wrote() -> None:
    found = made(tree(m_py=BEFORE), tree(m_py=AFTER))
    whats = {what.partition(", ")[2] for what in found}
    assert {
        "Lt becomes LtE",
        "And becomes Or",
        "not is lost",
        "Eq becomes NotEq",
        "3 becomes 4",
        "if is turned round",
        "a statement is lost",
        "Mult becomes Add",
        "returns None",
    } <= whats
    for what, source in found.items():
        mutant = ast.parse(source)
        assert ast.dump(mutant) != ast.dump(ast.parse(AFTER)), what
        assert "return x + 1" in source, "a function that the solution left alone"
        assert "while x > 10" in source, "no loop may become endless"
        assert "Says 3." in source


def test_faults_of_one_sort_in_one_line_are_all_made() -> None:
    found = made({}, tree(m_py="def order(x):\n    return (0, x) if x else (1, 0)\n"))
    assert {source.splitlines()[1].strip() for source in found.values()} == {
        "return (1, x) if x else (1, 0)",
        "return (0, x) if x else (2, 0)",
        "return (0, x) if x else (1, 1)",
        "return (0, x) if not x else (1, 0)",
        "return None",
    }


def test_what_the_solution_did_not_change_has_no_mutants() -> None:
    assert made(tree(m_py=AFTER), tree(m_py=AFTER)) == {}
    assert made({}, {"b.bin": FileEntry(content=b"\xff\0")}) == {}
    assert made({}, tree(m_py="def broken(:\n")) == {}


def test_a_number_is_changed_and_a_list_loses_a_line() -> None:
    found = made({}, tree(answer_txt="12.5\n"))
    assert {text.strip() for text in found.values()} >= {"", "14.7500", "-12.5000", "0.0000"}
    found = made({}, tree(answer_txt="oak\nelm\n"))
    assert {"elm", "oak", "oakx\nelm", "oak\nelmx"} <= {text.strip() for text in found.values()}


def test_the_same_seed_gives_the_same_mutants() -> None:
    before, after = tree(m_py=BEFORE), tree(m_py=AFTER)
    few = mutants(before, after, seed="a", limit=4)
    assert list(few) == list(mutants(before, after, seed="a", limit=4))
    assert len(few) == 4
    assert list(few) != list(mutants(before, after, seed="b", limit=4))


def test_the_variant_means_the_same() -> None:
    after = tree(m_py=AFTER, a_txt="12\n", b_txt="12", long_txt="1\n2\n")
    found = {name: e.content.decode() for name, e in variant({}, after).items()}
    assert ast.dump(ast.parse(found["m.py"])) == ast.dump(ast.parse(AFTER))
    assert "# a comment" not in found["m.py"]
    assert (found["a.txt"], found["b.txt"], found["long.txt"]) == ("12", "12\n", "1\n2\n")


def test_stubs_empty_all_functions_of_changed_files() -> None:
    before, after = tree(m_py=BEFORE), tree(m_py=AFTER)
    stub = stubbed(before, after, "return None")
    assert stub is not None
    source = stub["m.py"].content.decode()
    assert source.count("return None") == 2
    assert "x" not in source.replace("fixed(x)", "").replace("same(x)", "").replace('"', "")
    assert stubbed(before, before, "return None") is None
    assert stubbed({}, tree(a_txt="1"), "return None") is None


@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.text(max_size=200), st.text(max_size=200))
def test_any_text_can_be_spoiled(before: str, after: str) -> None:
    for text in made(tree(a_txt=before), tree(a_txt=after)).values():
        assert text.strip() != after.strip()
