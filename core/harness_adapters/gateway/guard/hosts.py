"""Hosts named by URLs and by the other ways in which programs take them, in one form each."""

from __future__ import annotations

import re
from ipaddress import IPv6Address, ip_address

_URL = re.compile(
    r"(?<![a-zA-Z0-9+.-])[a-zA-Z][a-zA-Z0-9+.-]*+://(?:[^/\s@'\"<>?#\\]*+@)?"
    r"(\[[0-9a-fA-F:.]+\]|[^/\s:'\"<>?#@,;)}\]`\\]+)"
)
_WHOLE_URL = re.compile(r"(?<![a-zA-Z0-9+.-])[a-zA-Z][a-zA-Z0-9+.-]*+://[^\s'\"<>`]+")
_SCP = re.compile(r"(?:[\w.-]+@)?([\w-]+(?:\.[\w-]+)+):(?!//)")
_NAME = re.compile(
    r"(?:[\w.+-]+@)?"
    r"((?:[\w-]+\.)+[^\W\d][\w-]*\.?|(?:0x[0-9a-fA-F]+|\d+)(?:\.(?:0x[0-9a-fA-F]+|\d+)){0,3}"
    r"|localhost|\[[0-9a-fA-F:.]+\]|[0-9a-fA-F]*:[0-9a-fA-F]*:[0-9a-fA-F:.]*)"
    r"(?::\d+)?(?:[/?#].*)?\Z"
)
_BARE = re.compile(
    r"(?<![\w.@/-])(?:[\w-]{1,63}\.){1,8}[a-zA-Z]{2,24}(?![\w-])"
    r"|(?<![\w.@/-])\d{1,3}(?:\.\d{1,3}){3}(?!\.?[\w-])"
)
# ``user@host:path``, ``ssh user@host``: an address of mail names no machine.
_LOGIN = re.compile(
    r"(?<![\w.+-])[\w.-]{1,32}@((?:[\w-]{1,63}\.){1,8}[a-zA-Z]{2,24}):[/~\w.]"
    r"|\b(?:ssh|sftp|mosh)[ \t]+[\w.-]{1,32}@((?:[\w-]{1,63}\.){1,8}[a-zA-Z]{2,24})"
)
# Schemes whose host is no host but a name at a hub.
_HUBS = {
    "hf": "huggingface.co",
    "s3": "s3.amazonaws.com",
    "s3a": "s3.amazonaws.com",
    "gs": "storage.googleapis.com",
    "gcs": "storage.googleapis.com",
    "kaggle": "www.kaggle.com",
    "docker": "docker.io",
    "gh": "github.com",
}
_IN_127 = re.compile(r"127(?:\.\d{1,3}){3}")
#: Where packages come from, by the name of their index.
PACKAGE_INDEXES = (
    "pypi.org", "files.pythonhosted.org", "registry.npmjs.org", "registry.yarnpkg.com",
    "crates.io", "index.crates.io", "static.crates.io", "proxy.golang.org", "sum.golang.org",
    "rubygems.org", "index.rubygems.org", "deb.debian.org", "security.debian.org",
    "archive.ubuntu.com", "security.ubuntu.com", "dl-cdn.alpinelinux.org", "conda.anaconda.org",
    "repo.maven.apache.org", "repo1.maven.org",
)  # fmt: skip
_DOTS = str.maketrans("\u3002\uff0e\uff61", "...")


def host_of_url(text: str) -> str | None:
    """The host of a URL with a scheme; ``None`` for anything else and for ``file://``."""
    if "://" not in text or text[:5].lower() == "file:":
        return None
    if hub := _HUBS.get(text.partition("://")[0].lower()):
        return hub
    found = _URL.match(text)
    return tidy_host(found.group(1)) if found else None


def host_of_operand(text: str) -> str | None:
    """The host that a network program takes from a word: a URL, ``user@host:path``, a bare name."""
    if host := host_of_url(text):
        return host
    found = _NAME.match(text) or _SCP.match(text)
    return tidy_host(found.group(1)) if found else None


def hosts_of_urls(text: str) -> list[tuple[str, str]]:
    """Every URL that stands in a text, with its host; hubs' own schemes (``hf://``) too."""
    if "://" not in text:
        return []
    found = [(one.group(), host_of_url(one.group())) for one in _WHOLE_URL.finditer(text)]
    return [(url, host) for url, host in found if host]


def hosts_in(text: str, *, bare: bool = False) -> list[str]:
    """Every host that a text names by URL, in order; with ``bare`` also by its name alone."""
    found = [tidy_host(one.group(1)) for one in _URL.finditer(text)] if "://" in text else []
    if bare:
        found += [tidy_host(one.group()) for one in _BARE.finditer(text)]
        if "@" in text:
            found += [tidy_host(one.group(1) or one.group(2)) for one in _LOGIN.finditer(text)]
    return found


def tidy_host(host: str) -> str:
    """One spelling per host: lower case, no brackets, port or last dot, punycode for letters
    beyond ASCII, and addresses in dotted decimal, however they are written."""
    host = host.strip("[]").translate(_DOTS).rstrip(".").lower()
    if not host.isascii():
        try:
            host = host.encode("idna").decode("ascii")
        except UnicodeError:
            return host
    if host[:1].isdigit() or ":" in host:
        return _address(host) or host
    return host


def _address(host: str) -> str | None:
    """Like ``inet_aton``: one to four numbers, each decimal, octal or hexadecimal."""
    if ":" in host:
        try:
            address = ip_address(host)
        except ValueError:
            return None
        mapped = address.ipv4_mapped if isinstance(address, IPv6Address) else None
        return str(mapped or address)
    pieces = host.split(".")
    if len(pieces) > 4:
        return None
    numbers: list[int] = []
    for piece in pieces:
        try:
            if piece.startswith("0x"):
                numbers.append(int(piece, 16))
            elif len(piece) > 1 and piece[0] == "0":
                numbers.append(int(piece, 8))
            else:
                numbers.append(int(piece))
        except ValueError:
            return None
    value, left = numbers[-1], 5 - len(numbers)
    if any(number > 255 for number in numbers[:-1]) or not 0 <= value < 256**left:
        return None
    for i, number in enumerate(numbers[:-1]):
        value += number << (8 * (3 - i))
    return str(ip_address(value))


def is_loopback(host: str) -> bool:
    """This machine itself, by name or address."""
    return (
        host in ("localhost", "::1", "0.0.0.0", "::", "ip6-localhost")
        or _IN_127.fullmatch(host) is not None
        or host.endswith(".localhost")
    )
