"""The conditions under which hidden tests run, for finding tests that depend on them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from pathlib import Path

CLOCK = Path(__file__).with_name("clock.py").read_text("utf-8")


@dataclass(frozen=True, slots=True, kw_only=True)
class Conditions:
    """Other than usual.

    :param order: seed of a random order of the tests; ``None`` keeps theirs.
    :param clock_shift: seconds that Python's clock is moved by, in tests and code under test.
    :param hash_seed: of programs that heed ``PYTHONHASHSEED``; the processes of ``verify_tests``
        draw one each, as always.
    :param timezone: ``TZ`` of every program.
    """

    order: int | None = None
    clock_shift: float = 0.0
    hash_seed: int | None = None
    timezone: str = ""

    @property
    def environment(self) -> Mapping[str, str]:
        found = {"TZ": self.timezone} if self.timezone else {}
        if self.hash_seed is not None:
            found["PYTHONHASHSEED"] = str(self.hash_seed)
        return found

    @property
    def before(self) -> str:
        """Python source to run first in every process; empty for none."""
        return f"{CLOCK}\n\nshift({self.clock_shift!r})\n" if self.clock_shift else ""


_USUAL = Conditions()
_now: ContextVar[Conditions] = ContextVar("conditions", default=_USUAL)


def current() -> Conditions:
    return _now.get()


@contextmanager
def under(conditions: Conditions) -> Iterator[None]:
    """Verifications inside run under these conditions, whichever task kind asks for them."""
    token = _now.set(conditions)
    try:
        yield
    finally:
        _now.reset(token)
