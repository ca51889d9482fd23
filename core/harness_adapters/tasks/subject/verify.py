"""Running hidden tests against what an agent left, with nothing shared between the two."""

from __future__ import annotations

import json
import posixpath
import secrets
from collections.abc import Collection, Mapping
from contextlib import AsyncExitStack
from pathlib import Path
from urllib.parse import urlsplit

from harness_adapters.errors import AgentError, HarnessAdaptersError, InfraError
from harness_adapters.sandbox.base import (
    MIB,
    ExecResult,
    FileEntry,
    Sandbox,
    SandboxProvider,
    SandboxSpec,
    User,
)
from harness_adapters.tasks.subject import conditions
from harness_adapters.tasks.subject.conditions import Conditions
from harness_adapters.tasks.subject.relay import Relay
from harness_adapters.tasks.subject.report import MAX_REPORT_BYTES, TestReport, judge
from harness_adapters.tasks.workspace import (
    MAX_TREE_BYTES,
    put_files,
    read_folder,
    writable_folders,
)
from harness_adapters.types import Task

CALL_SECONDS = 30.0  # generous: a busy machine starts a process slowly
SITE = "/opt/ha/site"  # where a sandbox has pytest
RUNNER = Path(__file__).with_name("runner.py")


async def verify_tests(
    task: Task,
    tree: Mapping[str, FileEntry],
    sandboxes: SandboxProvider,
    *,
    tests_dir: Path,
    seconds: float,
    expected: Collection[str] = (),
) -> TestReport:
    """Run the pytest files of ``tests_dir`` against ``tree``.

    The tree lies unchangeable in one fresh sandbox, where each ``subject`` call of a test is one
    process; the tests run in another. The judge is this function: it reads the bounded report when
    all processes in both are dead.

    :param tree: the working folder's files by relative path.
    :param seconds: wall time for the whole test run.
    :param expected: test ids that must be among the results.
    :raises InfraError: no sandbox opens, or the one that holds none of the agent's code fails.
    """
    nonce, canary = secrets.token_hex(16), f"test_ha_canary_{secrets.token_hex(8)}"
    under = conditions.current()
    relay = Relay(call_seconds=CALL_SECONDS, before=under.before)
    report: TestReport | None = None
    try:
        async with AsyncExitStack() as stack:
            outlet = await stack.enter_async_context(relay.listening())
            tests = await stack.enter_async_context(sandboxes.open(_tests_spec(outlet, under)))
            code = await stack.enter_async_context(sandboxes.open(_code_spec(task, under)))
            await _put_tests(tests, tests_dir, canary)
            try:
                await put_files(task, code, user=User.OWNER, without=task.workdir)
                await code.put(_readable(tree), at=task.workdir, user=User.OWNER)
            except (HarnessAdaptersError, ValueError, OSError) as error:
                report = TestReport(broke=f"the tree cannot be put into a fresh sandbox: {error}")
                return report
            relay.connect(code, [task.workdir, posixpath.join(task.workdir, "src")])
            ran = await _run_tests(tests, nonce, seconds, under)
            try:
                await code.freeze()
            except HarnessAdaptersError:
                pass  # its code broke it; nothing in it is read any more
            await tests.freeze()
            raw = await _read(tests)
            report = judge(raw, nonce=nonce, canary=f"{canary}.py::{canary}", expected=expected)
            if ran.timed_out:
                report = TestReport(broke=f"the tests took longer than {seconds:g} s")
            elif not raw:
                report = TestReport(broke=f"{report.broke} ({_last_line(ran)})")
            return report
    except InfraError:
        if report is None:
            raise
        return report  # what the agent's code did to its own sandbox must not save it from its 0


def _tests_spec(outlet: Path, under: Conditions) -> SandboxSpec:
    writable = {"/tests": MAX_TREE_BYTES, "/verdict": 16 * MIB, "/tmp": 256 * MIB}
    return SandboxSpec(
        workdir="/tests", writable=writable, outlet=outlet, environment=under.environment
    )


def _code_spec(task: Task, under: Conditions) -> SandboxSpec:
    return SandboxSpec(
        workdir=task.workdir,
        writable=writable_folders(task) | {task.workdir: 2 * MAX_TREE_BYTES},
        hidden=(task.path,),
        environment={**task.environment, **under.environment},
    )


def _readable(tree: Mapping[str, FileEntry]) -> dict[str, FileEntry]:
    """The same files for another owner: what its own could read and run, the agent still can."""
    return {
        path: FileEntry(content=entry.content, mode=0o755 if entry.mode & 0o111 else 0o644)
        for path, entry in tree.items()
    }


async def _put_tests(tests: Sandbox, tests_dir: Path, canary: str) -> None:
    files = {
        name: FileEntry(content=entry.content, mode=0o600)
        for name, entry in read_folder(tests_dir).items()
    }
    must_fail = f"def {canary}():\n    assert not True\n"
    files[f"{canary}.py"] = FileEntry(content=must_fail.encode(), mode=0o600)
    await tests.put(files, at="/tests", user=User.TESTS)
    verdict = {
        "runner.py": FileEntry(content=RUNNER.read_bytes(), mode=0o600),
        "report.json": FileEntry(content=b"", mode=0o600),
    }
    await tests.put(verdict, at="/verdict", user=User.TESTS)


async def _run_tests(tests: Sandbox, nonce: str, seconds: float, under: Conditions) -> ExecResult:
    settings = {
        "nonce": nonce,
        "before": under.before,
        "order": under.order,
        "port": urlsplit(tests.outlet_url).port,
        "call_seconds": CALL_SECONDS + 5,  # the relay ends a call; this only catches its silence
        "site": tests.path(SITE),
        "tests": tests.path("/tests"),
        "report": tests.path("/verdict/report.json"),
    }
    return await tests.exec(
        ["python3", "-I", "-B", tests.path("/verdict/runner.py")],
        user=User.TESTS,
        cwd="/tests",
        timeout=seconds,
        stdin=json.dumps(settings).encode() + b"\n",
    )


def _last_line(ran: ExecResult) -> str:
    lines = (ran.stderr.strip() or ran.stdout.strip()).decode(errors="replace").splitlines()
    return f"pytest ended with {ran.returncode}: {lines[-1][:200] if lines else 'no output'}"


async def _read(tests: Sandbox) -> bytes | None:
    try:
        return await tests.read_file("/verdict/report.json", max_bytes=MAX_REPORT_BYTES)
    except AgentError:
        return None
