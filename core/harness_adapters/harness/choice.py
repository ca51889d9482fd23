"""Which copy of a harness: the options that every driver has."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from harness_adapters.errors import BadInput
from harness_adapters.options import check_options
from harness_adapters.protocols import Options


def chosen_path(harness: str, options: Options, known: Iterable[str]) -> Path | None:
    """Check a driver's options, which are all strings, and return ``path``: an
    installed copy to use instead of installing one. It excludes all other options.

    :raises BadInput: an unknown option, with the near match; an empty one; ``path`` with another.
    """
    check_options(f"harness {harness}", options, known)
    for name, value in options.items():
        if not isinstance(value, str) or not value:
            raise BadInput(
                f"harness {harness}: option {name!r} must be a non-empty string, not {value!r}"
            )
    if "path" not in options:
        return None
    if len(options) > 1:
        raise BadInput(
            f"harness {harness}: `path` names an installed {harness}; leave out the other options"
        )
    return Path(options["path"]).expanduser().absolute()
