"""What is below a process is killed to the last, also what was being forked meanwhile."""

from __future__ import annotations

import signal

import pytest

from harness_adapters.sandbox.inside import processes


def test_what_a_process_forks_while_it_is_killed_is_killed_too(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A stop reaches a process only after the fork that it is in, a kill after the next look."""
    signals: list[tuple[int, int]] = []

    def descendants(ancestor: int) -> set[int]:
        return {2, 3} if (2, signal.SIGKILL) in signals else {2}

    monkeypatch.setattr(processes, "descendants", descendants)
    monkeypatch.setattr(
        processes, "kill", lambda pid, number=signal.SIGKILL: signals.append((pid, number))
    )
    processes.kill_descendants(1)
    assert signals == [
        (2, signal.SIGSTOP),
        (2, signal.SIGKILL),
        (3, signal.SIGSTOP),
        (3, signal.SIGKILL),
    ]
