"""Python programs reach what Python reaches: a closed path goes unseen in no ordinary way of
putting it together, keeping it or handing it on."""

from __future__ import annotations

import builtins
import io
import os
import posixpath
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from harness_adapters.gateway.guard.actions import ReadPath, Unparsed
from harness_adapters.gateway.guard.errors import Unjudgeable
from harness_adapters.gateway.guard.ledger import Ledger
from harness_adapters.gateway.guard.python import run_python
from harness_adapters.gateway.guard.recorder import Recorder
from harness_adapters.gateway.guard.state import State
from harness_adapters.types import TaskPolicy

GIVEN = """
import base64, codecs, os, shlex, textwrap, threading
from pathlib import Path
a = '/te'
b = 'sts'
items = ['x', 'y']
table = {'k': 'dk'}
def joined(z, q='/dq'):
    return z + q
def several(*zs):
    return ''.join(zs)
def named(**ks):
    return ks['k']
def slowly(text):
    out = ''
    for c in text:
        out += c
    return out
class Box:
    place = 'cp'
    def __init__(self, inside):
        self.inside = inside
"""
CLOSED = ("'/tests/a.py'", "'/tests'", "a + b", "'/te' + 'sts/z'", "f'{a}{b}/x'")
# ``@`` stands for another expression.
PIECES = (
    *(
        "(@)",
        "str(@)",
        "@ + '/x'",
        "(@ + '/') + 'y'",
        "(lambda t: f'{t}/x')(@)",
        "'%s/%s' % (@, 'x')",
    ),
    *("'{}/{}'.format(@, 'x')", "'{p}'.format(p=@)", "'/'.join([@, 'x'])", "''.join((@,))"),
    *("(@).strip()", "(@)[:]", "(@).replace('q', 'r')", "(@)[::-1][::-1]", "(@).encode().decode()"),
    *("base64.b64decode(base64.b64encode((@).encode())).decode()", "codecs.encode(@, 'rot13')"),
    *("''.join(c for c in @)", "''.join([chr(ord(c)) for c in @])", "os.path.join(@, 'x')"),
    *("str(Path(@) / 'x')", "str(Path(@, 'x'))", "(lambda z: z + '/l')(@)", "joined(@)"),
    *("joined(@, q='/n')", "several(@, '/v')", "named(k=@)", "slowly(@)", "[@, 'x'][0]"),
    *("['x', @][-1]", "{'k': @}['k']", "{'k': @}.get('k')", "dict(k=@)['k']", "(@, 'x')[0]"),
    *("max('', @)", "sorted([@])[0]", "next(iter([@]))", "list([@])[0]", "shlex.split(@)[0]"),
    *("textwrap.dedent(@)", "os.environ.get('NO_SUCH_NAME', @)", "str.strip(@)", "os.fspath(@)"),
)
# Which of several it is, is not worked out; each is looked at.
CHOICES = ("(@ if a else 'x')", "('x' if not a else @)", "(@ or 'x')", "('x' and @)")
USES = (
    *("open(@)", "open(file=@)", "Path(@).read_text()", "Path(@).open()", "os.open(@, 0)"),
    *("v = @\nopen(v)", "v = w = @\nopen(w)", "v, w = 'x', @\nopen(w)", "v: str = @\nopen(v)"),
    *("v = ''\nv += @\nopen(v)", "for v in [@, 'x']:\n    open(v)", "[open(v) for v in ['x', @]]"),
    *("if a:\n    v = @\nelse:\n    v = 'x'\nopen(v)", "v = @\nif not a:\n    v = 'x'\nopen(v)"),
    *("try:\n    v = @\nexcept OSError:\n    v = 'x'\nopen(v)", "v = @ if a else 'x'\nopen(v)"),
    *("match 1:\n    case 1:\n        v = @\n    case 2:\n        v = 'x'\nopen(v)",),
    *("while True:\n    v = @\n    break\nopen(v)", "open(@ if a else 'x')", "open('x' and @)"),
    *("items.append(@)\nopen(items[-1])", "items.insert(0, @)\nopen(items[0])"),
    *("items.extend(['x', @])\nopen(items[-1])", "items[0] = @\nopen(items[0])"),
    *("table['n'] = @\nopen(table['n'])", "table.update(n=@)\nopen(table['n'])"),
    *("v = []\nfor c in ['x', @]:\n    v.append(c)\nfor c in v:\n    open(c)",),
    *(
        "def f(p):\n    open(p)\nf(@)",
        "def f(p=@):\n    open(p)\nf()",
        "def f(*p):\n    open(p[0])\nf(@)",
    ),
    *(
        "def f(x, *, p):\n    open(p)\nf(1, p=@)",
        "(lambda p: open(p))(@)",
        "f = lambda p: open(p)\nf(@)",
    ),
    *(
        "def f():\n    return @\nopen(f())",
        "v = @\ndef f():\n    open(v)\nf()",
        "list(map(open, [@]))",
    ),
    *("def f():\n    v = 'x'\nv = @\nf()\nopen(v)", "v = @\ndef f():\n    v = 'x'\nopen(v)"),
    *("v = 'x'\ndef f():\n    global v\n    v = @\nf()\nopen(v)", "Box.place = @\nopen(Box.place)"),
    *(
        "box = Box(@)\nopen(box.inside)",
        "box = Box('x')\nbox.inside = @\nopen(box.inside)",
        "o = open\no(@)",
        "open(w := @)",
    ),
    *("with open(@) as f:\n    pass", "getattr(os, 'open')(@, 0)", "__import__('os').open(@, 0)"),
    *("class K:\n    v = 'x'\nv = @\nopen(v)", "for k, v in {'x': @}.items():\n    open(v)"),
    *("for i, v in enumerate([@]):\n    open(v)", "for v, w in zip(['x'], [@]):\n    open(w)"),
)


