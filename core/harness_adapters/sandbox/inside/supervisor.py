"""The supervisor: the first process of a sandbox, and the host's hands in it.

It reads frames (see ``wire``) from the host on standard input and answers on standard output. When
the host goes away the input ends, and the supervisor ends everything, then itself.
"""

from __future__ import annotations

import errno
import os
import select
import signal
import stat
from collections.abc import Callable

from . import files, linux, outlet, processes, seccomp, wire

_DRAIN = 1 << 20  # what a pipe can hold: all that a program may have written before it ended
_CHANGED = frozenset(
    {errno.ENOENT, errno.ENOTDIR, errno.EISDIR, errno.ELOOP, errno.ENXIO, errno.ENAMETOOLONG}
)
_MISSING = (FileNotFoundError, NotADirectoryError)


class Configuration:
    """The host's first frame: what this sandbox is.

    Fields: ``1`` if the supervisor is the first process of a pid namespace; how to seal; uid of
    agent and of tests (empty for no switch); memory, processes and open files of each program
    (0 for no limit); home of agent and of tests; working folder; outlet socket (empty for none)
    and port; folder to remove at the end (empty for none); what uid 0 is called for programs (0
    for no other name); then the writable folders.
    """

    def __init__(self, payload: bytes) -> None:
        fields = wire.unpack(payload)
        self.pid_namespace = fields[0] == b"1"
        self.sealing = fields[1]
        agent, tests = ((int(uid), int(uid)) if uid else None for uid in fields[2:4])
        alias = int(fields[13])
        self.caps = processes.Caps(
            int(fields[4]),
            int(fields[5]),
            int(fields[6]),
            seccomp.program() if self.pid_namespace else b"",
        )
        self.roles = {
            b"agent": processes.Role(agent, alias, fields[7]),
            b"tests": processes.Role(tests, alias, fields[8]),
        }
        self.owner = (0, 0) if agent is not None else None
        self.workdir = fields[9]
        self.outlet = fields[10]
        self.port = int(fields[11])
        self.remove = fields[12]
        self.writable = fields[14:]

    def ids(self, user: bytes) -> files.Ids:
        return self.owner if user == b"owner" else self.roles[user].ids


class _Program:
    """A running program and the host's channel to it."""

    def __init__(self, channel: int, streams: processes.Streams, max_output: int | None) -> None:
        self.channel = channel
        self.stdin = streams.stdin
        self.outputs = {streams.stdout: wire.STDOUT, streams.stderr: wire.STDERR}
        self.left = {
            wire.STDOUT: max_output,
            wire.STDERR: 0 if max_output is None else max_output,
        }
        self.status = streams.status
        self.input = bytearray()
        self.input_ends = False
        self.truncated = False


class _Put:
    """Files that are being written. The first error is kept and told at the end."""

    def __init__(self, path: bytes, ids: files.Ids, seal: bool) -> None:
        self.path = path
        self.ids = ids
        self.seal = seal
        self.folder = -1
        self.file = -1
        self.error: Exception | None = None

    def close_file(self) -> None:
        if self.file >= 0:
            os.close(self.file)
            self.file = -1


