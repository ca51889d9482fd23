"""What every test relies on, however the suite was started."""

from __future__ import annotations

import signal


def pytest_configure() -> None:
    """Behind ``nohup`` or ``&`` Ctrl-C is ignored, and so it would be by what tests start."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
