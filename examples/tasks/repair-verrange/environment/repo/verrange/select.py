"""Choosing among versions given as texts."""

from verrange.ranges import Range
from verrange.version import Version, VersionError


def satisfies(version, range_text):
    return Version.parse(version) in Range(range_text)


def sort_versions(versions, newest_first=False):
    """The texts in the order of their versions."""
    return sorted(versions, key=Version.parse, reverse=newest_first)


def best(versions, range_text):
    """The newest of the versions in the range, or None. Texts that are no versions are passed
    over: tags of a repository may be anything."""
    allowed = Range(range_text)
    found = None
    for text in versions:
        try:
            version = Version.parse(text)
        except VersionError:
            continue
        if version in allowed and (found is None or version > found[0]):
            found = (version, text)
    return None if found is None else found[1]


def updates(installed, available, range_text="*"):
    """Name -> newer version in the range, for each installed package that has one."""
    result = {}
    for name, version in sorted(installed.items()):
        candidate = best(available.get(name, ()), range_text)
        if candidate is not None and Version.parse(candidate) > Version.parse(version):
            result[name] = candidate
    return result
