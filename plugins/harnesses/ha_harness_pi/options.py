"""Which pi: the options of ``[harness.pi]``."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from harness_adapters import BadInput, Options
from harness_adapters.errors import did_you_mean
from harness_adapters.harness.choice import chosen_path
from harness_adapters.harness.npm import check_npm_pin

PACKAGE = "@mariozechner/pi-coding-agent"
VERSIONS = {PACKAGE: "0.73.1", "@earendil-works/pi-coding-agent": "1.6.0"}
"""The releases that this driver is tested with; each has a lock."""

_LOCKS = Path(__file__).with_name("locks")


@dataclass(frozen=True, slots=True, kw_only=True)
class PiOptions:
    """
    :param package: npm package to install.
    :param version: one exact version of it.
    :param path: an installed pi to use instead: its npm package, or the command that npm made of
        it; nothing is installed then.
    """

    package: str = PACKAGE
    version: str = VERSIONS[PACKAGE]
    path: Path | None = None

    @property
    def lock(self) -> Path | None:
        """The lock of a tested release."""
        if VERSIONS.get(self.package) != self.version:
            return None
        return _LOCKS / f"{self.package.rpartition('/')[2]}@{self.version}.json"


def pi_options(options: Options) -> PiOptions:
    """:raises BadInput: an unknown option or a value that makes no sense, with the near match."""
    path = chosen_path("pi", options, ("package", "path", "version"))
    if path is not None:
        return PiOptions(path=path)
    package = options.get("package", PACKAGE)
    version = options.get("version", VERSIONS.get(package))
    if version is None:
        raise BadInput(
            f"harness pi: package {package!r} needs a `version`{did_you_mean(package, VERSIONS)}"
        )
    check_npm_pin(package, version)
    return PiOptions(package=package, version=version)
