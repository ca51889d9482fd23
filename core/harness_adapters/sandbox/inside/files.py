"""Files of a sandbox, read and written by the supervisor on behalf of the host.

The programs inside own the folders and may change anything at any moment, while the supervisor has
more rights than they: so every path is walked one name at a time with descriptors, and a
symbolic link is followed only where it stays below a writable folder.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator, Sequence

from . import linux, wire

Ids = tuple[int, int] | None  # uid, gid; None leaves new files as they come

MAX_DEPTH = 128
MAX_LINKS = 40
MAX_ENTRIES = 100_000
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_STICKY = 0o1777


class Refused(Exception):
    """What lies at the path cannot be handled; the programs inside put it there."""


class Files:
    """The writable folders of one sandbox."""

    def __init__(self, roots: Sequence[bytes], sealing: bytes) -> None:
        self._roots = {root: os.open(root, _FOLDER) for root in sorted(roots, key=len)[::-1]}
        self._sealing = sealing
        self._sealed: set[bytes] = set()

    # --- reading --------------------------------------------------------------------------------

    def open(self, path: bytes) -> int:
        """A descriptor for reading what is at ``path``, which may be a folder.

        :raises Refused: links lead in circles or out of the writable folders, or it is too deep.
        :raises OSError: it does not exist or is a socket.
        """
        root, names = self._split(path)
        trail = [os.dup(root)]
        pending = names[::-1]
        links = steps = 0
        try:
            while pending:
                name = pending.pop()
                steps += 1
                if steps > MAX_DEPTH + MAX_LINKS * MAX_DEPTH or len(trail) > MAX_DEPTH:
                    raise Refused("the path is too deep")
                if name in (b"", b"."):
                    continue
                if name == b"..":
                    if len(trail) == 1:
                        raise Refused("the path leaves the writable folders")
                    os.close(trail.pop())
                    continue
                mode = os.lstat(name, dir_fd=trail[-1]).st_mode
                if stat.S_ISLNK(mode):
                    links += 1
                    if links > MAX_LINKS:
                        raise Refused("too many symbolic links")
                    target = os.readlink(name, dir_fd=trail[-1])
                    if target.startswith(b"/"):
                        root, names = self._split(target)
                        while trail:
                            os.close(trail.pop())
                        trail.append(os.dup(root))
                        pending += names[::-1]
                    else:
                        pending += target.split(b"/")[::-1]
                elif stat.S_ISDIR(mode):
                    trail.append(_open_at(name, _FOLDER, trail[-1]))
                elif any(name not in (b"", b".") for name in pending):
                    raise NotADirectoryError
                else:
                    return _open_at(name, _FILE, trail[-1])
            return trail.pop()
        finally:
            for fd in trail:
                os.close(fd)

    def tree(self, path: bytes, max_bytes: int, max_files: int) -> Iterator[tuple[bytes, int, int]]:
        """Every regular file below a folder as (relative path, mode, descriptor); the descriptor
        is closed when the next one is asked for.

        :raises Refused: more than ``max_bytes``, ``max_files`` or ``MAX_ENTRIES``, or too deep.
        :raises OSError: the folder does not exist.
        """
        top = self.open(path)
        if not stat.S_ISDIR(os.fstat(top).st_mode):
            os.close(top)
            raise NotADirectoryError
        pending: list[tuple[int, bytes, Iterator[bytes]]] = [(top, b"", _names(top))]
        entries = files = size = 0
        try:
            while pending:
                folder, prefix, names = pending[-1]
                name = next(names, None)
                if name is None:
                    os.close(pending.pop()[0])
                    continue
                entries += 1
                if entries > MAX_ENTRIES:
                    raise Refused(f"more than {MAX_ENTRIES} entries")
                info = os.lstat(name, dir_fd=folder)
                relative = prefix + name
                if stat.S_ISDIR(info.st_mode):
                    if len(pending) >= MAX_DEPTH:
                        raise Refused("the tree is too deep")
                    fd = _open_at(name, _FOLDER, folder)
                    pending.append((fd, relative + b"/", _names(fd)))
                elif stat.S_ISREG(info.st_mode):
                    files += 1
                    size += info.st_size
                    if files > max_files:
                        raise Refused(f"more than {max_files} files")
                    if size > max_bytes:
                        raise Refused(f"more than {max_bytes} bytes")
                    fd = _open_at(name, _FILE, folder)
                    try:
                        yield relative, stat.S_IMODE(info.st_mode), fd
                    finally:
                        os.close(fd)
        finally:
            for fd, _, _ in pending:
                os.close(fd)

    # --- writing --------------------------------------------------------------------------------

    def prepare_folder(self, path: bytes, ids: Ids, *, seal: bool) -> int:
        """Make a folder with its parents; a descriptor of it. Call ``finish`` when it is filled.

        :param seal: it is for files of ``User.OWNER``.
        :raises Refused: a name on the way is no folder, or it is sealed.
        """
        if not seal and any(_is_below(path, sealed) for sealed in self._sealed):
            raise Refused("files of another owner are there")
        if path in self._sealed and self._sealing == wire.SEAL_BY_MOUNT:
            linux.set_read_only(path, False)
        root, names = self._split(path)
        fd = os.dup(root)
        try:
            for name in names:
                if seal and ids is not None:
                    os.fchown(fd, *ids)
                    os.fchmod(fd, _STICKY)  # others may add, but not remove or rename
                fd = _enter(fd, name, ids)
            if ids is not None and not os.fstat(fd).st_mode & stat.S_ISVTX:
                os.fchown(fd, *ids)
                os.fchmod(fd, 0o755)
        except BaseException:
            os.close(fd)
            raise
        return fd

    def write(self, folder: int, relative: bytes, mode: int, ids: Ids, *, seal: bool) -> int:
        """A descriptor for writing a new file; what was there is replaced.

        :raises Refused: a name on the way is no folder, or a folder is where the file should be.
        """
        *parents, name = relative.split(b"/")
        fd = os.dup(folder)
        try:
            for parent in parents:
                fd = _enter(fd, parent, ids)
            try:
                os.unlink(name, dir_fd=fd)
            except FileNotFoundError:
                pass
            except IsADirectoryError:
                raise Refused("a folder is where the file should be") from None
            flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
            file = os.open(name, flags, 0o600, dir_fd=fd)
        finally:
            os.close(fd)
        if ids is not None:
            os.fchown(file, *ids)
        kept = 0o777 if not seal else 0o555 if self._sealing == wire.SEAL_BY_MODE else 0o755
        os.fchmod(file, mode & kept)
        return file

    def finish(self, folder: int, path: bytes, *, seal: bool) -> None:
        os.close(folder)
        if not seal:
            return
        if self._sealing == wire.SEAL_BY_MOUNT:
            if path not in self._sealed:
                self._pin(path)
            linux.set_read_only(path, True)
        self._sealed.add(path)

    def _pin(self, path: bytes) -> None:
        """Make a folder and those on the way to it mount points, so that none can be moved."""
        root = self._root_of(path)
        ends = [len(root)] if path == root else []
        ends += [at for at in range(len(root) + 1, len(path)) if path[at : at + 1] == b"/"]
        for end in sorted({*ends, len(path)}):
            linux.bind_on_itself(path[:end])

    # --- paths ----------------------------------------------------------------------------------

    def _root_of(self, path: bytes) -> bytes:
        for root in self._roots:
            if _is_below(path, root):
                return root
        raise Refused("the path leaves the writable folders")

    def _split(self, path: bytes) -> tuple[int, list[bytes]]:
        root = self._root_of(path)
        return self._roots[root], [name for name in path[len(root) :].split(b"/") if name]


def write_all(fd: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(fd, view) :]


def _is_below(path: bytes, root: bytes) -> bool:
    return path == root or path.startswith(root + b"/")


def _names(folder: int) -> Iterator[bytes]:
    with os.scandir(folder) as entries:
        for entry in entries:
            yield os.fsencode(entry.name)


def _open_at(name: bytes, flags: int, folder: int) -> int:
    """Open also what its owner made unreadable, where this process is no other than the owner."""
    try:
        return os.open(name, flags, dir_fd=folder)
    except PermissionError:
        fd = os.open(name, os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=folder)
        try:
            if not stat.S_ISLNK(mode := os.fstat(fd).st_mode):
                os.chmod(f"/proc/self/fd/{fd}", stat.S_IMODE(mode) | stat.S_IRWXU)  # noqa: PTH101
        finally:
            os.close(fd)
        return os.open(name, flags, dir_fd=folder)


def _enter(folder: int, name: bytes, ids: Ids) -> int:
    """A descriptor of a subfolder, made where it is missing; closes ``folder`` on success."""
    try:
        os.mkdir(name, 0o755, dir_fd=folder)
        made = True
    except FileExistsError:
        made = False
    try:
        fd = os.open(name, _FOLDER, dir_fd=folder)
    except OSError as error:
        raise Refused(f"cannot enter a folder: {error.strerror}") from None
    if made and ids is not None:
        os.fchown(fd, *ids)
    os.close(folder)
    return fd
