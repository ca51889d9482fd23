from __future__ import annotations

from collections.abc import Callable

import pytest

Does = Callable[..., list[tuple[str, str]]]


@pytest.mark.parametrize(
    ("program", "action"),
    [
        ("print(open('/tests/x').read())", ("read", "/tests/x")),
        ("open(file='a', mode='w').write('x')", ("write", "/work/a")),
        ("p = '/te' + 'sts/x'\nopen(p)", ("read", "/tests/x")),
        ("open(f'/{\"tests\"}/x')", ("read", "/tests/x")),
        ("import os\nopen(os.path.join('/tests', 'x'))", ("read", "/tests/x")),
        (
            "from pathlib import Path\nPath('/tests').joinpath('x').read_text()",
            ("read", "/tests/x"),
        ),
        (
            "from pathlib import Path as P\n(P('/') / 'tests' / 'x').read_text()",
            ("read", "/tests/x"),
        ),
        ("import pathlib\npathlib.Path('a').write_text('x')", ("write", "/work/a")),
        ("import os\nos.remove('a')", ("write", "/work/a")),
        ("from os import remove as r\nr('a')", ("write", "/work/a")),
        ("__import__('os').remove('a')", ("write", "/work/a")),
        ("import os\ngetattr(os, 're' + 'move')('a')", ("write", "/work/a")),
        ("import shutil\nshutil.copy('/tests/x', 'b')", ("read", "/tests/x")),
        ("import shutil\nshutil.rmtree('d')", ("write", "/work/d/**")),
        ("import os\nos.symlink('/tests', 't')\nopen('t/x')", ("read", "/tests/x")),
        ("import os\nos.chdir('/')\nopen('tests/x')", ("read", "/tests/x")),
        ("import os\nos.system('cat /tests/x')", ("read", "/tests/x")),
        ("import subprocess\nsubprocess.run(['cat', '/tests/x'])", ("read", "/tests/x")),
        (
            "import subprocess as s\ns.check_output('cat /tests/x', shell=True)",
            ("read", "/tests/x"),
        ),
        ("exec('open(\"/tests/x\")')", ("read", "/tests/x")),
        ("import base64\nexec(base64.b64decode('b3BlbignL3Rlc3RzL3gnKQ=='))", ("read", "/tests/x")),
        ("for p in ['/tests/x', 'b']:\n    open(p)", ("read", "/tests/x")),
        ("with open('a', 'a') as f:\n    f.write('x')", ("write", "/work/a")),
        ("import pandas as pd\npd.read_csv('/tests/x')", ("read", "/tests/x")),
        (
            "import urllib.request as u\nu.urlopen('https://example.com/a')",
            ("connect", "example.com"),
        ),
        (
            "import socket\nsocket.create_connection(('example.com', 80))",
            ("connect", "example.com"),
        ),
        ("open('x'[::-1] + '')", ("read", "/work/x")),
        ("open(''.join(['/', 'tests', '/x']))", ("read", "/tests/x")),
    ],
)
def test_calls_become_actions(does: Does, program: str, action: tuple[str, str]) -> None:
    assert action in does("bash", command=f"python3 - <<'PY'\n{program}\nPY")
    assert action in does("execute_code", code=program)


@pytest.mark.parametrize(
    "program",
    [
        "print('/tests/x')",
        "app.route('/tests/x')",
        "assert path.startswith('/tests/x')",
        "import re\nre.compile('/tests/x')",
        "# open('/tests/x')",
        "text = '''open('/tests/x')'''",
    ],
)
def test_text_in_programs_is_no_action(does: Does, program: str) -> None:
    assert does("execute_code", code=program) == []


@pytest.mark.parametrize("program", ["open('/tests/x'", "exec(input())  # /tests/x"])
def test_what_cannot_be_read_is_reported_as_it_stands(does: Does, program: str) -> None:
    assert ("unparsed", program) in does("execute_code", code=program)


def test_warnings_of_the_program_are_not_ours(does: Does) -> None:
    assert does("execute_code", code="x = '\\d'\nopen('a')") == [("read", "/work/a")]


@pytest.mark.parametrize(
    "address",
    [
        "'https://host.example/' + name",
        "f'https://host.example/{name}/x'",
        "'https://host.example/%s' % name",
        "'/'.join(['https://host.example', name])",
        "base + '/v1/' + name",
    ],
)
def test_the_host_of_an_address_that_is_told_in_part(does: Does, address: str) -> None:
    code = f"import requests\nbase = 'https://host.example'\nrequests.get({address})"
    found = does("code", code=code)
    assert ("connect", "host.example") in found


@pytest.mark.parametrize("address", ["'https://' + name", "f'{base}/x'", "'see ' + name"])
def test_an_address_that_is_not_told_is_none(does: Does, address: str) -> None:
    assert not does("code", code=f"import requests\nrequests.get({address})")
