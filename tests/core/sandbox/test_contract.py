"""What every sort of sandbox promises."""

from __future__ import annotations

import asyncio
import os
import secrets
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from harness_adapters.errors import AgentError, InfraError
from harness_adapters.sandbox.base import (
    MIB,
    FileEntry,
    Mount,
    Sandbox,
    SandboxProvider,
    SandboxSpec,
    User,
)
from harness_adapters.sandbox.inside.processes import NICE

Marked = Callable[[str], list[int]]


async def sh(sandbox: Sandbox, script: str, timeout: float = 20.0) -> str:
    result = await sandbox.exec(["sh", "-c", script], timeout=timeout)
    assert result.returncode == 0, result.stderr
    return result.stdout.decode()


async def gone(find: Callable[[], object], seconds: float = 10.0) -> bool:
    end = time.monotonic() + seconds
    while find():
        if time.monotonic() > end:
            return False
        await asyncio.sleep(0.02)
    return True


# --- programs -----------------------------------------------------------------------------------


async def test_a_command_gets_its_streams_folder_and_environment(sandbox: Sandbox) -> None:
    result = await sandbox.exec(
        ["sh", "-c", 'cat; pwd; echo "$WORD"; echo "$HOME"; echo oops >&2; exit 3'],
        stdin=b"in\n",
        env={"WORD": "päth"},
    )
    work, home = sandbox.path("/work"), sandbox.path("/home/agent")
    assert result.stdout.decode() == f"in\n{work}\npäth\n{home}\n"
    assert result.stderr == b"oops\n"
    assert (result.returncode, result.timed_out, result.truncated) == (3, False, False)