@st.composite
def programs(draw: st.DrawFn) -> str:
    said = draw(st.sampled_from(CLOSED))
    for piece in draw(st.lists(st.sampled_from(PIECES), max_size=2)):
        said = piece.replace("@", said)
    return f"{GIVEN}{draw(st.sampled_from(USES)).replace('@', said)}\n"


@contextmanager
def watched() -> Iterator[list[str]]:
    """Files are not opened, their names are noted."""
    noted: list[str] = []

    def note(file: Any, *args: Any, **named: Any) -> io.StringIO:
        noted.append(str(file))
        return io.StringIO()

    before = builtins.open, io.open, os.open
    builtins.open = io.open = note  # type: ignore[assignment]
    os.open = note  # type: ignore[assignment]
    try:
        yield noted
    finally:
        builtins.open, io.open, os.open = before


def opened_by_python(program: str) -> list[str]:
    with watched() as noted:
        exec(compile(program, "program", "exec"), {"__name__": "__main__"})  # noqa: S102  (our own text)
    return [posixpath.normpath(posixpath.join("/app", path)) for path in noted]


def seen(program: str) -> tuple[set[str], str]:
    """The paths that are told, and what is judged by its text."""
    rec = Recorder((0, len(program)))
    run_python(rec, State(Ledger(TaskPolicy(workdir="/app"))), program)
    paths = {posixpath.normpath(one.path) for one in rec.actions if isinstance(one, ReadPath)}
    return paths, " ".join([one.text for one in rec.actions if isinstance(one, Unparsed)])


@settings(max_examples=300)
@given(programs())
def test_a_closed_path_does_not_go_unseen(program: str) -> None:
    closed = [path for path in opened_by_python(program) if path.startswith("/tests")]
    assume(closed)
    paths, text = seen(program)
    assert text or any(path.startswith("/tests") for path in paths)


def test_every_use_opens_something() -> None:
    """The comparison would find nothing if the programs did nothing."""
    for use in USES:
        program = f"{GIVEN}{use.replace('@', CLOSED[0])}\n"
        assert "/tests/a.py" in opened_by_python(program), use
        paths, _ = seen(program)
        assert "/tests/a.py" in paths, use


def test_every_piece_is_worked_out() -> None:
    wrong: dict[str, set[str]] = {}
    for piece in PIECES + CHOICES:
        program = f"{GIVEN}open({piece.replace('@', CLOSED[2])})\n"
        paths, _ = seen(program)
        if not paths >= set(opened_by_python(program)):
            wrong[piece] = paths
    assert wrong == {}


def test_what_python_opens_is_watched() -> None:
    with watched() as noted:
        Path("/nowhere").read_text()
        os.open("/else", 0)
    assert noted == ["/nowhere", "/else"]


def test_real_programs_are_read_without_a_fault() -> None:
    """Those of Python itself and of what runs these tests; some are more than a call may be."""
    files = sorted(Path(os.__file__).parent.rglob("*.py"))[::40]
    files += sorted(Path(pytest.__file__).parents[1].glob("_pytest/**/*.py"))
    read = 0
    for file in files:
        program = file.read_text("utf-8", "replace")
        rec = Recorder((0, len(program)))
        with suppress(Unjudgeable):
            run_python(rec, State(Ledger(TaskPolicy(workdir="/app"))), program)
            read += 1
    assert read > len(files) // 2


@pytest.mark.parametrize(
    "program",
    [
        "for x in ...:\n    open(x)",
        "if ...:\n    open('a')",
        "while 1j:\n    open('a')",
        "match ...:\n    case x if ...:\n        open(x)",
        "(lambda: ...)()\n(lambda p=...: open(p))()",
        "import shlex\nopen(shlex.split(x))\nopen('{²}{5}'.format('a'))\nopen('a'.zfill('b'))",
    ],
)
def test_odd_values_break_nothing(program: str) -> None:
    seen(program)
