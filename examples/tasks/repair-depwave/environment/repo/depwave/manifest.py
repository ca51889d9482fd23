"""Reading manifests."""

import re
from dataclasses import dataclass

from depwave.errors import ManifestError

_NAME = r"[A-Za-z][\w.-]*"
_VERSION = r"\d+(?:\.\d+)*"
_LINE = re.compile(rf"({_NAME})(?:\s*=\s*({_VERSION}))?\s*(?::(.*))?")
_NEED = re.compile(rf"({_NAME})\s*(?:>=\s*({_VERSION}))?")


@dataclass(frozen=True)
class Need:
    name: str
    at_least: tuple = ()


@dataclass(frozen=True)
class Package:
    name: str
    version: tuple
    needs: tuple


def read_manifest(text):
    """Name -> package.

    :raises ManifestError: a line has another form, or a package stands twice.
    """
    packages = {}
    for number, raw in enumerate(text.splitlines(), 1):
        line = raw.split("#", 1)[0].strip()
        if not line:
            continue
        found = _LINE.fullmatch(line)
        if found is None:
            raise ManifestError(f"line {number}: not a package: {line!r}")
        name, version, needs = found.groups()
        if name in packages:
            raise ManifestError(f"line {number}: {name!r} stands twice")
        packages[name] = Package(name, _version(version or "0"), _needs(needs or "", number))
    return packages


def _needs(text, number):
    needs = []
    for part in filter(None, (part.strip() for part in text.split(","))):
        found = _NEED.fullmatch(part)
        if found is None:
            raise ManifestError(f"line {number}: not a need: {part!r}")
        needs.append(Need(found[1], _version(found[2]) if found[2] else ()))
    return tuple(needs)


def _version(text):
    return tuple(int(part) for part in text.split("."))
