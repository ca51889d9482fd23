"""The few Linux calls that Python does not offer."""

from __future__ import annotations

import ctypes
import os

_libc = ctypes.CDLL(None, use_errno=True)

_PR_SET_PDEATHSIG = 1
_PR_SET_DUMPABLE = 4
_PR_SET_SECCOMP, _SECCOMP_MODE_FILTER = 22, 2
_PR_CAPBSET_DROP = 24
_PR_SET_CHILD_SUBREAPER = 36
_PR_SET_NO_NEW_PRIVS = 38
_CLONE_NEWUSER = 0x10000000
_PR_CAP_AMBIENT, _PR_CAP_AMBIENT_CLEAR_ALL = 47, 4
_CAPABILITY_VERSION_3 = 0x20080522
_LAST_CAPABILITY = 63
_MS_RDONLY, _MS_NOSUID, _MS_NODEV, _MS_REMOUNT, _MS_BIND = 1, 2, 4, 32, 4096


def _check(result: int, what: str) -> None:
    if result < 0:
        code = ctypes.get_errno()
        raise OSError(code, f"{what}: {os.strerror(code)}")


def _prctl(option: int, *arguments: int) -> int:
    padded = [ctypes.c_ulong(value) for value in (*arguments, 0, 0, 0, 0)[:4]]
    return int(_libc.prctl(option, *padded))


def hide_from_tracers() -> None:
    """No process without rights over this one may trace it or read its memory or descriptors."""
    _check(_prctl(_PR_SET_DUMPABLE, 0), "PR_SET_DUMPABLE")


def adopt_orphans() -> None:
    """Descendants whose parent ends become this process's children."""
    _check(_prctl(_PR_SET_CHILD_SUBREAPER, 1), "PR_SET_CHILD_SUBREAPER")


def die_with_parent() -> None:
    _check(_prctl(_PR_SET_PDEATHSIG, 9), "PR_SET_PDEATHSIG")


def forbid_new_privileges() -> None:
    _check(_prctl(_PR_SET_NO_NEW_PRIVS, 1), "PR_SET_NO_NEW_PRIVS")


def bound_capabilities() -> None:
    """No program executed from here on can have any capability, where that may be decided."""
    for capability in range(_LAST_CAPABILITY + 1):
        if _prctl(_PR_CAPBSET_DROP, capability) < 0:
            break  # past the last one that this kernel knows, or no right to drop any


def drop_capabilities() -> None:
    """Give up every capability."""
    _prctl(_PR_CAP_AMBIENT, _PR_CAP_AMBIENT_CLEAR_ALL)
    header = (ctypes.c_uint32 * 2)(_CAPABILITY_VERSION_3, 0)
    nothing = (ctypes.c_uint32 * 6)()
    _check(_libc.capset(header, nothing), "capset")


def enter_user_namespace(uid: int) -> None:
    """Move into a new user namespace, where this process's uid and gid 0 are called ``uid``."""
    _check(_libc.unshare(_CLONE_NEWUSER), "unshare")
    # What cannot be traced cannot write its own files in /proc. Nothing inside may trace this
    # process even so: it has rights, in namespaces where nothing else has any.
    _check(_prctl(_PR_SET_DUMPABLE, 1), "PR_SET_DUMPABLE")
    for name, text in (
        ("setgroups", b"deny"),
        ("uid_map", b"%d 0 1" % uid),
        ("gid_map", b"%d 0 1" % uid),
    ):
        fd = os.open(f"/proc/self/{name}", os.O_WRONLY | os.O_CLOEXEC)
        try:
            os.write(fd, text)
        finally:
            os.close(fd)


class _FilterProgram(ctypes.Structure):
    _fields_ = (("length", ctypes.c_ushort), ("code", ctypes.c_char_p))


def filter_system_calls(code: bytes) -> None:
    """From here on, and in all that is executed, only what the filter lets through.

    :param code: ``struct sock_filter[]``.
    """
    program = _FilterProgram(len(code) // 8, code)
    address = ctypes.addressof(program)
    _check(_prctl(_PR_SET_SECCOMP, _SECCOMP_MODE_FILTER, address), "PR_SET_SECCOMP")


def bind_on_itself(path: bytes) -> None:
    """Make a folder a mount point of its own, which nobody can rename or remove."""
    _check(_libc.mount(path, path, None, ctypes.c_ulong(_MS_BIND), None), "mount")


def set_read_only(path: bytes, read_only: bool) -> None:
    """Switch a mount point made by ``bind_on_itself`` between read-only and writable."""
    flags = _MS_REMOUNT | _MS_BIND | _MS_NOSUID | _MS_NODEV | (_MS_RDONLY if read_only else 0)
    _check(_libc.mount(None, path, None, ctypes.c_ulong(flags), None), "remount")
