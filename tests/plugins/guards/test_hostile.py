"""Hostile texts before all rules at once: no rule faults, and none takes long."""

from __future__ import annotations

import asyncio
import json
import time
from typing import Any

import pytest

from harness_adapters import Ledger, Plugins, TaskPolicy, ToolCall
from harness_adapters.gateway.guard.judge import Guard
from harness_adapters.parts import make_guard

# Twenty times what was measured on an idle machine: a blow-up costs seconds.
SECONDS = 1.0
KINDS = ("js", "go", "rs", "java", "rb", "php", "pm", "sh", "cc", "cs", "ex", "R")
# Of tests that the session has seen.
FIGURES = "'1.10.0-rc.1', '2.0.0+build5', '3.14.15-x'"
TEXTS = {
    "conditions": f"{FIGURES} " + "if " * 16_000,
    "conditions on one line": f"{FIGURES} " + "if(a.b>c){return d('1.10.0-rc.1')};" * 1300,
    "cases on one line": f"{FIGURES} " + "case when a then b end, " * 2000,
    "comparisons with lists": "'no items to show' " + "if a==[b] " * 5000,
    "quotes": "'" * 60_000,
    "parentheses": "(" * 60_000,
    "joined strings": "'a'+" * 15_000,
    "comments": "#" * 60_000,
    "comments on tests": "# test " * 9000,
    "comparisons": "== 'abcdef' " * 5000,
    "returns": "return 'a' if x == " * 3000,
    "options": "addopts = " + "-p " * 20_000,
    "long options": "addopts =\n" + " x\n" * 20_000,
    "addresses": "https://" * 8000,
    "dots": "a." * 30_000,
    "slashes": "/" * 60_000,
    "substitutions": "s/" * 30_000,
    "escapes": "%41" * 20_000,
    "methods": "def __eq__(self):\n" * 3000,
    "targets": "test:\n\t@true\n" * 5000,
    "functions": "f(){ f|f };" * 5000,
    "letters": "A" * 60_000,
    "assertions": "assert f('abcdef') == " * 3000,
    "machines": "".join(f"curl http://h{i}.org;" for i in range(900)),
    "ranges": "echo {1..9999}{1..9999};" * 100,
    "lines": "\n" * 60_000,
    "spaces": " " * 60_000,
    "orders": "in a/b edit the file a/b.py and " * 2000,
    "loops": "Dir['a/*'] |f| write f for f of g => " * 1500,
    "pieces of paths": "join('a','b') + ['a','b'].join('') " * 1500,
    "names": "const a='x';f(a);" * 3000,
    "traces": "getStackTrace() TestMain(m){ process.on('exit', " * 1200,
    "expected data": "want := []int{1, 2, 3}\nif x == 1 { return []int{1, 2, 3} }\n" * 900,
    "formats": "print('{} {} {}'.format('a'))\n" * 500,
    # What patterns once took seconds or minutes for: blanks between two things that may be there,
    # an escape that two alternatives take, strings that never end, digits beside digits.
    "expected": "expected" + " " * 20_000,
    "for ever": "while" + " " * 16_000,
    "products": "*" + " " * 20_000,
    "parents": '"/proc/"' + " " * 20_000,
    "addresses in memory": "a=" + " " * 20_000 + "x.data_ptr()",
    "indented lines": "    \n" * 8000,
    "removals": "rm_rf" + " " * 20_000,
    "moves": "rename_fileSync" + " " * 20_000,
    "look-ups": "getaddrinfo" + " " * 20_000,
    "prints": "{print" + " " * 20_000,
    "interpolations": '${\\"1"' + " " * 20_000,
    "test blocks": "test" + " " * 20_000,
    "redirections": ">" + " " * 20_000,
    "patch headers": '+++ "' + " " * 20_000,
    "blank lines": "\n  " * 8000,
    "empty strings": "BEGIN{ printf" + ' ""  "" ' * 3000,
    "escaped quotes": '"":u' + '"\\' * 10_000,
    "escaped letters": "s@" + "\\(..\\)" * 4000 + "@@",
    "backslashes": "qx(" + "\\" * 20_000,
    "commands": "qx(\\" * 5000,
    "digits": "-b " + "1" * 20_000,
    "numbers": "{-" + "1" * 20_000 + "}",
    "getlines": "getlinea" * 2500,
    "shells of make": "$(shell 1" * 2500,
    "words of orders": "held out tests " * 1300,
    "skipped tests": "place\\" * 3000,
    "settings": "  addopts =\n" * 1700,
    "exclusions": "exclude: [" * 2000,
    "comparisons in Ruby": "def ==" + " " * 50_000,
    "open comparisons": "def ==(" + "\n" * 50_000,
    "exits": "exit(0);" * 7000,
    "handlers": "at_exit(" * 7000,
    "hashes": "createHash " * 5000 + "match hash(" * 2000,
    "outputs": "splitext '.out' " * 3700,
    "values in tests": "// values in tests/\n" + "in [" * 12_000,
    "files of packages": "$(gem contents x" + " `gem which" * 900 + ")",
    "blob and address": "A1" * 15_000 + "\nhttps://x.org/",
}