class Supervisor:
    def __init__(self, from_host: int, to_host: int) -> None:
        self._from_host = from_host
        self._to_host = to_host
        self._epoll = select.epoll()
        self._handlers: dict[int, Callable[[int], None]] = {}
        self._decoder = wire.Decoder()
        self._programs: dict[int, _Program] = {}
        self._keepers: dict[int, int] = {}  # channel -> keeper, also of programs that have ended
        self._puts: dict[int, _Put] = {}
        self._frozen = False
        self._forwarder: outlet.Forwarder | None = None
        self._configuration: Configuration
        self._files: files.Files
        self._requests: dict[int, Callable[[int, bytes], None]] = {
            wire.CONFIGURE: self._configure,
            wire.EXEC: self._exec,
            wire.STDIN: self._stdin,
            wire.STDIN_EOF: self._stdin_eof,
            wire.KILL: self._kill,
            wire.PAUSE: self._pause,
            wire.RESUME: self._resume,
            wire.PUT: self._put,
            wire.FILE: self._put_file,
            wire.DATA: self._put_data,
            wire.END: self._put_end,
            wire.READ: self._read,
            wire.TREE: self._tree,
            wire.FREEZE: self._freeze,
        }

    def run(self) -> None:
        """Serve the host until it goes away."""
        wakeup, signalled = os.pipe2(os.O_CLOEXEC | os.O_NONBLOCK)
        signal.signal(signal.SIGCHLD, lambda number, frame: None)
        signal.set_wakeup_fd(signalled, warn_on_full_buffer=False)
        self._watch(wakeup, select.EPOLLIN, lambda events: self._reap(wakeup))
        self._watch(self._from_host, select.EPOLLIN, self._serve)
        try:
            while True:
                for fd, events in self._epoll.poll():
                    handler = self._handlers.get(fd)
                    if handler is not None:
                        handler(events)
        except (EOFError, BrokenPipeError):
            pass
        finally:
            self._end()

    # --- events ---------------------------------------------------------------------------------

    def _watch(self, fd: int, events: int, handler: Callable[[int], None]) -> None:
        if fd in self._handlers:
            self._epoll.modify(fd, events)
        else:
            self._epoll.register(fd, events)
        self._handlers[fd] = handler

    def _forget(self, fd: int) -> None:
        if self._handlers.pop(fd, None) is not None:
            self._epoll.unregister(fd)

    def _close(self, fd: int) -> None:
        self._forget(fd)
        os.close(fd)

    def _send(self, channel: int, kind: int, payload: bytes = b"") -> None:
        # The host always reads, so this never waits for long; it paces what is sent.
        files.write_all(self._to_host, wire.frame(channel, kind, payload))

    def _serve(self, events: int) -> None:
        data = os.read(self._from_host, wire.CHUNK)
        if not data:
            raise EOFError
        for channel, kind, payload in self._decoder.feed(data):
            self._requests[kind](channel, payload)

    def _reap(self, wakeup: int) -> None:
        try:
            os.read(wakeup, 4096)
        except BlockingIOError:
            pass
        try:
            while pid := os.waitpid(-1, os.WNOHANG)[0]:
                self._keepers = {
                    channel: keeper for channel, keeper in self._keepers.items() if keeper != pid
                }
        except ChildProcessError:
            pass

    # --- the sandbox ----------------------------------------------------------------------------

    def _configure(self, channel: int, payload: bytes) -> None:
        self._configuration = configuration = Configuration(payload)
        self._files = files.Files(configuration.writable, configuration.sealing)
        agent = configuration.ids(b"agent")
        for path in configuration.writable:
            os.close(self._files.prepare_folder(path, agent, seal=False))
        os.close(self._files.prepare_folder(configuration.workdir, agent, seal=False))
        if configuration.outlet:
            self._forwarder = outlet.Forwarder(
                configuration.outlet, configuration.port, self._watch, self._forget
            )
        port = self._forwarder.port if self._forwarder else 0
        self._send(channel, wire.READY, b"%d" % port)

    def _freeze(self, channel: int, payload: bytes) -> None:
        self._frozen = True
        if self._forwarder is not None:
            self._forwarder.close()
            self._forwarder = None
        self._kill_all()
        self._keepers.clear()
        for program in list(self._programs.values()):
            self._drain(program)
            self._finish(program, -signal.SIGKILL)
        self._send(channel, wire.DONE)

    def _kill_all(self) -> None:
        """Kill and reap every process but this one."""
        while True:
            if self._configuration.pid_namespace:
                try:
                    os.kill(-1, signal.SIGKILL)
                except ProcessLookupError:
                    pass
            else:
                processes.kill_descendants(os.getpid())
            try:
                while True:
                    os.waitpid(-1, 0)  # adopted orphans are children too
            except ChildProcessError:
                pass
            if not processes.descendants(os.getpid()):
                return

    def _end(self) -> None:
        if not hasattr(self, "_configuration"):
            return
        if not self._configuration.pid_namespace:  # there, all ends with the first process
            self._kill_all()
        if self._configuration.remove:
            rm = [b"rm", b"-rf", b"--", self._configuration.remove]
            os.waitpid(os.posix_spawnp(rm[0], rm, {}), 0)

    # --- programs -------------------------------------------------------------------------------

    def _exec(self, channel: int, payload: bytes) -> None:
        user, cwd, max_output, env, argv = wire.unpack(payload)
        if self._frozen and user == b"agent":
            self._send(channel, wire.FAILED, wire.pack(wire.INFRA, b"the sandbox is frozen"))
            return
        role = self._configuration.roles[user]
        environment = {b"HOME": role.home}
        for pair in wire.unpack(env):
            name, _, value = pair.partition(b"=")
            environment[name] = value
        try:
            streams = processes.start(
                wire.unpack(argv), environment, cwd, role, self._configuration.caps
            )
        except OSError as error:
            self._fail(channel, error)
            return
        program = _Program(channel, streams, int(max_output) if max_output else None)
        self._programs[channel] = program
        self._keepers[channel] = streams.keeper
        os.set_blocking(program.stdin, False)
        os.set_blocking(program.status, False)
        for fd in program.outputs:
            os.set_blocking(fd, False)
            self._watch_output(program, fd)
        self._watch(program.status, select.EPOLLIN, lambda events: self._on_status(program))

    def _watch_output(self, program: _Program, fd: int) -> None:
        def pass_on(events: int) -> None:
            self._pass_on(program, fd)

        self._watch(fd, select.EPOLLIN, pass_on)

    def _pass_on(self, program: _Program, fd: int) -> int:
        """Pass on what is there, at most a chunk; how much it was."""
        try:
            data = os.read(fd, wire.CHUNK)
        except BlockingIOError:
            return 0
        if not data:
            self._close(fd)
            del program.outputs[fd]
            return 0
        kind = program.outputs[fd]
        left = program.left[kind]
        if left is None:
            self._send(program.channel, kind, data)
        else:
            program.left[kind] = max(0, left - len(data))
            program.truncated |= len(data) > left
            if left:
                self._send(program.channel, kind, data[:left])
        return len(data)

    def _on_status(self, program: _Program) -> None:
        try:
            status = os.read(program.status, processes.STATUS.size)
        except BlockingIOError:
            return
        self._drain(program)
        if status:
            self._finish(program, processes.STATUS.unpack(status)[0])
        else:  # the keeper was killed; what it kept has become ours
            self._kill_strays()
            self._finish(program, -signal.SIGKILL)

    def _drain(self, program: _Program) -> None:
        for fd in list(program.outputs):
            left = _DRAIN
            while left > 0 and (size := self._pass_on(program, fd)):
                left -= size

    def _finish(self, program: _Program, returncode: int) -> None:
        for fd in (*program.outputs, program.status):
            self._close(fd)
        program.outputs.clear()
        self._close_stdin(program)
        del self._programs[program.channel]
        self._send(
            program.channel,
            wire.EXIT,
            wire.pack(b"%d" % returncode, b"1" if program.truncated else b"0"),
        )

    def _kill(self, channel: int, payload: bytes) -> None:
        keeper = self._keepers.pop(channel, None)
        if keeper is not None:
            processes.kill_descendants(keeper)
            processes.kill(keeper)
        if program := self._programs.get(channel):
            self._drain(program)
            self._finish(program, -signal.SIGKILL)
        self._kill_strays()

    def _kill_strays(self) -> None:
        """Kill adopted processes: a keeper that still runs would have adopted them instead."""
        processes.kill_descendants(os.getpid(), spare=frozenset(self._keepers.values()))

    def _pause(self, channel: int, payload: bytes) -> None:
        if program := self._programs.get(channel):
            for fd in program.outputs:
                self._forget(fd)

    def _resume(self, channel: int, payload: bytes) -> None:
        if program := self._programs.get(channel):
            for fd in program.outputs:
                self._watch_output(program, fd)

    def _stdin(self, channel: int, payload: bytes) -> None:
        program = self._programs.get(channel)
        if program is None or program.stdin < 0:
            self._send(channel, wire.STDIN_TAKEN)  # nobody reads it any more
            return
        program.input += payload
        self._on_stdin(program)

    def _stdin_eof(self, channel: int, payload: bytes) -> None:
        if program := self._programs.get(channel):
            program.input_ends = True
            if not program.input:
                self._close_stdin(program)

    def _on_stdin(self, program: _Program) -> None:
        try:
            while program.input:
                del program.input[: os.write(program.stdin, program.input)]
        except BlockingIOError:
            self._watch(program.stdin, select.EPOLLOUT, lambda events: self._on_stdin(program))
            return
        except BrokenPipeError:
            self._close_stdin(program)
        self._send(program.channel, wire.STDIN_TAKEN)
        if program.input_ends:
            self._close_stdin(program)
        elif program.stdin >= 0:
            self._forget(program.stdin)

    def _close_stdin(self, program: _Program) -> None:
        if program.stdin >= 0:
            self._close(program.stdin)
            program.stdin = -1
            program.input.clear()

    # --- files ----------------------------------------------------------------------------------

    def _put(self, channel: int, payload: bytes) -> None:
        user, path = wire.unpack(payload)
        put = self._puts[channel] = _Put(path, self._configuration.ids(user), user == b"owner")
        try:
            put.folder = self._files.prepare_folder(path, put.ids, seal=put.seal)
        except (files.Refused, OSError) as error:
            put.error = error

    def _put_file(self, channel: int, payload: bytes) -> None:
        put = self._puts[channel]
        relative, mode = wire.unpack(payload)
        put.close_file()
        if put.error is None:
            try:
                put.file = self._files.write(
                    put.folder, relative, int(mode), put.ids, seal=put.seal
                )
            except (files.Refused, OSError) as error:
                put.error = error

    def _put_data(self, channel: int, payload: bytes) -> None:
        put = self._puts[channel]
        if put.error is None:
            try:
                files.write_all(put.file, payload)
            except OSError as error:
                put.error = error

    def _put_end(self, channel: int, payload: bytes) -> None:
        put = self._puts.pop(channel)
        put.close_file()
        if put.folder >= 0:
            try:
                self._files.finish(put.folder, put.path, seal=put.seal)
            except (files.Refused, OSError) as error:
                put.error = put.error or error
        if put.error is None:
            self._send(channel, wire.DONE)
        else:
            self._fail(channel, put.error)

    def _read(self, channel: int, payload: bytes) -> None:
        path, max_bytes = wire.unpack(payload)
        limit = int(max_bytes)
        try:
            fd = self._files.open(path)
        except _MISSING:
            self._send(channel, wire.DONE, b"0")
            return
        except (files.Refused, OSError) as error:
            self._fail(channel, error)
            return
        try:
            info = os.fstat(fd)
            if not stat.S_ISREG(info.st_mode):
                raise files.Refused("it is no regular file")
            if info.st_size > limit:
                raise files.Refused(f"more than {limit} bytes")
            self._copy_out(channel, fd, limit)
            self._send(channel, wire.DONE, b"1")
        except (files.Refused, OSError) as error:
            self._fail(channel, error)
        finally:
            os.close(fd)

    def _tree(self, channel: int, payload: bytes) -> None:
        path, max_bytes, max_files = wire.unpack(payload)
        left = int(max_bytes)
        try:
            for relative, mode, fd in self._files.tree(path, left, int(max_files)):
                self._send(channel, wire.FILE, wire.pack(relative, b"%d" % mode))
                left -= self._copy_out(channel, fd, left)
            self._send(channel, wire.DONE)
        except _MISSING:
            self._send(channel, wire.DONE)
        except (files.Refused, OSError) as error:
            self._fail(channel, error)

    def _copy_out(self, channel: int, fd: int, limit: int) -> int:
        """Send a file's content, which may still grow while it is read; how much it was."""
        size = 0
        while data := os.read(fd, wire.CHUNK):
            size += len(data)
            if size > limit:
                raise files.Refused(f"more than {limit} bytes")
            self._send(channel, wire.DATA, data)
        return size

    def _fail(self, channel: int, error: Exception) -> None:
        if isinstance(error, OSError):
            cause = wire.AGENT if error.errno in _CHANGED else wire.INFRA
            text = error.strerror or str(error)
        else:
            cause, text = wire.AGENT, str(error)
        self._send(channel, wire.FAILED, wire.pack(cause, os.fsencode(text)))


def main() -> None:
    linux.hide_from_tracers()
    linux.adopt_orphans()
    os.umask(0o022)
    # The streams to the host move out of the way, so that nothing started here inherits them.
    from_host, to_host = os.dup(0), os.dup(1)
    nothing = os.open(os.devnull, os.O_RDWR)
    os.dup2(nothing, 0)
    os.dup2(nothing, 1)
    Supervisor(from_host, to_host).run()
