"""The fixture ``subject``: the tests' only way to the code under test.

Every call runs in a process of its own, in the folder that ``SUBJECT_ROOT`` names (``/work``), and
only JSON values come back, so that the code under test cannot reach into pytest.
"""

import json
import os
import subprocess
import sys
from contextlib import contextmanager

import pytest

ROOT = os.environ.get("SUBJECT_ROOT", "/work")
CALL_SECONDS = 20
WORKER = r"""
import importlib, json, os, sys

reply_to = os.dup(1)
request = json.loads(sys.stdin.readline())
nowhere = os.open(os.devnull, os.O_RDWR)
for stream in (0, 1, 2):
    os.dup2(nowhere, stream)
sys.path.insert(0, request["root"])


def carry_out():
    if "source" in request:
        names = {"__name__": "__subject__"}
        exec(compile(request["source"], "<test>", "exec"), names)
        return names.get("result")
    module, _, name = request["target"].partition(":")
    found = importlib.import_module(module)
    for part in name.split("."):
        found = getattr(found, part)
    return found(*request["args"], **request["kwargs"])


try:
    reply = json.dumps({"value": carry_out()}, allow_nan=False)
except BaseException as error:
    bases = [base.__name__ for base in type(error).__mro__ if base is not object]
    fault = {"type": type(error).__name__, "message": str(error), "bases": bases}
    reply = json.dumps({"error": fault})
os.write(reply_to, reply.encode())
os._exit(0)
"""


class SubjectError(Exception):
    """The code under test raised, or gave no answer that counts (``type`` is empty then)."""

    def __init__(self, type, message, bases):
        super().__init__(f"{type or 'no answer'}: {message}")
        self.type = type
        self.message = message
        self.bases = bases


class Subject:
    def call(self, target, *args, **kwargs):
        """Call ``package.module:function`` with JSON values; gives the JSON value it returns."""
        return self._ask({"target": target, "args": args, "kwargs": kwargs})

    def eval(self, source):
        """Run a few lines beside the code under test; gives their variable ``result``."""
        return self._ask({"source": source})

    @contextmanager
    def raises(self, type_name):
        """Expect that class or one derived from it; what came is in the list."""
        caught = []
        try:
            yield caught
        except SubjectError as error:
            if type_name not in error.bases:
                raise
            caught.append(error)
        else:
            pytest.fail(f"did not raise {type_name}")

    def _ask(self, request):
        line = json.dumps(request | {"root": ROOT}, allow_nan=False).encode() + b"\n"
        try:
            done = subprocess.run(
                [sys.executable, "-I", "-B", "-c", WORKER],
                input=line,
                stdout=subprocess.PIPE,
                cwd=ROOT,
                timeout=CALL_SECONDS,
            )
            reply = json.loads(done.stdout)
        except subprocess.TimeoutExpired:
            raise SubjectError("", "it took too long", []) from None
        except ValueError:
            raise SubjectError("", "no JSON came back", []) from None
        if "error" in reply:
            raise SubjectError(**reply["error"])
        return reply["value"]


@pytest.fixture
def subject():
    return Subject()
