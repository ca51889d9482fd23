"""A command that goes on in the background once it has said that it is ready."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable


def in_background(work: Callable[[Callable[[bytes], None]], None]) -> bytes | None:
    """Run ``work`` in a child that outlives this process; called before any thread is started.

    :param work: calls its argument once with what it has to say when it is ready.
    :return: what it said, or ``None`` when it ended before; its complaints are on stderr.
    """
    reading, writing = os.pipe()
    if os.fork() == 0:
        os.close(reading)
        os.setsid()

        def ready(message: bytes) -> None:
            os.write(writing, message)
            os.close(writing)
            silent = os.open(os.devnull, os.O_RDWR)
            for standard in (0, 1, 2):
                os.dup2(silent, standard)

        code = 1
        try:
            work(ready)
            code = 0
        except Exception as error:
            print(f"ha: {error}", file=sys.stderr)
        finally:
            sys.stderr.flush()
            os._exit(code)
    os.close(writing)
    with os.fdopen(reading, "rb") as pipe:
        return pipe.read() or None
