"""Hosts named by URLs and by the other ways in which programs take them."""

from __future__ import annotations

import re

_URL = re.compile(
    r"[a-zA-Z][a-zA-Z0-9+.-]*+://(?:[^/\s@'\"<>?#]*+@)?(\[[0-9a-fA-F:.]+\]|[^/\s:'\"<>?#@,;)]+)"
)
_SCP = re.compile(r"(?:[\w.-]+@)?([\w-]+(?:\.[\w-]+)+):(?!//)")
_NAME = re.compile(
    r"(?:[\w.+-]+@)?"
    r"((?:[\w-]+\.)+[a-zA-Z][\w-]*|\d+(?:\.\d+){0,3}|localhost|\[[0-9a-fA-F:.]+\]|0x[0-9a-fA-F]+)"
    r"(?::\d+)?(?:[/?#].*)?\Z"
)


def host_of_url(text: str) -> str | None:
    """The host of a URL with a scheme; ``None`` for anything else and for ``file://``."""
    if "://" not in text or text[:5].lower() == "file:":
        return None
    found = _URL.match(text)
    return tidy_host(found.group(1)) if found else None


def host_of_operand(text: str) -> str | None:
    """The host that a network program takes from a word: a URL, ``user@host:path``, a bare name."""
    if host := host_of_url(text):
        return host
    found = _NAME.match(text) or _SCP.match(text)
    return tidy_host(found.group(1)) if found else None


def hosts_in(text: str) -> list[str]:
    """Every host that a text names by URL, in order."""
    if "://" not in text:
        return []
    return [tidy_host(found.group(1)) for found in _URL.finditer(text)]


def tidy_host(host: str) -> str:
    return host.strip("[]").rstrip(".").lower()