async def test_the_host_environment_does_not_reach_programs(
    sandboxes: SandboxProvider, small: SandboxSpec, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HF_TOKEN", "secret")
    async with sandboxes.open(replace(small, environment={"MODE": "test"})) as sandbox:
        names = {line.split("=")[0] for line in (await sh(sandbox, "env")).splitlines()}
    assert names <= {"MODE", "HOME", "PATH", "LANG", "PYTHONPATH", "PWD", "TMPDIR", "SHLVL", "_"}
    assert "MODE" in names


async def test_a_signal_is_a_negative_returncode(sandbox: Sandbox) -> None:
    result = await sandbox.exec(["sh", "-c", "kill -TERM $$"])
    assert result.returncode == -15


async def test_programs_let_the_host_go_first(sandbox: Sandbox) -> None:
    # A container's supervisor is as nice as the engine, not as this process.
    how_nice = "import os; print(os.getpriority(os.PRIO_PROCESS, os.getppid()), os.nice(0))"
    done = await sandbox.exec(["python3", "-c", how_nice], timeout=60)
    supervisor, program = map(int, done.stdout.split())
    assert program == min(supervisor + NICE, 19)


async def test_a_missing_program_is_reported_as_a_shell_does(sandbox: Sandbox) -> None:
    result = await sandbox.exec(["no-such-program"])
    assert result.returncode == 127
    assert b"no-such-program" in result.stderr
    await sandbox.put({"plain": FileEntry(content=b"x", mode=0o644)}, at="/work")
    denied = await sandbox.exec([sandbox.path("/work") + "/plain"])
    assert denied.returncode == 126


async def test_python_and_pytest_are_there(sandbox: Sandbox) -> None:
    await sandbox.put(
        {"test_one.py": FileEntry(content=b"def test_one():\n    assert 1 + 1 == 2\n")}, at="/work"
    )
    for command in (["python3", "-m", "pytest", "-q"], ["pytest", "-q"], ["python", "-V"]):
        result = await sandbox.exec(command, timeout=60)
        assert result.returncode == 0, result.stdout + result.stderr


async def test_where_pytest_lies_can_be_named(sandbox: Sandbox) -> None:
    """A Python that takes no folders from the environment is told."""
    assert "pytest" in (await sh(sandbox, f"ls {sandbox.path('/opt/ha/site')}")).split()


async def test_node_runs_under_the_limits(sandbox: Sandbox) -> None:
    if (await sandbox.exec(["sh", "-c", "command -v node"])).returncode:
        pytest.skip("this machine has no node")
    script = "let a=[];for(let i=0;i<2e5;i++)a.push({i});console.log(a.length)"
    assert await sh(sandbox, f"node -e '{script}'") == "200000\n"


async def test_more_output_than_allowed_is_thrown_away(sandbox: Sandbox) -> None:
    result = await sandbox.exec(["sh", "-c", "seq 100000; echo end >&2"], max_output=1000)
    assert result.truncated
    assert len(result.stdout) == 1000
    assert result.stderr == b"end\n"


async def test_a_gigabyte_of_output_neither_hangs_nor_fills_memory(sandbox: Sandbox) -> None:
    def resident() -> int:
        return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")

    before = resident()
    result = await sandbox.exec(["head", "-c", "1G", "/dev/zero"], timeout=60, max_output=MIB)
    assert (result.returncode, result.truncated, len(result.stdout)) == (0, True, MIB)
    assert resident() - before < 64 * MIB


async def test_much_input_reaches_a_slow_reader(sandbox: Sandbox) -> None:
    data = os.urandom(3 * MIB)
    result = await sandbox.exec(["sh", "-c", "sleep 0.2; cksum"], stdin=data)
    assert result.stdout.split()[1] == b"%d" % len(data)


async def test_input_that_nobody_reads_is_no_error(sandbox: Sandbox) -> None:
    result = await sandbox.exec(["true"], stdin=b"x" * MIB)
    assert result.returncode == 0


async def test_a_timeout_ends_also_what_left_the_session(
    sandbox: Sandbox, marked_processes: Marked
) -> None:
    mark = f"mark-{secrets.token_hex(8)}"
    script = f"(setsid sh -c 'sleep 600; : {mark}' {mark} & ) ; sleep 0.1; exec sleep 600"
    result = await sandbox.exec(["sh", "-c", script], timeout=0.7)
    assert result.timed_out
    assert result.returncode < 0
    assert await gone(lambda: marked_processes(mark))
    assert await sh(sandbox, "echo alive") == "alive\n"


async def test_a_timeout_spares_other_programs(sandbox: Sandbox) -> None:
    other = await sandbox.spawn(["cat"])
    await sandbox.exec(["sh", "-c", "sleep 600 & sleep 600"], timeout=0.3)
    await other.write(b"still here\n")
    assert await other.stdout.readline() == b"still here\n"
    await other.kill()


async def test_cancellation_ends_the_whole_tree(sandbox: Sandbox, marked_processes: Marked) -> None:
    mark = f"mark-{secrets.token_hex(8)}"
    running = asyncio.create_task(
        sandbox.exec(["sh", "-c", f"setsid sh -c 'sleep 600; :' {mark} & echo up; sleep 600"])
    )
    assert await gone(lambda: not marked_processes(mark))
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    assert await gone(lambda: marked_processes(mark))


async def test_a_background_process_outlives_its_command_but_not_a_freeze(
    sandbox: Sandbox, marked_processes: Marked
) -> None:
    mark = f"mark-{secrets.token_hex(8)}"
    await sh(sandbox, f"setsid sh -c 'while :; do date > beat; sleep 0.02; done' {mark} &")
    await sh(sandbox, "until test -s beat; do sleep 0.02; done")
    await sandbox.freeze()
    assert not marked_processes(mark)
    beat = await sandbox.read_file("/work/beat", max_bytes=100)
    await asyncio.sleep(0.1)
    assert await sandbox.read_file("/work/beat", max_bytes=100) == beat


async def test_a_background_process_is_gone_after_closing(
    sandboxes: SandboxProvider, small: SandboxSpec, marked_processes: Marked
) -> None:
    mark = f"mark-{secrets.token_hex(8)}"
    async with sandboxes.open(small) as sandbox:
        await sh(sandbox, f"setsid sh -c 'sleep 600; :' {mark} >/dev/null 2>&1 & echo")
        assert await gone(lambda: not marked_processes(mark))
    assert await gone(lambda: marked_processes(mark), 2.0)


async def test_a_background_process_that_keeps_the_pipe_does_not_hang_the_command(
    sandbox: Sandbox,
) -> None:
    started = time.monotonic()
    assert await sh(sandbox, "sleep 600 & echo done") == "done\n"
    assert time.monotonic() - started < 5


async def test_a_frozen_sandbox_starts_nothing_as_agent(sandbox: Sandbox) -> None:
    waiting = asyncio.create_task(sandbox.exec(["sleep", "600"]))
    await sh(sandbox, "true")
    await sandbox.freeze()
    assert (await waiting).returncode == -9
    with pytest.raises(InfraError):
        await sandbox.exec(["true"])
    assert (await sandbox.exec(["true"], user=User.TESTS, cwd="/tmp")).returncode == 0
    await sandbox.freeze()


async def test_talking_to_a_program(sandbox: Sandbox) -> None:
    process = await sandbox.spawn(["sh", "-c", 'while read x; do echo "<$x>"; done; exit 4'])
    for word in (b"one", b"two"):
        await process.write(word + b"\n")
        assert await process.stdout.readline() == b"<" + word + b">\n"
    await process.write_eof()
    assert await process.wait() == 4
    assert await process.stdout.read() == b""
    await process.write(b"nobody is there")


async def test_a_slow_reader_slows_the_program_down(sandbox: Sandbox) -> None:
    process = await sandbox.spawn(["sh", "-c", "seq 4000000; echo $? > finished"])
    await asyncio.sleep(0.7)
    assert await sandbox.read_file("/work/finished", max_bytes=9) is None
    size, last = 0, b""
    while data := await process.stdout.read(1 << 16):
        size, last = size + len(data), (last + data)[-8:]
    assert (size, last) == (30_888_896, b"4000000\n")
    assert await process.wait() == 0
    assert await sandbox.read_file("/work/finished", max_bytes=9) == b"0\n"


async def test_a_long_line_is_read_as_one(sandbox: Sandbox) -> None:
    process = await sandbox.spawn(["sh", "-c", "head -c 3000000 /dev/zero | tr '\\0' x; echo"])
    assert len(await process.stdout.readline()) == 3_000_001
    await process.wait()


async def test_killing_a_program_ends_what_it_left_behind(
    sandbox: Sandbox, marked_processes: Marked
) -> None:
    mark = f"mark-{secrets.token_hex(8)}"
    process = await sandbox.spawn(["sh", "-c", f"setsid sh -c 'sleep 600; :' {mark} & echo up"])
    assert await process.stdout.readline() == b"up\n"
    assert await process.wait() == 0
    await process.kill()
    assert await gone(lambda: marked_processes(mark))


async def test_sixteen_at_once(sandboxes: SandboxProvider, small: SandboxSpec) -> None:
    async def one(number: int) -> str:
        async with sandboxes.open(small) as sandbox:
            await sandbox.put({"n": FileEntry(content=b"%d" % number)}, at="/work")
            return await sh(sandbox, "cat n", timeout=60)

    assert await asyncio.gather(*map(one, range(16))) == [str(n) for n in range(16)]


async def test_many_commands_at_once_in_one_sandbox(sandbox: Sandbox) -> None:
    outputs = await asyncio.gather(*(sh(sandbox, f"echo {n}; cat /dev/null") for n in range(12)))
    assert outputs == [f"{n}\n" for n in range(12)]


# --- files --------------------------------------------------------------------------------------


async def test_files_go_in_and_come_out(sandbox: Sandbox) -> None:
    files = {
        "run.sh": FileEntry(content=b"#!/bin/sh\necho ran\n", mode=0o755),
        "deep/er/data.bin": FileEntry(content=os.urandom(300_000), mode=0o600),
        "empty": FileEntry(content=b""),
    }
    await sandbox.put(files, at="/work/tree")
    assert await sandbox.read_tree("/work/tree", max_bytes=MIB) == files
    assert await sh(sandbox, "./tree/run.sh") == "ran\n"
    assert await sh(sandbox, "echo more >> tree/empty; cat tree/empty") == "more\n"
    await sandbox.put({"empty": FileEntry(content=b"new")}, at="/work/tree")
    assert await sandbox.read_file("/work/tree/empty", max_bytes=10) == b"new"


@pytest.mark.parametrize("name", ["/etc/x", "../x", "a/../../x", "a//b", "", "."])
async def test_names_that_leave_the_folder_are_refused(sandbox: Sandbox, name: str) -> None:
    with pytest.raises(ValueError):
        await sandbox.put({name: FileEntry(content=b"")}, at="/work")


@pytest.mark.parametrize("path", ["/etc/passwd", "/work/../etc/passwd", "/workshop", "/", "work"])
async def test_paths_outside_the_writable_folders_are_refused(sandbox: Sandbox, path: str) -> None:
    with pytest.raises(ValueError):
        await sandbox.read_file(path, max_bytes=10)


async def test_names_of_any_bytes_survive(sandbox: Sandbox) -> None:
    names = ["new\nline", "-rf", "quote'\"", "ünï", "bad\udcff\udcfe", "tab\t", "a" * 255]
    await sandbox.put(
        {name: FileEntry(content=name.encode(errors="replace")) for name in names}, at="/work/odd"
    )
    assert set(await sandbox.read_tree("/work/odd", max_bytes=MIB)) == set(names)
    for name in names:
        assert await sandbox.read_file(f"/work/odd/{name}", max_bytes=MIB) is not None


async def test_what_is_missing_and_what_is_no_file(sandbox: Sandbox) -> None:
    await sh(sandbox, "mkdir d; mkfifo pipe; ln -s nowhere broken; ln -s loop loop; echo 12345 > f")
    assert await sandbox.read_file("/work/none", max_bytes=10) is None
    assert await sandbox.read_file("/work/f/below", max_bytes=10) is None
    assert await sandbox.read_file("/work/broken", max_bytes=10) is None
    assert await sandbox.read_tree("/work/none", max_bytes=10) == {}
    for path in ("d", "pipe", "loop"):
        with pytest.raises(AgentError):
            await sandbox.read_file(f"/work/{path}", max_bytes=10)
    with pytest.raises(AgentError):
        await sandbox.read_file("/work/f", max_bytes=5)


async def test_a_tree_leaves_out_what_is_no_regular_file(sandbox: Sandbox) -> None:
    script = """
import os, socket
os.mkfifo("pipe"); os.symlink("/etc", "link"); os.mkdir("empty"); os.mkdir("d")
socket.socket(socket.AF_UNIX).bind("sock"); open("d/file", "w").write("x")
os.symlink("../..", "d/up"); open("locked", "w").write("y"); os.chmod("locked", 0)
os.mkdir("shut"); open("shut/in", "w").write("z"); os.chmod("shut", 0)
"""
    assert (await sandbox.exec(["python3", "-c", script])).returncode == 0
    await sandbox.freeze()
    tree = await sandbox.read_tree("/work", max_bytes=100)
    assert {name: entry.content for name, entry in tree.items()} == {
        "d/file": b"x",
        "locked": b"y",
        "shut/in": b"z",
    }


async def test_links_are_followed_only_inside_the_writable_folders(sandbox: Sandbox) -> None:
    tmp = sandbox.path("/tmp")
    await sh(
        sandbox,
        f"""
        mkdir -p a/b; echo in > a/b/f; ln -s a/b/../b/f near; echo t > {tmp}/t; ln -s {tmp}/t far
        ln -s a deep; ln -s /etc/passwd out; ln -s /etc outdir; ln -s ../../etc/passwd up
        ln -s /proc/1/root/etc/passwd root; ln -s /proc/self/fd/0 fd
        """,
    )
    for path, content in (("near", b"in\n"), ("far", b"t\n"), ("deep/b/f", b"in\n")):
        assert await sandbox.read_file(f"/work/{path}", max_bytes=10) == content
    for path in ("out", "outdir/passwd", "up", "root", "fd"):
        with pytest.raises(AgentError):
            await sandbox.read_file(f"/work/{path}", max_bytes=100_000)
    with pytest.raises(AgentError):
        await sandbox.read_tree("/work/outdir", max_bytes=100_000)
    await sh(sandbox, "rm -rf target; ln -s /etc target")
    with pytest.raises(AgentError):
        await sandbox.put({"x": FileEntry(content=b"")}, at="/work/target")
    with pytest.raises(AgentError):
        await sandbox.put({"target/x": FileEntry(content=b"")}, at="/work")
    await sandbox.put({"out": FileEntry(content=b"replaced")}, at="/work")
    assert await sandbox.read_file("/work/out", max_bytes=100) == b"replaced"


async def test_a_tree_has_limits(sandbox: Sandbox) -> None:
    await sh(
        sandbox, "mkdir many huge; cd many; seq 20001 | xargs touch; cd ../huge; truncate -s 1T f"
    )
    with pytest.raises(AgentError):
        await sandbox.read_tree("/work/many", max_bytes=MIB)
    with pytest.raises(AgentError):
        await sandbox.read_tree("/work/huge", max_bytes=MIB)
    with pytest.raises(AgentError):
        await sandbox.read_file("/work/huge/f", max_bytes=MIB)
    await sh(sandbox, "mkdir deep; cd deep; for i in $(seq 300); do mkdir d; cd d; done")
    with pytest.raises(AgentError):
        await sandbox.read_tree("/work/deep", max_bytes=MIB)


async def test_a_mounted_folder_can_be_read(
    sandboxes: SandboxProvider, small: SandboxSpec, tmp_path: Path
) -> None:
    (tmp_path / "tool").write_text("#!/bin/sh\necho tool\n")
    (tmp_path / "tool").chmod(0o755)
    tmp_path.chmod(0o755)
    spec = replace(small, mounts=(Mount(source=tmp_path, target="/opt/tools"),))
    async with sandboxes.open(spec) as sandbox:
        assert await sh(sandbox, sandbox.path("/opt/tools") + "/tool") == "tool\n"


# --- the way out --------------------------------------------------------------------------------


async def test_the_outlet_reaches_its_socket_until_the_freeze(
    sandboxes: SandboxProvider, small: SandboxSpec, tmp_path: Path
) -> None:
    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = await reader.readuntil(b"\r\n\r\n")
        length = int(head.lower().split(b"content-length: ")[1].split(b"\r\n")[0])
        body = await reader.readexactly(length)
        reply = b"%d" % len(body) + b"x" * 500_000
        writer.write(b"HTTP/1.0 200 OK\r\n\r\n" + reply)
        await writer.drain()
        writer.close()
        await writer.wait_closed()

    outlet = tmp_path / "gateway.sock"
    server = await asyncio.start_unix_server(answer, outlet)
    client = """
import sys, urllib.request
body = b"y" * 400_000
def ask():
    with urllib.request.urlopen(sys.argv[1] + "/v1", data=body, timeout=10) as reply:
        return reply.read()
from concurrent.futures import ThreadPoolExecutor
with ThreadPoolExecutor(8) as pool:
    replies = [f.result() for f in [pool.submit(ask) for _ in range(16)]]
assert set(replies) == {b"400000" + b"x" * 500_000}, [len(r) for r in replies]
"""
    async with server, sandboxes.open(replace(small, outlet=outlet)) as sandbox:
        command = ["python3", "-c", client, sandbox.outlet_url]
        result = await sandbox.exec(command, timeout=60)
        assert result.returncode == 0, result.stderr
        await sandbox.freeze()
        late = await sandbox.exec(command, user=User.TESTS, cwd="/tmp", timeout=60)
        assert late.returncode != 0
        assert b"refused" in late.stderr


async def test_without_an_outlet_there_is_no_url(sandbox: Sandbox) -> None:
    with pytest.raises(ValueError):
        _ = sandbox.outlet_url


async def test_orders_that_make_no_sense_are_refused(sandbox: Sandbox) -> None:
    with pytest.raises(ValueError):
        await sandbox.exec([])
    with pytest.raises(ValueError):
        await sandbox.exec(["true"], user=User.OWNER)


async def test_a_spec_that_makes_no_sense_is_refused(sandboxes: SandboxProvider) -> None:
    for spec in (
        SandboxSpec(workdir="/other"),
        SandboxSpec(writable={"/": MIB}),
        SandboxSpec(workdir="/work/../etc"),
    ):
        with pytest.raises(ValueError):
            async with sandboxes.open(spec):
                pass


async def test_a_full_disk_is_an_error_and_leaves_the_sandbox_usable(isolated: Sandbox) -> None:
    result = await isolated.exec(["sh", "-c", "echo kept > f; cat /dev/zero > big"])
    assert b"No space left" in result.stderr
    with pytest.raises(InfraError, match="No space left"):
        await isolated.put({"more": FileEntry(content=b"x" * 100_000)}, at="/work")
    assert await isolated.read_file("/work/f", max_bytes=10) == b"kept\n"
    await isolated.freeze()
    tree = await isolated.read_tree("/work", max_bytes=16 * MIB)
    assert 7 * MIB < len(tree["big"].content) <= 8 * MIB
