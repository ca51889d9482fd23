"""The separate verifier on real sandboxes: what an agent's code may do, and what comes of it."""

from __future__ import annotations

import asyncio
import textwrap
from collections.abc import AsyncIterator, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path

import pytest

from harness_adapters.errors import InfraError
from harness_adapters.sandbox.base import (
    FileEntry,
    Isolation,
    Sandbox,
    SandboxProvider,
    SandboxSpec,
)
from harness_adapters.sandbox.providers import provider
from harness_adapters.tasks.subject import TestReport, verify, verify_tests
from harness_adapters.tasks.subject.relay import Relay
from harness_adapters.types import Task, TaskMetadata

TESTS = """
def test_total(subject):
    assert subject.call("shop.cart:total", [3, 4]) == 7

def test_empty(subject):
    assert subject.call("shop.cart:total", []) == 0
"""
BOTH = ("test_cart.py::test_total", "test_cart.py::test_empty")
GOOD = "def total(prices):\n    return sum(prices)\n"
BUGGY = "def total(prices):\n    return sum(prices[1:])\n"


@pytest.fixture(params=["bubblewrap", "process"])
async def sandboxes(request: pytest.FixtureRequest) -> SandboxProvider:
    return await provider(request.param)


@pytest.fixture
async def bubblewrap() -> SandboxProvider:
    return await provider("bubblewrap")


async def run(
    sandboxes: SandboxProvider,
    tmp_path: Path,
    cart: str,
    tests: str = TESTS,
    *,
    seconds: float = 60,
    files: dict[str, bytes] | None = None,
    entries: dict[str, FileEntry] | None = None,
) -> TestReport:
    tests_dir = tmp_path / "tests"
    tests_dir.mkdir(exist_ok=True)
    (tests_dir / "test_cart.py").write_text(textwrap.dedent(tests))
    task = Task(
        id="cart",
        instruction="fix",
        path=tmp_path,
        metadata=TaskMetadata(kind="repair", cluster="shop"),
    )
    tree = {
        "shop/__init__.py": FileEntry(content=b""),
        "shop/cart.py": FileEntry(content=textwrap.dedent(cart).encode()),
    }
    tree |= {name: FileEntry(content=content) for name, content in (files or {}).items()}
    tree |= entries or {}
    return await verify_tests(task, tree, sandboxes, tests_dir=tests_dir, seconds=seconds)


async def test_good_code_passes_and_a_bug_fails_by_assertion(
    sandboxes: SandboxProvider, tmp_path: Path
) -> None:
    good, bad = tmp_path / "good", tmp_path / "bad"
    good.mkdir()
    bad.mkdir()
    report = await run(sandboxes, good, GOOD)
    assert report.broke == ""
    assert report.results == dict.fromkeys(BOTH, "passed")
    report = await run(sandboxes, bad, BUGGY)
    assert report.broke == ""
    assert report.results["test_cart.py::test_total"] == "failed"
    assert report.results["test_cart.py::test_empty"] == "passed"
    assert report.reasons["test_cart.py::test_total"].startswith("AssertionError: assert 4 == 7")


async def test_what_a_test_can_do_with_its_subject(
    sandboxes: SandboxProvider, tmp_path: Path
) -> None:
    tests = '''
    import pytest

    def test_eval(subject):
        value = subject.eval("""
    from shop.cart import total
    result = {"a": (total([1]), 1.0, True, None, "x")}
    """)
        assert repr(value) == repr({"a": [1, 1.0, True, None, "x"]})

    def test_raises(subject):
        with subject.raises("LookupError") as caught:
            subject.call("shop.cart:find", "nothing")
        assert [(error.type, error.message) for error in caught] == [("KeyError", "'nothing'")]

    def test_raises_another(subject):
        with subject.raises("ValueError"):
            subject.call("shop.cart:find", "nothing")

    def test_does_not_raise(subject):
        with subject.raises("ValueError"):
            subject.call("shop.cart:total", [])

    def test_every_call_is_a_fresh_process(subject):
        assert subject.call("shop.cart:count") == 1
        assert subject.call("shop.cart:count") == 1

    def test_keywords(subject):
        assert subject.call("shop.cart:total", prices=[5]) == 5

    @pytest.mark.parametrize("price", [1, 2])
    def test_parameters(subject, price):
        assert subject.call("shop.cart:total", [price]) == price

    @pytest.mark.skip
    def test_skipped(subject):
        pass
    '''
    cart = GOOD + (
        "calls = []\n"
        "def count():\n    print('noise')\n    calls.append(1)\n    return len(calls)\n"
        "def find(key):\n    return {}[key]\n"
    )
    report = await run(sandboxes, tmp_path, cart, tests)
    assert report.broke == ""
    assert {name.removeprefix("test_cart.py::"): r for name, r in report.results.items()} == {
        "test_eval": "passed",
        "test_raises": "passed",
        "test_raises_another": "error",
        "test_does_not_raise": "failed",
        "test_every_call_is_a_fresh_process": "passed",
        "test_keywords": "passed",
        "test_parameters[1]": "passed",
        "test_parameters[2]": "passed",
    }


