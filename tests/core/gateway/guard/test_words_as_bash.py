"""Words become what bash makes of them, however they are put together."""

from __future__ import annotations

import subprocess

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from harness_adapters.gateway.guard.actions import RunCommand
from harness_adapters.gateway.guard.ledger import Ledger
from harness_adapters.gateway.guard.recorder import Recorder
from harness_adapters.gateway.guard.shell import run_shell
from harness_adapters.gateway.guard.state import State
from harness_adapters.types import TaskPolicy

GIVEN = "a=te; b=sts; d=q-1; "
TOLD = "show() { printf '%s\\0' \"$@\"; printf '\\1\\0'; }\n"

PIECES = (
    *("/", "x", "te", "-", "_k", "=", ":", ".", "@", "%", "+", "1", "/t", "^"),
    *("$a", "$b", "$d", "${a}", "${b}", "${a%e}", "'te'", "'a b'", "'$a'", "'#'", "''"),
    *('"te"', '"a $b"', '"${a}x"', '"$a/$b"', '"it\'s"', "$'te'", "$'\\x74'"),
    *("$(echo te)", "$(echo $a)", "$(printf x)", "$(echo `echo te`)"),
    *("`echo sts`", "`echo $a`", "`echo \\`echo sts\\``", '"`echo te`"'),
    *("\\ ", "\\$", "\\/", "\\x", "\\\n"),
)
piece = st.sampled_from(PIECES)


def _is_told(word: str) -> bool:
    """Not a variable that nothing set, which keeps its name here, nor an operator of ``[[``, nor
    nothing at all."""
    word = word.replace("\\\n", "")
    names = word.replace("$(", "").replace("${", "").replace("'$a'", "").split("$")[1:]
    told = all(name[1:2] not in tuple("_1tsxabdek") for name in names)
    return told and word != "" and "==" not in word


word = st.lists(piece, min_size=1, max_size=6).map("".join).filter(_is_told)
shape = st.sampled_from(
    [
        "show {}",
        "show {} {}",
        'v={}; show "$v"',
        'for i in {}; do show "$i"; done',
        "if true; then show {}; fi",
        'show "$(echo {})"',
        "(show x{} 2>/dev/null)",
        "f() {{ show {}; }}; f",
        ":\n{} x\nshow {}",
        'set -- {} {}; show "$@" "$*" $# $2; shift; show "$@" $1; shift; show "$@"',
        'f() {{ local p={}; show "$p"; shift; show "${{@:2}}" "$@"; }}; f x y {}',
        'A=({} {}); show "${{A[@]}}"; show ${{A[1]}} "${{A[0]}}/z" ${{#A[@]}} "$A"',
        'A=({}); A+=({} "x y"); A[0]=z; A[3]=u; show "${{A[@]:1}}" "${{A[*]}}" ${{!A[@]}}',
        'declare -A M=([k]={}); M[l]={}; x=l; show "${{M[k]}}" "${{M[$x]}}" ${{#M[@]}}',
        'set -- {} {}; for x; do show "$x"; done; while [ $# -gt 0 ]; do show "$1"; shift; done',
        'mapfile -t L <<< {}; show "${{L[@]}}"; read -ra L <<< {}; show "${{L[@]}}"',
    ]
)


def shown(program: str) -> list[tuple[str, ...]]:
    """What each call of ``show`` is given; calls with the same words are one."""
    rec = Recorder((0, len(program)))
    run_shell(rec, State(Ledger(TaskPolicy(workdir="/app"))), GIVEN + program)
    runs = [one.words for one in rec.actions if isinstance(one, RunCommand)]
    return list(dict.fromkeys(words[1:] or ("",) for words in runs if words[0] == "show"))


def said_by_bash(program: str) -> list[tuple[str, ...]]:
    done = subprocess.run(
        ["bash", "-c", TOLD + GIVEN + program], capture_output=True, check=True, timeout=60
    )
    calls = done.stdout.decode().split("\0\1\0")[:-1]
    return list(dict.fromkeys(tuple(call.split("\0")) for call in calls))


@settings(max_examples=150, deadline=None)
@given(shape, st.lists(word, min_size=2, max_size=2))
def test_words_are_what_bash_makes_of_them(shape: str, words: list[str]) -> None:
    program = shape.format(*words)
    assert shown(program) == said_by_bash(program)


@pytest.mark.parametrize(
    "words",
    [
        "/$a$b/x",
        "/$a/$b/x.py",
        "x-$a/$b/y",
        "/${a}/$b/$d/y",
        "/`echo te`sts/x",
        "x`echo a`y`echo b`z",
        "$(echo /te)\\s\\t\\s/x",
        "'/te'\\sts/x",
        "/$a\\sts/x",
        "\\ x$a",
        "=$a/$b/c",
    ],
)
def test_words_that_the_grammar_would_take_for_two(words: str) -> None:
    assert shown(f"show {words}") == said_by_bash(f"show {words}")


@pytest.mark.parametrize(
    "program",
    [
        "set -- a; echo $²",
        "A[²]=x; echo ${A[²]}",
        "A=(a b); echo ${A[--5]} ${A[99999999999]} ${A[-9]}",
        "A[--5]=x; A[99999999999]=y; echo ${A[@]}",
        "set -- a; shift ²; shift 99999999999; echo $99999999999 ${99999999999}",
        "seq --5; seq ²",
    ],
)
def test_what_is_no_number_breaks_nothing(program: str) -> None:
    shown(program)
