"""What every test relies on, however the suite was started."""

from __future__ import annotations

import signal

from hypothesis import settings

# A busy machine may stop for longer than any deadline; how fast things are is for ``ha bench``.
settings.register_profile("any machine", deadline=None)
settings.load_profile("any machine")


def pytest_configure() -> None:
    """Behind ``nohup`` or ``&`` signals are ignored, and so they would be by what tests start,
    which inherits that, but no handler."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    if signal.getsignal(signal.SIGHUP) is signal.SIG_IGN:
        signal.signal(signal.SIGHUP, lambda *_: None)
