"""What a request can be refused for; the text is what the client reads."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager


class Refused(Exception):
    """The request cannot be served as asked.

    :ivar status: the HTTP status that says so.
    """

    def __init__(self, message: str, *, status: int = 400) -> None:
        super().__init__(message)
        self.status = status


class OutOfMemory(Refused):
    """The machine has no memory left for this request; others go on."""

    def __init__(self) -> None:
        super().__init__("the engine has no memory left for this request", status=503)


@contextmanager
def or_out_of_memory() -> Iterator[None]:
    """Turn Python's and torch's ways to say that memory is at its end into ``OutOfMemory``."""
    try:
        yield
    except MemoryError:
        raise OutOfMemory from None
    except RuntimeError as error:
        if "allocate memory" in str(error):
            raise OutOfMemory from None
        raise
