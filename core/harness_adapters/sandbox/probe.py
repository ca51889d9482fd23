"""Tries with a real sandbox that isolation holds: some containers let bubblewrap fail open."""

from __future__ import annotations

import tempfile
from pathlib import Path

from harness_adapters.errors import HarnessAdaptersError
from harness_adapters.sandbox.base import MIB, Isolation, SandboxProvider, SandboxSpec

_SECONDS = 20.0
_NAMESPACES = ("pid", "net", "ipc", "uts", "mnt")
_LOST = "lost: "
_END = "end"
_INSIDE = """
import ctypes, os, socket, sys
secret, namespaces = sys.argv[1], sys.argv[2:]
for name, host in zip(("pid", "net", "ipc", "uts", "mnt"), namespaces):
    if os.readlink("/proc/self/ns/" + name) == host:
        print("it shares the host's " + name + " namespace")
interfaces = [line.split(":")[0].strip() for line in open("/proc/net/dev").readlines()[2:]]
if interfaces != ["lo"]:
    print("it has network interfaces besides loopback: " + " ".join(interfaces))
try:
    socket.create_connection(("192.0.2.1", 80), 2)
    print("it reaches the network")
except OSError:
    pass
try:
    open(secret).close()
    print("it reads a private file of the host")
except OSError:
    pass
for path in ("/ha-probe", "/usr/ha-probe", "/etc/ha-probe", "/opt/ha/ha-probe", "/dev/ha-probe"):
    try:
        open(path, "w").close()
        print("it writes outside its folders: " + path)
    except OSError:
        pass
try:
    open("ha-probe", "w").close()
except OSError:
    print("it cannot write to its working folder")
if 0 in (*os.getresuid(), *os.getresgid(), *os.getgroups()):
    print("it runs as root")
status = dict(line.split(":", 1) for line in open("/proc/self/status"))
for name in ("CapEff", "CapPrm", "CapInh", "CapAmb"):
    if int(status[name], 16):
        print("it has capabilities")
        break
if status["NoNewPrivs"].strip() != "1":
    print("it can gain privileges")
try:
    open("/proc/1/mem").close()
    print("it reads the supervisor's memory")
except OSError:
    pass
CLONE_NEWUSER = 0x10000000
if ctypes.CDLL(None).unshare(CLONE_NEWUSER) == 0:
    print("lost: programs can make user namespaces of their own, with more of the kernel in reach")
print("end")
"""


async def probe(provider: SandboxProvider) -> Isolation:
    """Open a sandbox and try to break out of it in the simple ways."""
    spec = SandboxSpec(writable={"/work": 4 * MIB, "/home/agent": MIB, "/tmp": MIB})
    namespaces = [str(Path(f"/proc/self/ns/{name}").readlink()) for name in _NAMESPACES]
    with tempfile.NamedTemporaryFile(prefix="ha-probe-") as secret:  # mode 0600
        command = ["python3", "-I", "-S", "-c", _INSIDE, secret.name, *namespaces]
        try:
            async with provider.open(spec) as sandbox:
                result = await sandbox.exec(command, timeout=_SECONDS)
        except (HarnessAdaptersError, OSError) as error:
            return Isolation(ok=False, reason=str(error))
    if result.timed_out:
        return Isolation(ok=False, reason=f"no answer from inside within {_SECONDS:g} s")
    *found, end = result.stdout.decode(errors="replace").splitlines() or [""]
    if end != _END:
        complaint = result.stderr.decode(errors="replace").strip().splitlines()[-1:]
        return Isolation(ok=False, reason="; ".join(["python3 does not run inside", *complaint]))
    broken = [line for line in found if not line.startswith(_LOST)]
    lost = tuple(line.removeprefix(_LOST) for line in found if line.startswith(_LOST))
    return Isolation(ok=not broken, reason="; ".join(broken), lost=lost)
