"""Which hermes: the options of ``[harness.hermes]``."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from harness_adapters import Options
from harness_adapters.harness.choice import chosen_path
from harness_adapters.harness.pypi import check_pypi_pin

PACKAGE = "hermes-agent"
VERSION = "0.19.0"
"""The release that this driver is tested with."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HermesOptions:
    """
    :param version: one exact version to install from PyPI.
    :param path: an installed hermes to use instead: its virtual environment, or the folder that
        holds it and all that it imports. It must be for the Python that runs this.
    """

    version: str = VERSION
    path: Path | None = None


def hermes_options(options: Options) -> HermesOptions:
    """:raises BadInput: an unknown option or a value that makes no sense, with the near match."""
    path = chosen_path("hermes", options, ("path", "version"))
    if path is not None:
        return HermesOptions(path=path)
    version = options.get("version", VERSION)
    check_pypi_pin(PACKAGE, version)
    return HermesOptions(version=version)
