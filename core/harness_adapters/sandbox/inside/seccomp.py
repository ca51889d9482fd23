"""Which system calls programs may not make: those that namespaces do not cover.

User namespaces would put far more of the kernel in reach, keyrings are shared by everything with
one uid, ``AF_VSOCK`` reaches past the network namespace, and the rest are rarely needed and often
at fault. A program that asks is told that the kernel does not have them.
"""

from __future__ import annotations

import errno
import os
import struct

_LOAD, _EQUAL, _AT_LEAST, _ANY_BIT, _RETURN = 0x20, 0x15, 0x35, 0x45, 0x06
_ALLOW, _ERRNO = 0x7FFF0000, 0x00050000
_NUMBER, _ARCHITECTURE, _FIRST_ARGUMENT = 0, 4, 16  # offsets in struct seccomp_data
_CLONE_NEWUSER = 0x10000000
_X32 = 0x40000000
_FAMILIES = (1, 2, 10, 16)  # AF_UNIX, AF_INET, AF_INET6, AF_NETLINK


class _Machine:
    """System call numbers of one architecture."""

    def __init__(
        self,
        audit: int,
        clone: int,
        unshare: int,
        socket: int,
        prlimit: int,
        absent: tuple[int, ...],
    ) -> None:
        self.prlimit = prlimit
        self.audit = audit
        self.clone = clone
        self.unshare = unshare
        self.socket = socket
        self.absent = absent


# clone3 hides its flags from the filter; C libraries fall back to clone. Then: add_key,
# request_key, keyctl, perf_event_open, bpf, userfaultfd, io_uring_setup, _enter, _register.
_MACHINES = {
    "x86_64": _Machine(
        0xC000003E, 56, 272, 41, 302, (435, 248, 249, 250, 298, 321, 323, 425, 426, 427)
    ),
    "aarch64": _Machine(
        0xC00000B7, 220, 97, 198, 261, (435, 217, 218, 219, 241, 280, 282, 425, 426, 427)
    ),
}


def program() -> bytes:
    """The filter as ``struct sock_filter[]``; empty on an architecture that is not known here."""
    machine = _MACHINES.get(os.uname().machine)
    if machine is None:
        return b""
    code = [
        (_LOAD, 0, 0, _ARCHITECTURE),
        (_EQUAL, 1, 0, machine.audit),
        _refuse(errno.ENOSYS),
        (_LOAD, 0, 0, _NUMBER),
        (_AT_LEAST, 0, 1, _X32),
        _refuse(errno.ENOSYS),
    ]
    for number in machine.absent:
        code += [(_EQUAL, 0, 1, number), _refuse(errno.ENOSYS)]
    for number in (machine.clone, machine.unshare):
        code += [
            (_EQUAL, 0, 4, number),
            (_LOAD, 0, 0, _FIRST_ARGUMENT),
            (_ANY_BIT, 0, 1, _CLONE_NEWUSER),
            _refuse(errno.EPERM),
            (_RETURN, 0, 0, _ALLOW),
        ]
    code += [  # a process's own limits only: with one uid for all, the supervisor's could be cut
        (_EQUAL, 0, 4, machine.prlimit),
        (_LOAD, 0, 0, _FIRST_ARGUMENT),
        (_EQUAL, 1, 0, 0),
        _refuse(errno.EPERM),
        (_RETURN, 0, 0, _ALLOW),
    ]
    code += [
        (_EQUAL, 0, len(_FAMILIES) + 2, machine.socket),
        (_LOAD, 0, 0, _FIRST_ARGUMENT),
        *((_EQUAL, len(_FAMILIES) - n, 0, family) for n, family in enumerate(_FAMILIES)),
        _refuse(errno.EAFNOSUPPORT),
        (_RETURN, 0, 0, _ALLOW),
    ]
    return b"".join(struct.pack("=HBBI", *line) for line in code)


def _refuse(code: int) -> tuple[int, int, int, int]:
    return (_RETURN, 0, 0, _ERRNO | code)
