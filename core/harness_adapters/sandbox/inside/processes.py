"""Programs of a sandbox: started with their limits, and ended with all that they started.

Each program runs below a *keeper*, a small process that adopts every orphan of that program. So the
keeper's tree is all that the program ever started, also what left its session or lost its parent,
and ends when nothing of it runs any more.
"""

from __future__ import annotations

import errno
import os
import resource
import signal
import struct

from . import linux

STATUS = struct.Struct("!i")
NOT_FOUND, NOT_EXECUTABLE = 127, 126  # as a shell reports them
NICE = 10
_OOM_SCORE = b"500"  # programs go before the supervisor does


class Role:
    """Whose rights a program gets.

    :param ids: uid and gid to switch to; ``None`` stays what the supervisor is.
    :param alias: what the supervisor's uid 0 is called for the program, in a user namespace of the
        program's own; 0 for no such namespace.
    """

    __slots__ = ("alias", "home", "ids")

    def __init__(self, ids: tuple[int, int] | None, alias: int, home: bytes) -> None:
        self.ids = ids
        self.alias = alias
        self.home = home


class Caps:
    """Limits of each program; 0 is none, and so is an empty filter of system calls."""

    __slots__ = ("memory", "open_files", "processes", "system_calls")

    def __init__(self, memory: int, processes: int, open_files: int, system_calls: bytes) -> None:
        self.system_calls = system_calls
        self.memory = memory
        self.processes = processes
        self.open_files = open_files

    def apply(self) -> None:
        # RLIMIT_DATA, not RLIMIT_AS: V8 and others reserve far more address space than they use.
        for what, limit in (
            (resource.RLIMIT_DATA, self.memory),
            (resource.RLIMIT_NPROC, self.processes),
            (resource.RLIMIT_NOFILE, self.open_files),
        ):
            if limit:
                hard = resource.getrlimit(what)[1]
                limit = limit if hard == resource.RLIM_INFINITY else min(limit, hard)
                resource.setrlimit(what, (limit, limit))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


class Streams:
    """The supervisor's ends of a program's pipes; ``status`` ends when all of it is gone."""

    __slots__ = ("keeper", "status", "stderr", "stdin", "stdout")

    def __init__(self, keeper: int, stdin: int, stdout: int, stderr: int, status: int) -> None:
        self.keeper = keeper
        self.stdin = stdin
        self.stdout = stdout
        self.stderr = stderr
        self.status = status


def start(
    argv: list[bytes], env: dict[bytes, bytes], cwd: bytes, role: Role, caps: Caps
) -> Streams:
    """Start a program below a keeper.

    A program that cannot be executed says so on its standard error and returns 126 or 127.

    :raises OSError: no process or pipe could be made.
    """
    pipes: list[int] = []
    try:
        for _ in range(4):
            pipes += os.pipe2(os.O_CLOEXEC)
        stdin, to_stdin, from_stdout, stdout, from_stderr, stderr, from_keeper, status = pipes
        keeper = os.fork()
    except OSError:
        for fd in pipes:
            os.close(fd)
        raise
    if keeper == 0:
        _keep(argv, env, cwd, role, caps, (stdin, stdout, stderr), status)
    for fd in (stdin, stdout, stderr, status):
        os.close(fd)
    return Streams(keeper, to_stdin, from_stdout, from_stderr, from_keeper)


def _keep(
    argv: list[bytes],
    env: dict[bytes, bytes],
    cwd: bytes,
    role: Role,
    caps: Caps,
    streams: tuple[int, int, int],
    status: int,
) -> None:
    """In the keeper: start the program, report how it ended, stay until all of it has ended."""
    try:
        signal.set_wakeup_fd(-1)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        linux.die_with_parent()
        linux.adopt_orphans()
        os.setsid()
        program = os.fork()
        if program == 0:
            _become(argv, env, cwd, role, caps, streams)
        os.closerange(0, status)
        os.closerange(status + 1, 1 << 20)
        while True:
            pid, code = os.wait()
            if pid == program:
                os.write(status, STATUS.pack(os.waitstatus_to_exitcode(code)))
    except (ChildProcessError, BrokenPipeError):
        pass  # nothing is left to wait for, or nobody to report to
    finally:
        os._exit(0)


