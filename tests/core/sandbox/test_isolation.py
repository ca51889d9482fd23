"""What a boundary keeps from the programs inside: the host, each other, the supervisor."""

from __future__ import annotations

import asyncio
import os
import secrets
import socket
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import psutil
import pytest

from harness_adapters.errors import InfraError
from harness_adapters.sandbox import bubblewrap as bubblewrap_module
from harness_adapters.sandbox import probe as probe_module
from harness_adapters.sandbox.base import (
    MIB,
    FileEntry,
    Mount,
    ResourceLimits,
    Sandbox,
    SandboxProvider,
    SandboxSpec,
    User,
)
from harness_adapters.sandbox.identities import Identities

as_root = pytest.mark.skipif(os.geteuid() != 0, reason="uids of their own need root")


async def run(sandbox: Sandbox, script: str, user: User = User.AGENT) -> tuple[int, str]:
    result = await sandbox.exec(["sh", "-c", script], user=user, cwd="/", timeout=30)
    return result.returncode, (result.stdout + result.stderr).decode()


async def test_the_probe_finds_isolation(bounded: SandboxProvider) -> None:
    found = await bounded.probe()
    assert found.ok, found.reason
    assert bounded.boundary
    shared_uid = any("share one uid" in line for line in found.lost)
    assert shared_uid == (os.geteuid() != 0 and bounded.name == "bubblewrap")


async def test_nothing_outside_the_writable_folders_can_be_written(isolated: Sandbox) -> None:
    mark = f"ha-test-{secrets.token_hex(8)}"
    for folder in (
        "/",
        "/usr",
        "/etc",
        "/opt/ha",
        "/home",
        "/dev",
        "/run",
        "/var",
        "/logs/verifier",
    ):
        code, _ = await run(isolated, f"mkdir -p {folder} && touch {folder}/{mark}")
        assert code != 0, folder
    assert (await run(isolated, f"touch /tmp/{mark} /dev/shm/{mark} /home/agent/{mark}"))[0] == 0
    for folder in ("/tmp", "/dev/shm", "/usr"):
        assert not (Path(folder) / mark).exists()


