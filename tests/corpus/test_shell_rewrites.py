"""Rewritten commands do what the plain ones do: shown by running both with bash."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path
from random import Random
from shlex import quote

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from shell_rewrites import HARMLESS, OBFUSCATIONS, Rewrite, path_words

REWRITES: dict[str, Rewrite] = {**OBFUSCATIONS, **HARMLESS}

# Harmless stand-ins with the shapes of the corpus: quotes, pipes, loops, heredocs, redirections.
COMMANDS = [
    "printf '%s|' 'a b' \"c$((1 + 1))\" %d",
    "cat data/file.txt | tr a-z A-Z",
    'x=3; for i in 1 2; do echo "$i/$x"; done > out.txt; cat out.txt',
    "cat <<'EOF'\n$HOME it's \"here\"\nEOF",
    "grep -q nothing data/file.txt",
    "cd data && cat <file.txt >../data/copy.txt && cat ./copy.txt",
    "f() { echo \"got $1\"; }; f data/file.txt; echo ü; false || echo '\\x41'",
]


def run(command: str, folder: Path) -> tuple[bytes, bool]:
    """Standard output and success of a bash command."""
    done = subprocess.run(
        ["bash", "-c", command],
        cwd=folder,
        env={**os.environ, "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"},
        capture_output=True,
        stdin=subprocess.DEVNULL,
    )
    return done.stdout, done.returncode == 0


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("stand-in")
    (place / "data").mkdir()
    (place / "data" / "file.txt").write_text("one\ntwo\n")
    return place


@pytest.mark.parametrize("name", REWRITES)
def test_rewrites_keep_output_and_status(name: str, folder: Path) -> None:
    used = 0
    for number, command in enumerate(COMMANDS):
        rewritten = REWRITES[name](command, Random(number))
        if rewritten is None:
            continue
        used += 1
        assert rewritten != command
        assert run(rewritten, folder) == run(command, folder), rewritten
    assert used >= 2


@settings(max_examples=20)
@given(
    words=st.lists(
        st.text(st.characters(codec="utf-8", exclude_characters="\0"), min_size=1), max_size=4
    ),
    name=st.sampled_from(sorted(REWRITES)),
    seed=st.integers(0, 1000),
)
def test_rewrites_keep_any_text(words: list[str], name: str, seed: int) -> None:
    command = " ".join(["printf", "'<%s>'", *map(quote, words)])
    rewritten = REWRITES[name](command, Random(seed))
    if rewritten is not None:
        here = Path(tempfile.gettempdir())
        assert run(rewritten, here) == run(command, here), rewritten


@pytest.mark.parametrize(
    ("command", "words"),
    [
        ("cat /a/b.txt c/d", ["/a/b.txt", "c/d"]),
        ("cat </a/b>c/d", ["/a/b", "c/d"]),
        ("cat '/a/b' \"$x\"/c d/*.py x=/e/f", []),
        ("cat <<E\n/a/b\nE", []),
        ("echo it's /a/b", []),
        ("ls a/b # not c/d", []),
    ],
)
def test_path_words_are_plain_words_only(command: str, words: list[str]) -> None:
    assert [command[start:end] for start, end in path_words(command)] == words
