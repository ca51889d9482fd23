"""Programs start what bash starts, whatever shell is written around it: nothing that follows goes
unseen because the grammar lost its way before."""

from __future__ import annotations

import os
import re
import subprocess
from itertools import count
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from harness_adapters.gateway.guard.actions import RunCommand, Unparsed
from harness_adapters.gateway.guard.ledger import Ledger
from harness_adapters.gateway.guard.recorder import Recorder
from harness_adapters.gateway.guard.shell import run_shell
from harness_adapters.gateway.guard.state import State
from harness_adapters.types import TaskPolicy

GIVEN = "a=te; b=sts; d=q-1\n"
SHOW = """#!/bin/sh
echo "$1" >> "$SHOWN"
"""
# ``§`` stands for a command.
CONSTRUCTS = (
    "§ # it's (a",
    "§ >/dev/null 2>&1 x",
    ">/dev/null §",
    "2>&1 § >&2",
    "§ &>/dev/null",
    "§ &>>/dev/null",
    "§ >| /dev/null",
    "§ 3>&1 1>&2 2>&3 3>&-",
    "{ §; §; }",
    "{\n§\n} 2>/dev/null",
    "(§\n§)",
    "( § ) | ( § )",
    "function g { §; }; g",
    "function g() {\n §\n}\ng",
    "g() ( § )\ng",
    "g()\n{\n§\n}\ng a",
    "g() { §; } 2>/dev/null; g",
    "g() if true; then §; fi; g",
    "g() for i in 1; do §; done; g",
    "case x in (x) §;; esac",
    "case x in x|y) § ;;& *) § ;; esac",
    "case x in\n x) § ;&\n y) §\n esac",
    "case 'a b' in 'a b') §;; esac",
    "case x in [a-z]) §;; esac",
    "case $- in *i*) ;; *) §;; esac",
    "case x in esac; §",
    "case x in x) esac; §",
    'case "$a" in\n  # note\'s\n  te) § ;;\nesac',
    "((1)) && §",
    "(( a = 1 << 2 )); §",
    "(( 1 > 0 || (2) )) && §",
    "x=$(( (1+2) * 3 )); §",
    "x=$((1<<3)); §",
    "let 'x=1<<2'; §",
    "x=$[1+2]; §",
    "((x++)); §",
    "x=$((16#ff)); §",
    ": $((x=1,y=2)); §",
    "[[ x =~ ^(x|y)$ ]] && §",
    "[[ 'a b' =~ ^a\\ b$ ]] && §",
    "[[ x == x && ( y == y || z < z ) ]] && §",
    '[[ ! -f /nope && -n "x" ]] && §',
    "[[ x = @(x|y) ]] && §",
    "[[ $a =~ [[:alpha:]]+ ]] && §",
    "[ x = x -a y = y ] && §",
    "[ \\( x = x \\) ] && §",
    "test x '<' y && §",
    "[[ a < b ]] && §",
    "[[ -v a ]] && §",
    "re='(x)'; [[ x =~ $re ]] && §",
    "[[ \"x;y\" =~ ';' ]] && §",
    '[[ a =~ (a) ]] && § "${BASH_REMATCH[1]}"',
    "time §",
    "time -p §",
    "! §",
    "if ! §; then :; fi",
    "while §; do break; done",
    "until §; do break; done",
    "for ((i=0; i<1; i++)) { §; }",
    "for ((;;)); do §; break; done",
    "for i in a\ndo\n§\ndone",
    "select i in a; do §; break; done <<< 1",
    "if true\nthen §\nelif false\nthen :\nelse :\nfi",
    "cat <(§) > /dev/null",
    "§ > >(cat >/dev/null)",
    "cat <<E >/dev/null\nit's \"x\n$(\n§)\nE",
    "cat <<E | cat >/dev/null && §\nx\nE",
    "{ cat; §; } <<E >/dev/null\nx\nE",
    "if cat <<E >/dev/null; then §; fi\nx'\nE",
    "cat <<E>/dev/null\nE\n§",
    "cat <<E >/dev/null; §\nE x\n E\nE",
    "bash <<E\n§ '\\$a'\nE",
    'x=${a//t/"/"}; §',
    'x=${a:-"}"}; §',
    "x=${a#*[}; §",
    "x=${a%%[!a-z]*}; §",
    "x=${a:+)}; §",
    "x=${#a}; § # x",
    "x=${!a}; §",
    "x=${a@Q}; §",
    'x=${a:-$(echo "}")}; §',
    "x=${a//\\//-}; §",
    "x=${a:-`echo \\}`}; §",
    ": ${x:=${a:-y}}; §",
    "x=${a^}; § $x",
    "x=${a,,[A-Z]}; §",
    'x="${a%\\"}"; §',
    "x=${a#\\#}; §",
    "x=$'it\\'s'; §",
    "x='a'\"'\"'b'; § \"$x\"",
    "x=\\'; §",
    'x=\\"; §',
    'x=a\\ b; § "$x"',
    'x="a\\\\"; §',
    "x='\\'; §",
    'x="\\`"; §',
    'x="$"; §',
    'x="a$"b; §',
    "x=a#b; § $x",
    "echo a#'b >/dev/null'; §",
    "x=; §",
    "x= §",
    "x=1 y='a b' §",
    "x+=(a b); §",
    "x=(a\n# it's\nb); §",
    "x=([0]=a [1]='b c'); § \"${x[1]}\"",
    "declare -a x=(a b); §",
    "export x='a b' y=c; §",
    "x=(`echo a b`); § ${x[1]}",
    "x[1]=a; §",
    "declare -A y; y[a b]=c; §",
    "true &&\n§",
    "true && # c'\n§",
    "false ||\n\n §",
    "echo x |\n§",
    "echo x |& §",
    "§ & §; wait",
    "§ &\nwait",
    "§ \\\n  x \\\n  y",
    "true \\\n && §",
    "\\\n§",
    "echo { } >/dev/null; §",
    "echo } >/dev/null; §",
    "echo if then fi >/dev/null; §",
    "echo done >/dev/null; §",
    "for if in a; do §; done",
    "echo [ >/dev/null; §",
    "echo ]] ! >/dev/null; §",
    "exec 3>/dev/null; §",
    "exec 4<&0; §",
    "exec 3>&-; §",
    ": > /dev/null; §",
    "> /dev/null; §",
    "echo x > /dev/null > /dev/null; §",
    "cat < /dev/null; §",
    "cat < <(echo x) > /dev/null; §",
    "cat 0</dev/null; §",
    "echo a>/dev/null; §",
    "echo 2 >/dev/null; §",
    "echo x2>/dev/null; §",
    "printf '%s\\n' \"a'b\" >/dev/null; §",
    "coproc { §; }; wait",
    "coproc P { §; }; wait",
    "trap '§' EXIT",
    'trap "§" EXIT',
    "eval '§; §'",
    "eval \"§\" '&&' §",
    "alias zz='§ '\nzz",
    "command -v show >/dev/null && §",
    "builtin echo >/dev/null; §",
    "exit_() { :; }; §",
    "set -euo pipefail; §; set +eu",
    "shopt -s extglob; §",
    "local_=1; unset local_; §",
    "return 0 2>/dev/null; §",
    "read -r x y <<< 'a b'; § $y",
    "IFS=: read -r x y <<< 'a:b'; § $y",
    "printf -v x %s q; § $x",
    "x=$(</dev/null); §",
    "echo $$ $! $? $- $_ >/dev/null; §",
    "echo \"$$\" '$!' >/dev/null; §",
    "echo a; §; echo b",
    "echo 'a' ; §",
    "\t§\t x\t",
    "if [ 1 -eq 1 ] ; then § ; fi",
    '[ -z "" ]&&§',
    "true;§;§",
    "true&&§||§",
    "( (§) )",
    "( ( true ) && § )",
    "$a$b 2>/dev/null; §",
    "nohup § >/dev/null 2>&1",
    "echo '§' | sh",
    "sh <<< '§'",
    "sh < <(echo §)",
    "source <(echo §)",
    ". /dev/stdin <<< '§'",
    'bash -c "§"',
    "bash -ec '§; §'",
    "printf '§\\n' | bash -s",
    "§ ;",
)
BETWEEN = ("\n", "\n\n", "\n  \n", "\n# it's\n", "\n \t")
AROUND = (
    *("@", "@", "@", "{ @\n}", "( @\n)", "if true; then\n@\nfi", "h() {\n@\n}\nh"),
    *("for k in 1; do\n@\ndone", "while true; do\n@\nbreak\ndone"),
)


