"""Which opencode: the options of ``[harness.opencode]``."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from harness_adapters import Options
from harness_adapters.harness.choice import chosen_path
from harness_adapters.harness.npm import check_npm_pin

PACKAGE = "opencode-ai"
VERSION = "1.18.33"
"""The release that this driver is tested with."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OpencodeOptions:
    """
    :param version: one exact version to install from npm.
    :param path: an installed opencode to use instead: its program, or the folder of its npm
        package.
    """

    version: str = VERSION
    path: Path | None = None


def opencode_options(options: Options) -> OpencodeOptions:
    """:raises BadInput: an unknown option or a value that makes no sense, with the near match."""
    path = chosen_path("opencode", options, ("path", "version"))
    if path is not None:
        return OpencodeOptions(path=path)
    version = options.get("version", VERSION)
    check_npm_pin(PACKAGE, version)
    return OpencodeOptions(version=version)