def _become(
    argv: list[bytes],
    env: dict[bytes, bytes],
    cwd: bytes,
    role: Role,
    caps: Caps,
    streams: tuple[int, int, int],
) -> None:
    """In the program's process: give up all rights, then execute it."""
    code = NOT_EXECUTABLE
    try:
        for number, fd in enumerate(streams):
            os.dup2(fd, number)
        os.setsid()
        _let_others_go_first()
        caps.apply()
        if role.alias:
            linux.enter_user_namespace(role.alias)
        linux.bound_capabilities()
        if role.ids is not None:
            _raise_oom_score()
            uid, gid = role.ids
            os.setgroups([])
            os.setresgid(gid, gid, gid)
            os.setresuid(uid, uid, uid)
        linux.forbid_new_privileges()
        linux.drop_capabilities()
        linux.die_with_parent()
        for ignored in (signal.SIGPIPE, signal.SIGXFSZ):
            signal.signal(ignored, signal.SIG_DFL)
        os.chdir(cwd)
        if caps.system_calls:
            linux.filter_system_calls(caps.system_calls)
        _execute(argv, env)
    except FileNotFoundError as error:
        code = NOT_FOUND
        _complain(argv[0], error)
    except (OSError, ValueError) as error:
        _complain(argv[0], error)
    finally:
        os._exit(code)


def _execute(argv: list[bytes], env: dict[bytes, bytes]) -> None:
    """As ``os.execvpe``, which loads modules when it is called; here they may be out of reach."""
    if b"/" in argv[0]:
        os.execve(argv[0], argv, env)
    denied: OSError | None = None
    for folder in env.get(b"PATH", b"").split(b":"):
        try:
            os.execve(folder + b"/" + argv[0], argv, env)
        except PermissionError as error:
            denied = error
        except (FileNotFoundError, NotADirectoryError):
            pass
    raise denied or FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT))


def _complain(program: bytes, error: Exception) -> None:
    text = error.strerror if isinstance(error, OSError) else str(error)
    os.write(2, program + b": " + os.fsencode(text or "cannot be executed") + b"\n")


def _let_others_go_first() -> None:
    """Many agents share the machine with one gateway, engine and trainer, which all of them wait
    for."""
    os.nice(NICE)
    try:
        fd = os.open("/proc/self/autogroup", os.O_WRONLY)
    except OSError:
        return  # sessions are no scheduling groups here
    try:
        os.write(fd, b"%d" % NICE)
    except OSError:
        pass  # the kernel limits how often
    finally:
        os.close(fd)


def _raise_oom_score() -> None:
    try:
        fd = os.open("/proc/self/oom_score_adj", os.O_WRONLY)
    except OSError:
        return  # the kernel was built without it
    with os.fdopen(fd, "wb", buffering=0) as file:
        file.write(_OOM_SCORE)


def parents() -> dict[int, int]:
    """Every visible process and its parent."""
    found: dict[int, int] = {}
    for name in os.listdir("/proc"):  # noqa: PTH208 (pathlib loads slowly)
        if name.isdigit():
            try:
                fd = os.open(f"/proc/{name}/stat", os.O_RDONLY)
            except OSError:
                continue  # it ended meanwhile
            try:
                text = os.read(fd, 512)
            except OSError:
                continue
            finally:
                os.close(fd)
            # "pid (command) state parent ...": a command may hold anything, also parentheses
            found[int(name)] = int(text[text.rindex(b")") + 2 :].split(None, 2)[1])
    return found


def descendants(ancestor: int) -> set[int]:
    children: dict[int, list[int]] = {}
    for pid, parent in parents().items():
        children.setdefault(parent, []).append(pid)
    found: set[int] = set()
    pending = [ancestor]
    while pending:
        for pid in children.get(pending.pop(), ()):
            if pid not in found:
                found.add(pid)
                pending.append(pid)
    return found


def kill_descendants(ancestor: int, spare: frozenset[int] = frozenset()) -> None:
    """Kill everything below a process. All are stopped first, so that few can outrun this, and
    looked for again when they are killed: who was just forking is stopped only after that, and what
    came of it shows from then on.

    :param spare: processes to leave alone, with what is below them.
    """
    killed: set[int] = set()
    while True:
        stopped: set[int] = set()
        while new := _below(ancestor, spare) - killed - stopped:
            for pid in new:
                kill(pid, signal.SIGSTOP)
            stopped |= new
        if not stopped:
            return
        for pid in stopped:
            kill(pid)
        killed |= stopped


def _below(ancestor: int, spare: frozenset[int]) -> set[int]:
    found = descendants(ancestor)
    for pid in spare & found:
        found -= descendants(pid) | {pid}
    return found


def kill(pid: int, number: int = signal.SIGKILL) -> None:
    """Signal a process, which may have ended already."""
    try:
        os.kill(pid, number)
    except ProcessLookupError:
        pass
