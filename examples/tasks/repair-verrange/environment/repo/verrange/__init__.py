"""Versions and ranges of versions."""

from verrange.ranges import Range, RangeError
from verrange.select import best, satisfies, sort_versions, updates
from verrange.version import Version, VersionError

__all__ = [
    "Range",
    "RangeError",
    "Version",
    "VersionError",
    "best",
    "satisfies",
    "sort_versions",
    "updates",
]