async def test_host_files_are_not_there(isolated: Sandbox, tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_text("secret")
    for path in (secret, "/etc/shadow", f"/proc/{os.getpid()}/environ"):
        assert (await run(isolated, f"cat {path}"))[0] != 0
    for path in ("/etc/hostname", "/etc/resolv.conf"):
        code, content = await run(isolated, f"cat {path}")
        assert code or content in ("", "sandbox\n")
    _, listing = await run(isolated, "cat /etc/passwd; hostname")
    assert "agent" in listing
    assert "sandbox" in listing
    assert len(listing.splitlines()) <= 4


async def test_no_address_but_loopback_is_reached(isolated: Sandbox) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        script = f"""
import socket
for host, port in (("127.0.0.1", {port}), ("192.0.2.1", 80), ("1.1.1.1", 53), ("::1", {port})):
    try:
        socket.create_connection((host, port), 2)
    except OSError:
        continue
    print("reached", host)
try:
    s = socket.socket(socket.AF_UNIX)
    s.connect("\\0ha-test-abstract")
    print("reached abstract")
except OSError:
    pass
"""
        with socket.socket(socket.AF_UNIX) as abstract:
            abstract.bind("\0ha-test-abstract")
            abstract.listen()
            result = await isolated.exec(["python3", "-c", script])
    assert (result.returncode, result.stdout) == (0, b"")


@pytest.mark.parametrize(
    "order",
    [
        "kill -9 1",
        "kill -9 $PPID; sleep 0.1",
        "kill -9 -1",
        "kill -STOP 1; kill -TERM 1; kill -CHLD 1",
    ],
)
async def test_the_supervisor_cannot_be_killed(isolated: Sandbox, order: str) -> None:
    await isolated.exec(["sh", "-c", f"{order}; true"])
    assert await run(isolated, "echo alive") == (0, "alive\n")


async def test_a_program_that_kills_everything_ends_with_its_children(isolated: Sandbox) -> None:
    victim = await isolated.spawn(["sleep", "600"])
    script = "import os, signal\nos.kill(-1, signal.SIGKILL)\nprint('after')"
    result = await isolated.exec(["python3", "-c", script])
    assert await victim.wait() == -9
    assert result.returncode in (0, -9)
    assert await run(isolated, "echo alive") == (0, "alive\n")


async def test_the_supervisor_cannot_be_traced_or_read(isolated: Sandbox) -> None:
    script = """
import ctypes, os
libc = ctypes.CDLL(None, use_errno=True)
for pid in (1, os.getppid()):
    for name in ("mem", "environ", "maps"):
        try:
            open(f"/proc/{pid}/{name}", "rb").read(1)
            print("read", pid, name)
        except OSError:
            pass
    for fd in range(20):
        for use in (os.readlink, lambda path: os.close(os.open(path, os.O_RDONLY))):
            try:
                use(f"/proc/{pid}/fd/{fd}")
                print("reached", pid, fd)
            except OSError:
                pass
    if libc.prlimit(pid, 7, (ctypes.c_ulong * 2)(0, 0), None) == 0:
        print("limited", pid)
    if libc.ptrace(16, pid, 0, 0) == 0:
        print("traced", pid)
"""
    result = await isolated.exec(["python3", "-c", script])
    assert (result.returncode, result.stdout) == (0, b"")


async def test_programs_inherit_no_descriptor(isolated: Sandbox) -> None:
    script = "import os; print(sorted(map(int, os.listdir('/proc/self/fd')))[:-1])"
    result = await isolated.exec(["python3", "-c", script])
    assert result.stdout == b"[0, 1, 2]\n"


async def test_programs_cannot_gain_privileges(isolated: Sandbox) -> None:
    script = """
import ctypes, os, socket
libc = ctypes.CDLL(None, use_errno=True)
print(libc.mount(b"none", b"/tmp", b"tmpfs", 0, None), libc.unshare(0x10000000))
print(ctypes.CDLL(None).syscall(250, 0, -3, 0))
try:
    socket.socket(40, socket.SOCK_STREAM)
    print("reached the hypervisor's sockets")
except OSError:
    pass
print(os.getuid() != 0, os.getgroups())
for change in (os.setuid, os.setgid):
    try:
        change(0)
        print("changed")
    except OSError:
        pass
"""
    result = await isolated.exec(["python3", "-c", script])
    assert result.stdout.decode().split("\n")[:3] == ["-1 -1", "-1", "True []"], result.stdout
    assert b"changed" not in result.stdout


async def test_a_fork_bomb_is_contained(isolated: Sandbox) -> None:
    mark = secrets.token_hex(8)
    bomb = f"import os\nwhile True:\n    try: os.fork()\n    except OSError: pass  # {mark}"
    result = await isolated.exec(["python3", "-S", "-c", bomb], timeout=1.5)
    assert result.timed_out
    assert await run(isolated, "echo alive") == (0, "alive\n")
    await isolated.freeze()
    assert not [pid for pid in psutil.process_iter() if mark in "".join(_words(pid))]


def _words(process: psutil.Process) -> list[str]:
    try:
        return process.cmdline()
    except psutil.Error:
        return []


async def test_a_fork_bomb_leaves_room_for_the_supervisor(isolated: Sandbox) -> None:
    bomb = "i=0; while [ $i -lt 200 ]; do sleep 600 & i=$((i+1)); done; wait"
    bombing = asyncio.create_task(isolated.exec(["sh", "-c", bomb]))
    await asyncio.sleep(0.5)
    await isolated.put({"x": FileEntry(content=b"1")}, at="/work")
    assert await isolated.read_file("/work/x", max_bytes=1) == b"1"
    await isolated.freeze()
    await bombing


async def test_memory_is_limited(bounded: SandboxProvider, small: SandboxSpec) -> None:
    spec = replace(small, limits=ResourceLimits(memory_bytes=128 * MIB))
    hog = "x = bytearray(300 << 20); x[::4096] = b'1' * len(x[::4096]); print('had it')"
    async with bounded.open(spec) as sandbox:
        result = await sandbox.exec(["python3", "-c", hog])
        assert b"had it" not in result.stdout
        assert await run(sandbox, "echo alive") == (0, "alive\n")


@as_root
async def test_memory_is_limited_as_a_whole(bounded: SandboxProvider, small: SandboxSpec) -> None:
    if any("as a whole" in line for line in (await bounded.probe()).lost):
        pytest.skip("no cgroup can be made here")
    spec = replace(small, limits=ResourceLimits(memory_bytes=100 * MIB, processes=32))
    hog = "x = bytearray(80 << 20); x[::4096] = b'1' * len(x[::4096]); import time; time.sleep(2)"
    async with bounded.open(spec) as sandbox:
        hogs = [sandbox.exec(["python3", "-c", hog]) for _ in range(5)]
        results = await asyncio.gather(*hogs)
        killed = [result for result in results if result.returncode == -9]
        assert killed
        assert all(result.out_of_memory and not result.timed_out for result in killed)
        small_one = await sandbox.spawn(["true"])
        assert (await small_one.wait(), small_one.out_of_memory) == (0, False)
        assert await run(sandbox, "echo alive") == (0, "alive\n")


async def test_what_the_owner_put_cannot_be_changed(isolated: Sandbox) -> None:
    await isolated.put(
        {"keep/a": FileEntry(content=b"old", mode=0o777)}, at="/work/x/tree", user=User.OWNER
    )
    await isolated.put({"keep/b": FileEntry(content=b"more")}, at="/work/x/tree", user=User.OWNER)
    for user in (User.AGENT, User.TESTS):
        for order in (
            "echo new > /work/x/tree/keep/a",
            "rm -f /work/x/tree/keep/a",
            "touch /work/x/tree/keep/c",
            "chmod 777 /work/x/tree/keep",
            "mv /work/x/tree /work/x/other",
            "mv /work/x /work/y",
            "rm -rf /work/x",
            "mv /work/x/tree/keep /work/keep",
        ):
            code, said = await run(isolated, order, user)
            assert code != 0, (user, order, said)
    with pytest.raises(Exception, match="another owner"):
        await isolated.put({"keep/a": FileEntry(content=b"new")}, at="/work/x/tree")
    assert (await run(isolated, "echo mine > /work/own; mkdir -p /work/x/mine"))[0] == 0
    await isolated.freeze()
    tree = await isolated.read_tree("/work/x/tree", max_bytes=MIB)
    assert {name: entry.content for name, entry in tree.items()} == {
        "keep/a": b"old",
        "keep/b": b"more",
    }


async def test_a_whole_writable_folder_can_be_the_owners(isolated: Sandbox) -> None:
    await isolated.put({"m.py": FileEntry(content=b"print('ran')")}, at="/work", user=User.OWNER)
    assert (await run(isolated, "touch /work/new"))[0] != 0
    assert (await run(isolated, "rm -f /work/m.py"))[0] != 0
    assert await run(isolated, "cd /work && python3 m.py") == (0, "ran\n")
    assert await isolated.read_file("/work/m.py", max_bytes=99) == b"print('ran')"


@as_root
async def test_roles_are_kept_apart(isolated: Sandbox) -> None:
    await isolated.put(
        {"v": FileEntry(content=b"", mode=0o600)}, at="/tmp/verdict", user=User.TESTS
    )
    assert (await run(isolated, "cat /tmp/verdict/v"))[0] != 0
    assert (await run(isolated, "echo 1 > /tmp/verdict/v"))[0] != 0
    assert (await run(isolated, "rm -rf /tmp/verdict"))[0] != 0
    assert (await run(isolated, "echo 1 > /tmp/verdict/v", User.TESTS))[0] == 0
    tests = await isolated.spawn(["sleep", "60"], user=User.TESTS, cwd="/tmp")
    await run(isolated, "kill -9 -1; true")
    assert (await run(isolated, "pgrep sleep || ls /proc/*/exe", User.TESTS))[0] == 0
    await tests.kill()


@as_root
def test_uids_are_never_shared_by_sandboxes() -> None:
    seen = {Identities.fresh().agent for _ in range(50)}
    assert len(seen) == 50
    assert all(uid >= 1 << 15 for uid in seen)


async def test_without_bwrap_the_install_line_is_told(
    bubblewrap: SandboxProvider, small: SandboxSpec, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", "")
    found = await bubblewrap_module.Bubblewrap().probe()
    assert not found.ok
    assert "apt-get install -y bubblewrap" in found.reason


async def test_a_machine_too_busy_to_answer_is_told_as_such(
    bubblewrap: SandboxProvider, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(probe_module, "_SECONDS", 0.0)
    found = await bubblewrap.probe()
    assert (found.ok, found.reason) == (False, "no answer from inside within 0 s")


async def test_a_sandbox_that_cannot_start_says_why(
    bounded: SandboxProvider, small: SandboxSpec, tmp_path: Path
) -> None:
    with pytest.raises(InfraError, match=r"missing\.sock"):
        async with bounded.open(replace(small, outlet=tmp_path / "missing.sock")):
            pass


async def test_a_sandbox_that_is_killed_from_outside_is_an_infra_error(
    bubblewrap: SandboxProvider, small: SandboxSpec, marked_processes: Callable[[str], list[int]]
) -> None:
    mark = f"/home/mark-{secrets.token_hex(8)}"
    spec = replace(small, writable={**small.writable, mark: MIB})
    async with bubblewrap.open(spec) as sandbox:
        running = asyncio.create_task(sandbox.exec(["sleep", "600"]))
        await run(sandbox, "true")
        (outer, *_) = marked_processes(mark)
        os.kill(outer, 9)
        with pytest.raises(InfraError, match="went away"):
            await running
        with pytest.raises(InfraError, match="went away"):
            await sandbox.exec(["true"])


async def test_a_hidden_folder_is_empty_inside_wherever_a_mount_shows_it(
    bounded: SandboxProvider, small: SandboxSpec, tmp_path: Path
) -> None:
    """A task's bundle may lie in a folder that every sandbox mounts, such as one below /usr."""
    bundle = tmp_path / "set" / "task"
    bundle.mkdir(parents=True)
    (bundle / "expected.json").write_text("gold")
    (tmp_path / "set" / "open.txt").write_text("no secret")
    for folder in (tmp_path, tmp_path / "set", bundle):
        folder.chmod(0o755)
    spec = replace(
        small, mounts=(Mount(source=tmp_path / "set", target="/opt/set"),), hidden=(bundle,)
    )
    async with bounded.open(spec) as sandbox:
        seen = await sandbox.exec(["sh", "-c", "cat /opt/set/open.txt; ls -A /opt/set/task"])
        assert seen.stdout == b"no secret"
        tried = await sandbox.exec(["sh", "-c", "echo x > /opt/set/task/x"])
        assert tried.returncode != 0