@pytest.fixture(scope="module")
def guard() -> Guard:
    return make_guard(Plugins.load())


def calls(text: str) -> list[tuple[str, Any]]:
    bare = text[:20_000].replace("'", "")
    return [
        ("write", {"path": "textkit/x.py", "content": text}),
        *(("write", {"path": f"src/x.{kind}", "content": text}) for kind in KINDS),
        ("write", {"path": "go.mod", "content": text}),
        ("write", {"path": ".git/hooks/pre-commit", "content": text}),
        ("Task", {"description": "x", "prompt": text}),
        ("NotebookEdit", {"notebook_path": "a.ipynb", "new_source": text[:30_000]}),
        ("write", {"path": "pyproject.toml", "content": text}),
        ("write", {"path": "/root/.bashrc", "content": text}),
        ("bash", {"command": text[:30_000]}),
        ("bash", {"command": f"node -e '{bare}'"}),
        ("bash", {"command": f"awk '{bare}' x"}),
        ("bash", {"command": f"echo {bare} | base64 -d | sh"}),
        ("bash", {"command": f"sed -i '{bare}' x"}),
        ("bash", {"command": f"printf '{bare}' | awk '{bare}'"}),
        ("bash", {"command": f"cat x | cut {bare}"}),
        ("bash", {"command": f"vim -c '{bare}' x"}),
        ("bash", {"command": f"claude -p '{bare}'"}),
        ("bash", {"command": f"cat > Makefile <<'EOF'\n{bare}\nEOF\nmake"}),
        ("apply_patch", {"input": text}),
        ("execute_code", {"code": text[:30_000]}),
        ("web_search", {"query": text[:4000]}),
    ]


def session() -> Ledger:
    """Of a task whose tests were seen."""
    sources = ("pypi:textkit", "https://github.com/acme-text/textkit")
    policy = TaskPolicy(
        kind="repair", workdir="/work/textkit", protected=("tests/**",), answer_sources=sources
    )
    ledger = Ledger(policy)
    seen = {"role": "user", "content": "assert f('abcdef') == 'xyz'"}
    test = f"def test_f():\n    assert f({FIGURES}) == 'no items to show'\n"
    ledger.see_request(tools=None, new_messages=[seen, {"role": "tool", "content": test}])
    return ledger


@pytest.mark.parametrize("name", sorted(TEXTS))
def test_it_is_judged_soon_and_without_a_fault(name: str, guard: Guard) -> None:
    ledger = session()
    for tool, arguments in calls(TEXTS[name]):
        call = ToolCall(id="c", name=tool, raw=json.dumps(arguments), ledger=ledger)
        start = time.thread_time()
        judgement = asyncio.run(guard.judge(call, ledger))
        assert not judgement.faults
        assert time.thread_time() - start < SECONDS, (tool, list(arguments))


@pytest.mark.parametrize(
    "command",
    [
        "python - <<'EOF'\nfrom datasets import load_dataset\na=['x.csv']\n"
        + "a=[a,a]\n" * 24
        + "load_dataset('csv',data_files=a)\nEOF",
        "python - <<'EOF'\nfrom datasets import load_dataset\na=['x.csv']\n"
        + "a=[a]\n" * 1500
        + "load_dataset('csv',data_files=a)\nEOF",
        "cat > m.mk <<'EOF'\nall: "
        + "ab " * 1360
        + "\n\techo "
        + "$^" * 9000
        + "\nEOF\nmake -f m.mk",
        "python - <<'EOF'\na=['x']\n" + "a=[a,a]\n" * 28 + "open(f'{a}')\nEOF",
        "python - <<'EOF'\na=['x']\n"
        + "a=[a,a]\n" * 28
        + "open('%s' % (a,) + '{}'.format(a))\nEOF",
        "".join(f"A[k{i}]={'x' * 20}\n" for i in range(2000)),
        "set -- " + "x " * 4000 + "\nwhile [ $# -gt 0 ]; do " + "a $1;" * 8 + "shift; done",
    ],
    ids=[
        "lists of lists",
        "lists in lists",
        "recipes",
        "written out",
        "filled in",
        "elements",
        "arguments",
    ],
)
def test_what_multiplies_itself_is_not_followed_to_its_end(command: str, guard: Guard) -> None:
    ledger = session()
    call = ToolCall(id="c", name="bash", raw=json.dumps({"command": command}), ledger=ledger)
    start = time.thread_time()
    assert not asyncio.run(guard.judge(call, ledger)).faults
    assert time.thread_time() - start < SECONDS