def filled(text: str) -> str:
    """Each ``§`` as a command that tells which one it is."""
    number = count()
    first, *rest = text.split("§")
    return first + "".join(f"show m{next(number)}{piece}" for piece in rest)


@st.composite
def programs(draw: st.DrawFn) -> str:
    parts = draw(st.lists(st.sampled_from(CONSTRUCTS), min_size=2, max_size=3))
    text = draw(st.sampled_from(BETWEEN)).join(parts)
    if "<<" not in text and "alias" not in text:
        text = draw(st.sampled_from(AROUND)).replace("@", text)
    return filled(f"{text}\n§")


def seen(program: str) -> set[str]:
    """What is started, or stands in what is judged by its text since it could not be parsed."""
    rec = Recorder((0, len(program)))
    run_shell(rec, State(Ledger(TaskPolicy(workdir="/app"))), GIVEN + program)
    runs = [one.words for one in rec.actions if isinstance(one, RunCommand)]
    raw = " ".join([one.text for one in rec.actions if isinstance(one, Unparsed)])
    told = {words[1] for words in runs if words[0].endswith("show") and len(words) > 1}
    return told | set(re.findall(r"\bm\d+\b", raw))


def started_by_bash(program: str, folder: Path) -> set[str]:
    log = folder / "shown"
    log.write_text("")
    subprocess.run(
        ["bash", "-c", f"shopt -s expand_aliases\n{GIVEN}{program}"],
        capture_output=True,
        timeout=60,
        cwd=folder,
        stdin=subprocess.DEVNULL,
        env={"PATH": f"{folder}:{os.environ['PATH']}", "SHOWN": str(log)},
    )
    return set(log.read_text().split())


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("bash")
    show = folder / "show"
    show.write_text(SHOW)
    show.chmod(0o755)
    return folder


def test_nothing_that_bash_starts_goes_unseen(folder: Path) -> None:
    unseen: dict[str, set[str]] = {}
    for construct in CONSTRUCTS:
        program = filled(f"{construct}\n§")
        really = started_by_bash(program, folder)
        assert really, program
        if missed := really - seen(program):
            unseen[program] = missed
    assert unseen == {}


@settings(max_examples=150)
@given(program=programs())
def test_nor_does_what_stands_between_others(program: str, folder: Path) -> None:
    assert started_by_bash(program, folder) <= seen(program)
