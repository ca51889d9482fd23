"""Checking a component's options: an unknown one is an error with a near match, never ignored."""

from __future__ import annotations

from collections.abc import Iterable

from harness_adapters.errors import BadInput, did_you_mean
from harness_adapters.protocols import Options


def check_options(component: str, options: Options, known: Iterable[str] = ()) -> None:
    """:param component: what a person calls it, e.g. ``"guard tamper"``.
    :raises BadInput: there is an option that the component does not have.
    """
    known = sorted(known)
    for name in options:
        if name not in known:
            listed = f"options: {', '.join(known)}" if known else "it has none"
            raise BadInput(
                f"{component} has no option {name!r}{did_you_mean(name, known)} ({listed})"
            )
