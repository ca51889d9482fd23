"""Listings of the whole environment, and where they go.

What ``env`` and its like print is not known, but that it is such a listing is: a mark stands for
it in pipes, variables and files, so that a search in it, or its way out, is seen later too.
"""

from __future__ import annotations

from collections.abc import Sequence

from harness_adapters.gateway.guard.names import names
from harness_adapters.gateway.guard.pipe import Pipe
from harness_adapters.gateway.guard.state import State

#: Stands in a text for a listing of all variables.
LISTING = "\ue005environment\n"
#: Among the variables that a call uses: all of them; with a pattern behind it, those that fit.
ALL = "*"
_SEARCHERS = names("grep egrep fgrep rg ag ack awk gawk mawk sed perl look jq")
_CARRIERS = names(
    """
    base64 base32 basenc xxd od hexdump gzip bzip2 xz zstd openssl gpg rev curl wget nc ncat netcat
    socat ssh telnet mail sendmail http https xh
    """
)
# What variables that a search may be after are called by; rules say which of them matter.
_WORTH_HIDING = (
    "tok", "key", "sec", "pass", "api", "auth", "cred", "pat", "answer", "gold", "expect", "reward",
)  # fmt: skip
#: Programs that may pick something out of a listing, or carry it on.
SIFT_OR_CARRY = _SEARCHERS | _CARRIERS | {"printenv"}
_LISTERS = names("env printenv set export declare typeset")


def listing(words: Sequence[str]) -> str | None:
    """What a command prints that lists all variables; ``None`` for any other."""
    if words[0].rpartition("/")[2] not in _LISTERS:
        return None
    return LISTING if all(word in ("-p", "-x", "-px", "-xp", "-0") for word in words[1:]) else None


def note_listing(state: State, name: str, words: Sequence[str], pipe: Pipe | None) -> None:
    """Note which variables a command picks out of a listing, or that it carries it on.

    :param name: one of ``SIFT_OR_CARRY``.
    """
    if name == "printenv":
        state.environment.update(dict.fromkeys(word for word in words[1:] if word[:1] != "-"))
        return
    if name in _SEARCHERS:
        said = " ".join(words[1:8]).casefold()
        if not any(map(said.__contains__, _WORTH_HIDING)):
            return
    given = [word.removeprefix("@") for word in words[1:] if word[:1] != "-"]
    piped = pipe is not None and pipe.text is not None and LISTING in pipe.text
    if not piped and not any(LISTING in (state.known(word) or "") for word in given[:16]):
        return
    if name in _CARRIERS:
        state.environment[ALL] = None
    for word in words[1:8] if name in _SEARCHERS else ():
        state.environment[f"{ALL}{word[:80]}"] = None
