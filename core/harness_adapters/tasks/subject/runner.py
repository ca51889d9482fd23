"""Runs the hidden tests with pytest, in a sandbox that the agent's code never enters.

Started as ``python3 -I runner.py`` with its settings as one JSON line on standard input, which
nothing else in the sandbox reads. Tests get the fixture ``subject``::

    def test_total(subject):
        assert subject.call("shop.cart:total", [3, 4]) == 7
        with subject.raises("ValueError"):
            subject.call("shop.cart:total", ["x"])
        assert subject.eval("from shop import Cart; result = len(Cart())") == 0

Every call runs in a fresh process elsewhere; only JSON values come back. Text given to ``eval`` can
be read by the code under test: what is expected belongs in the test, not in that text.
A ``conftest.py`` beside the tests is not loaded: a bundle may have one that offers its own
``subject``, for running its ``test.sh`` where there is no separate verifier.
Needs nothing but the standard library and pytest.
"""

from __future__ import annotations

import json
import os
import random
import re
import socket
import sys
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

if __name__ == "__main__":
    SETTINGS: dict[str, Any] = json.loads(sys.stdin.buffer.readline())
    sys.path.insert(0, SETTINGS["site"])
    os.environ["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"
    exec(compile(SETTINGS["before"], "<before>", "exec"), {"__name__": "before"})  # noqa: S102

import pytest

if TYPE_CHECKING:
    from _pytest.reports import CollectReport, TestReport

MAX_REPLY_BYTES = 2 << 20
MAX_REASON = 300


class SubjectError(Exception):
    """The code under test raised, or gave no answer that counts.

    :ivar type: the class name of what it raised; ``""`` when it gave no proper answer at all.
    :ivar bases: names of that class and its base classes.
    :ivar message: its text.
    """

    def __init__(self, type: str, message: str, bases: list[str]) -> None:
        super().__init__(f"{type or 'no answer'}: {message}")
        self.type = type
        self.message = message
        self.bases = bases


class Subject:
    """The way from a test to the code under test."""

    def __init__(self, address: tuple[str, int], timeout: float) -> None:
        self._address = address
        self._timeout = timeout

    def call(self, target: str, *args: Any, **kwargs: Any) -> Any:
        """Call ``package.module:function`` with JSON values; gives the JSON value it returns.

        :raises SubjectError: it raised, or gave no JSON value in time.
        """
        return self._ask({"target": target, "args": args, "kwargs": kwargs})

    def eval(self, source: str) -> Any:
        """Run a few lines beside the code under test; gives their variable ``result``.

        :raises SubjectError: they raised, or gave no JSON value in time.
        """
        return self._ask({"source": source})

    @contextmanager
    def raises(self, type_name: str) -> Iterator[list[SubjectError]]:
        """Expect a call to raise that class or one derived from it; what came is in the list."""
        caught: list[SubjectError] = []
        try:
            yield caught
        except SubjectError as error:
            if type_name not in error.bases:
                raise
            caught.append(error)
        else:
            pytest.fail(f"did not raise {type_name}")

    def _ask(self, request: dict[str, Any]) -> Any:
        data = json.dumps(request, allow_nan=False).encode() + b"\n"
        with (
            socket.create_connection(self._address, timeout=self._timeout) as connection,
            connection.makefile("rb") as replies,
        ):
            connection.sendall(data)
            line = replies.readline(MAX_REPLY_BYTES)
        if not line.endswith(b"\n"):
            raise SubjectError("", "the relay gave no answer", [])
        reply = json.loads(line)
        if "value" in reply:
            return reply["value"]
        fault = reply["error"]
        raise SubjectError(fault["type"], fault["message"], fault["bases"])


class Recorder:
    """A pytest plugin: offers ``subject`` and writes the result of every test at the end."""

    def __init__(self, settings: dict[str, Any]) -> None:
        self._subject = Subject(("127.0.0.1", settings["port"]), settings["call_seconds"])
        self._report = settings["report"]
        self._nonce = settings["nonce"]
        self._order = settings["order"]
        self._collected: list[str] = []
        self._results: dict[str, list[str]] = {}

    @pytest.fixture
    def subject(self) -> Subject:
        return self._subject

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        if self._order is not None:
            random.Random(self._order).shuffle(items)
        self._collected = [item.nodeid for item in items]

    def pytest_collectreport(self, report: CollectReport) -> None:
        if report.failed:
            self._note(report.nodeid, "error", "could not be collected")

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(
        self, item: pytest.Item, call: pytest.CallInfo[None]
    ) -> Generator[None, TestReport, TestReport]:
        report = yield
        if report.failed:
            by_assertion = report.when == "call" and (
                call.excinfo is None
                or call.excinfo.errisinstance((AssertionError, pytest.fail.Exception))
            )
            reason = "" if call.excinfo is None else call.excinfo.exconly(tryshort=True)
            self._note(item.nodeid, "failed" if by_assertion else "error", reason)
        elif report.skipped:
            self._note(item.nodeid, "skipped", "")
        elif report.when == "call":
            self._note(item.nodeid, "passed", "")
        return report

    def pytest_sessionfinish(self) -> None:
        report = {"nonce": self._nonce, "collected": self._collected, "results": self._results}
        Path(self._report).write_text(json.dumps(report), "utf-8")

    def _note(self, name: str, outcome: str, reason: str) -> None:
        ranks = ("passed", "skipped", "failed", "error")
        known = self._results.get(name)
        if known is None or ranks.index(outcome) > ranks.index(known[0]):
            line = re.sub(r"\s+", " ", reason)[:MAX_REASON]
            self._results[name] = [outcome, line]


def main() -> NoReturn:
    tests = SETTINGS["tests"]
    options = ["-q", "-p", "no:cacheprovider", "-c", os.devnull, "--rootdir", tests]
    options += ["--noconftest", "--continue-on-collection-errors", tests]
    pytest.main(options, plugins=[Recorder(SETTINGS)])
    os._exit(0)


if __name__ == "__main__":
    main()