async def test_large_values_pass_in_both_directions_up_to_a_mebibyte(
    sandboxes: SandboxProvider, tmp_path: Path
) -> None:
    tests = """
    def test_large(subject):
        assert subject.call("shop.cart:same", "x" * 1_000_000) == "x" * 1_000_000

    def test_too_large(subject):
        with subject.raises("TooLarge"):
            subject.call("shop.cart:same", "x" * 1_048_570)
    """
    report = await run(sandboxes, tmp_path, "def same(value):\n    return value\n", tests)
    assert report.reasons == {}
    assert set(report.results.values()) == {"passed"}


async def test_hostile_code_fails_its_tests_and_never_the_run(
    bubblewrap: SandboxProvider, tmp_path: Path
) -> None:
    """``tests/plugins/tasks/test_tamper_matrix.py`` holds the whole table of attacks."""
    hostile = """
        import os
        for number in range(3, 20):
            try:
                os.write(number, b'{"value": true}\\n{"error": null}\\n')
            except OSError:
                pass
        os._exit(0)
        """
    report = await run(bubblewrap, tmp_path, hostile)
    assert report.broke == ""  # the tests' sandbox never notices
    assert set(report.results) == set(BOTH)
    assert "passed" not in report.results.values()


async def test_a_hang_costs_a_bounded_time(
    bubblewrap: SandboxProvider, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(verify, "CALL_SECONDS", 1.0)
    tests = "import pytest\n@pytest.mark.parametrize('n', range(30))\ndef test_total(subject, n):\n"
    tests += "    assert subject.call('shop.cart:total', [n]) == n\n"
    report = await run(bubblewrap, tmp_path, "while True: pass\n", tests)
    assert report.broke == ""
    assert set(report.results.values()) == {"error"}
    assert next(iter(report.reasons.values())).endswith("no answer within 1 s")
    assert list(report.reasons.values())[-1].endswith("not called, since earlier calls hung")


async def test_a_fork_bomb_fails_its_tests_and_no_other(
    bubblewrap: SandboxProvider, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(verify, "CALL_SECONDS", 2.0)
    bomb = "import os\nwhile True:\n    try: os.fork()\n    except OSError: pass\n"
    report = await run(bubblewrap, tmp_path, bomb)
    assert report.broke == ""
    assert "passed" not in report.results.values()
    good = tmp_path / "good"
    good.mkdir()
    monkeypatch.undo()
    assert set((await run(bubblewrap, good, GOOD)).results.values()) == {"passed"}


async def test_a_cancelled_run_leaves_nothing(
    bubblewrap: SandboxProvider, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sockets: list[Path] = []
    reached = asyncio.Event()

    class Watched(Relay):
        @asynccontextmanager
        async def listening(self) -> AsyncIterator[Path]:
            async with super().listening() as path:
                sockets.append(path)
                yield path

        async def _ask(self, code: Sandbox, request: bytes) -> bytes:
            reached.set()
            return await super()._ask(code, request)

    monkeypatch.setattr(verify, "Relay", Watched)
    running = asyncio.create_task(run(bubblewrap, tmp_path, "while True: pass\n"))
    asked = asyncio.create_task(reached.wait())
    await asyncio.wait((running, asked), return_when=asyncio.FIRST_COMPLETED)
    asked.cancel()
    assert not running.done(), running.result()
    assert sockets[0].exists()
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    assert not sockets[0].parent.exists()


async def test_tests_that_take_too_long_do_not_count(
    bubblewrap: SandboxProvider, tmp_path: Path
) -> None:
    tests = TESTS + "\ndef test_slow(subject):\n    import time\n    time.sleep(60)\n"
    report = await run(bubblewrap, tmp_path, GOOD, tests, seconds=5)
    assert report.broke == "the tests took longer than 5 s"
    assert report.results == {}


async def test_the_code_can_neither_change_itself_nor_see_a_test(
    bubblewrap: SandboxProvider, tmp_path: Path
) -> None:
    tests = """
    def test_look(subject):
        assert subject.call("shop.cart:look") == []
    """
    cart = """
        import os
        def look():
            found = [p for p in ("/tests", "/verdict", "/solution") if os.path.exists(p)]
            found += [p for p in os.environ if "nonce" in p.lower()]
            for place in ("/work/shop/cart.py", "/work/shop/new.py"):
                try:
                    open(place, "a").write("x")
                    found.append(place)
                except OSError:
                    pass
            return found
        """
    report = await run(bubblewrap, tmp_path, cart, tests)
    assert report.results == {"test_cart.py::test_look": "passed"}


async def test_files_that_only_their_owner_could_read_are_graded_too(
    bubblewrap: SandboxProvider, tmp_path: Path
) -> None:
    private = {"shop/cart.py": FileEntry(content=GOOD.encode(), mode=0o600)}
    report = await run(bubblewrap, tmp_path, GOOD, entries=private)
    assert set(report.results.values()) == {"passed"}


async def test_planted_hooks_are_not_loaded(bubblewrap: SandboxProvider, tmp_path: Path) -> None:
    hook = b"import os\nos._exit(0)\n"
    names = ("conftest.py", "sitecustomize.py", "usercustomize.py", "pytest.py", "json.py", "os.py")
    planted = {f"{folder}{name}": hook for folder in ("", "src/") for name in names}
    planted["x.pth"] = b"import os; os._exit(0)\n"
    planted["pytest.ini"] = b"[pytest]\naddopts = --collect-only\n"
    report = await run(bubblewrap, tmp_path, GOOD, files=planted)
    assert set(report.results.values()) == {"passed"}


async def test_a_conftest_beside_the_tests_is_not_loaded(
    sandboxes: SandboxProvider, tmp_path: Path
) -> None:
    local = "import pytest\n@pytest.fixture\ndef subject(): raise OSError('no separate verifier')\n"
    (tmp_path / "tests").mkdir()
    (tmp_path / "tests/conftest.py").write_text(local)
    assert set((await run(sandboxes, tmp_path, GOOD)).results.values()) == {"passed"}


async def test_a_broken_test_file_is_an_error_of_its_name(
    bubblewrap: SandboxProvider, tmp_path: Path
) -> None:
    report = await run(bubblewrap, tmp_path, GOOD, "import nothing_of_the_sort\n")
    assert report.results == {"test_cart.py": "error"}


class Faulty:
    """Opens real sandboxes, and fails where it is told to."""

    name = "faulty"
    boundary = True
    images = False

    def __init__(self, inner: SandboxProvider, *, opens: int = 99, closes: bool = True) -> None:
        self._inner, self._opens, self._closes = inner, opens, closes

    async def probe(self) -> Isolation:
        return Isolation(ok=True)

    async def check_images(self, names: Sequence[str]) -> None:
        pass

    def open(self, spec: SandboxSpec) -> AbstractAsyncContextManager[Sandbox]:
        self._opens -= 1
        if self._opens < 0:
            raise InfraError("no sandbox opens")
        return self._open(spec)

    @asynccontextmanager
    async def _open(self, spec: SandboxSpec) -> AsyncIterator[Sandbox]:
        async with self._inner.open(spec) as sandbox:
            yield sandbox
        if not self._closes:
            raise InfraError("it does not end")


@pytest.mark.parametrize("opens", [0, 1])
async def test_a_sandbox_that_does_not_open_is_nobodys_fault(
    bubblewrap: SandboxProvider, tmp_path: Path, opens: int
) -> None:
    with pytest.raises(InfraError, match="no sandbox opens"):
        await run(Faulty(bubblewrap, opens=opens), tmp_path, GOOD)


async def test_a_sandbox_that_does_not_end_costs_no_verdict(
    bubblewrap: SandboxProvider, tmp_path: Path
) -> None:
    report = await run(Faulty(bubblewrap, closes=False), tmp_path, BUGGY)
    assert report.results["test_cart.py::test_total"] == "failed"


async def test_a_tree_that_cannot_be_put_down_scores_nothing(
    bubblewrap: SandboxProvider, tmp_path: Path
) -> None:
    report = await run(bubblewrap, tmp_path, GOOD, files={"shop/cart.py/inside": b""})
    assert report.broke.startswith("the tree cannot be put into a fresh sandbox: ")
