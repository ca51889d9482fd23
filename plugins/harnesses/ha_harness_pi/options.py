"""Which pi: the options of ``[harness.pi]``."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from harness_adapters import BadInput, Options
from harness_adapters.errors import did_you_mean
from harness_adapters.harness.npm import check_npm_pin
from harness_adapters.options import check_options

PACKAGE = "@mariozechner/pi-coding-agent"
VERSIONS = {PACKAGE: "0.73.1", "@earendil-works/pi-coding-agent": "1.6.0"}
"""The releases that this driver is tested with."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PiOptions:
    """
    :param package: npm package to install.
    :param version: one exact version of it.
    :param path: folder of an installed pi to use instead; nothing is installed then.
    """

    package: str = PACKAGE
    version: str = VERSIONS[PACKAGE]
    path: Path | None = None


def pi_options(options: Options) -> PiOptions:
    """:raises BadInput: an unknown option or a value that makes no sense, with the near match."""
    check_options("harness pi", options, ("package", "path", "version"))
    for name, value in options.items():
        if not isinstance(value, str) or not value:
            raise BadInput(f"harness pi: option {name!r} must be a non-empty string, not {value!r}")
    if "path" in options:
        if len(options) > 1:
            raise BadInput("harness pi: `path` names an installed pi; leave out the other options")
        return PiOptions(path=Path(options["path"]).expanduser().absolute())
    package = options.get("package", PACKAGE)
    version = options.get("version", VERSIONS.get(package))
    if version is None:
        raise BadInput(
            f"harness pi: package {package!r} needs a `version`{did_you_mean(package, VERSIONS)}"
        )
    check_npm_pin(package, version)
    return PiOptions(package=package, version=version)
