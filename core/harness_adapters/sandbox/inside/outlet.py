"""The only way out: connections to a local TCP port, carried to one unix socket."""

from __future__ import annotations

import select
import socket
from collections.abc import Callable

READ = select.EPOLLIN
WRITE = select.EPOLLOUT
_CHUNK = 1 << 16
_MAX_CONNECTIONS = 32  # a harness needs a few; each may hold memory on the host

Watch = Callable[[int, int, Callable[[int], None]], None]
Forget = Callable[[int], None]


class Forwarder:
    """Listens on 127.0.0.1 and joins every connection with one to the outlet's socket.

    :param port: 0 for any free one.
    :raises OSError: the port is taken.
    """

    def __init__(self, outlet: bytes, port: int, watch: Watch, forget: Forget) -> None:
        self._outlet = outlet
        self._watch = watch
        self._forget = forget
        self._joints: set[_Joint] = set()
        self._server = socket.create_server(("127.0.0.1", port), backlog=128)
        self._server.setblocking(False)
        self.port: int = self._server.getsockname()[1]
        watch(self._server.fileno(), READ, self._accept)

    def close(self) -> None:
        for joint in list(self._joints):
            joint.close()
        self._forget(self._server.fileno())
        self._server.close()

    def _accept(self, events: int) -> None:
        try:
            near = self._server.accept()[0]
        except OSError:
            return  # it went away again, or descriptors ran out: the other side sees it wait
        far = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            if len(self._joints) >= _MAX_CONNECTIONS:
                raise ConnectionRefusedError
            far.setblocking(False)
            far.connect(self._outlet)
        except OSError:
            near.close()
            far.close()
            return
        near.setblocking(False)
        near.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._joints.add(_Joint(near, far, self._watch, self._forget, self._joints.discard))


class _Joint:
    """Two sockets; what comes in on one goes out on the other, and so does an end of stream."""

    def __init__(
        self,
        near: socket.socket,
        far: socket.socket,
        watch: Watch,
        forget: Forget,
        gone: Callable[[_Joint], None],
    ) -> None:
        self._sockets = (near, far)
        self._pending = (bytearray(), bytearray())  # waiting to be sent on near, far
        self._ended = [False, False]  # near, far: nothing more comes from there
        self._shut = [False, False]
        self._watch = watch
        self._forget = forget
        self._gone = gone
        for side in (0, 1):
            self._update(side)

    def close(self) -> None:
        for one in self._sockets:
            if one.fileno() >= 0:
                self._forget(one.fileno())
                one.close()
        self._gone(self)

    def _update(self, side: int) -> None:
        reads = READ if not self._ended[side] and not self._pending[1 - side] else 0
        writes = WRITE if self._pending[side] else 0
        fd = self._sockets[side].fileno()
        if reads or writes:
            self._watch(fd, reads | writes, lambda events: self._step(side, events))
        else:
            self._forget(fd)  # a hang-up would be reported again and again

    def _step(self, side: int, events: int) -> None:
        try:
            if events & WRITE:
                self._flush(side)
            if events & ~WRITE and not self._ended[side] and not self._pending[1 - side]:
                data = self._sockets[side].recv(_CHUNK)
                self._pending[1 - side].extend(data)
                self._ended[side] = not data
                self._flush(1 - side)
        except BlockingIOError:
            pass
        except OSError:
            self.close()
            return
        if all(self._shut):
            self.close()
            return
        for one in (0, 1):
            self._update(one)

    def _flush(self, side: int) -> None:
        pending = self._pending[side]
        try:
            while pending:
                del pending[: self._sockets[side].send(pending)]
            if self._ended[1 - side] and not self._shut[side]:
                self._shut[side] = True
                self._sockets[side].shutdown(socket.SHUT_WR)
        except BlockingIOError:
            pass
        except OSError:  # it reads no more, but what it has said may still be on the way
            pending.clear()
            self._ended[1 - side] = self._shut[side] = True
