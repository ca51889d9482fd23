"""One version."""

import re
from dataclasses import dataclass
from functools import total_ordering

from verrange import identifiers

_NUMBER = r"(0|[1-9]\d*)"
_VERSION = re.compile(
    rf"v?{_NUMBER}\.{_NUMBER}\.{_NUMBER}(?:-(?P<pre>[^+]+))?(?:\+(?P<build>[0-9A-Za-z.-]+))?"
)


class VersionError(ValueError):
    """The text is no version."""


@total_ordering
@dataclass(frozen=True, eq=False)
class Version:
    major: int
    minor: int
    patch: int
    pre: tuple = ()
    build: str = ""

    @classmethod
    def parse(cls, text):
        found = _VERSION.fullmatch(text.strip())
        if found is None:
            raise VersionError(f"not a version: {text!r}")
        try:
            pre = identifiers.split(found["pre"]) if found["pre"] else ()
        except ValueError as error:
            raise VersionError(str(error)) from None
        return cls(*map(int, found.group(1, 2, 3)), pre, found["build"] or "")

    @property
    def release(self):
        return (self.major, self.minor, self.patch)

    def bumped(self, part):
        """The next release: ``part`` is major, minor or patch. The next patch of a pre-release is
        its own release."""
        if part == "major":
            return Version(self.major + 1, 0, 0)
        if part == "minor":
            return Version(self.major, self.minor + 1, 0)
        if part == "patch":
            return Version(self.major, self.minor, self.patch + (not self.pre))
        raise ValueError(f"no part {part!r}")

    def _key(self):
        return (self.release, identifiers.order(self.pre))

    def __eq__(self, other):
        return self._key() == other._key() if isinstance(other, Version) else NotImplemented

    def __hash__(self):
        return hash(self._key())

    def __lt__(self, other):
        return self._key() < other._key() if isinstance(other, Version) else NotImplemented

    def __str__(self):
        text = ".".join(map(str, self.release))
        if self.pre:
            text += "-" + ".".join(self.pre)
        return f"{text}+{self.build}" if self.build else text
