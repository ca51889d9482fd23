"""Settings that tell programs where to fetch from: files of the session's own making, and words."""

from __future__ import annotations

import re

from harness_adapters.gateway.guard.hosts import host_of_operand, host_of_url, hosts_of_urls
from harness_adapters.gateway.guard.names import names
from harness_adapters.gateway.guard.programs.words import Words, operands
from harness_adapters.gateway.guard.recorder import Recorder
from harness_adapters.gateway.guard.state import State

_JAVASCRIPT = ("package.json", ".npmrc", ".yarnrc.yml", ".yarnrc", "bunfig.toml")
_CONTAINERS = (
    "Dockerfile", "Containerfile", "docker-compose.yml", "docker-compose.yaml", "compose.yml",
    "compose.yaml",
)  # fmt: skip
# Program -> what it reads of its own accord.
_READ_BY = {
    "npm": _JAVASCRIPT, "pnpm": _JAVASCRIPT, "yarn": _JAVASCRIPT, "bun": _JAVASCRIPT,
    "cargo": ("Cargo.toml", ".cargo/config.toml", ".cargo/config"), "go": ("go.mod",),
    "uv": ("uv.toml", "pyproject.toml"), "poetry": ("pyproject.toml",),
    "pdm": ("pyproject.toml",), "hatch": ("pyproject.toml",), "pipenv": ("Pipfile",),
    "bundle": ("Gemfile",), "composer": ("composer.json",),
    "gradle": ("build.gradle", "build.gradle.kts", "settings.gradle", "settings.gradle.kts"),
    "docker": _CONTAINERS, "podman": _CONTAINERS, "docker-compose": _CONTAINERS,
    "conda": ("environment.yml",), "nix": ("flake.nix",), "terraform": ("main.tf",),
    "git": (".gitmodules",),
}  # fmt: skip
_TAKES_FILES = names("ansible-playbook docker-compose kubectl helm terraform")
#: Programs that files tell where to fetch from.
FETCH_BY_FILES = _TAKES_FILES | _READ_BY.keys()
_FETCHES = names(
    """
    install i add ci update upgrade sync lock get download mod build run compose up init submodule
    restore package dependency resolve compile vendor fetch create test check
    """
)
# A line that says where something is fetched, and one that only tells of the project.
_SAYS_WHERE = re.compile(
    r"registry|index|[Pp]roxy|replace|mirror|\bgit\b|tarball|find[-_]links|get_url|\bRUN\b|\bADD\b"
    r"|\bFROM\b|curl|wget|\bur[li]\b|resolved|\bsource\s*=|\bsource ['\"]|@ ?://"
)
_DEPENDENCY = re.compile(r":\s*\"(?:git\+)?https?://[^\"]+\.(?:tgz|tar\.gz|zip|git)\b")
_ADDRESS = re.compile(r"[a-z+]+://[^\s'\"]*")
_TELLS_OF = re.compile(
    r"homepage|bugs|author|funding|license|documentation|changelog|schema|issues|\"url\"|xmlns"
    r"|repository|readme|contact|badge|description|\blabel\b",
    re.IGNORECASE,
)
_DETOURS = ("proxy", "trusted-host")
_NO_DETOURS = names("grep egrep fgrep rg ag ack sed awk gawk find ls cat jq git-grep test [ [[")


def note_settings(rec: Recorder, state: State, name: str, words: Words) -> None:
    """Hosts that settings which this session wrote send a program to.

    :param name: one of ``FETCH_BY_FILES``.
    """
    if name in _READ_BY and _FETCHES.isdisjoint(words[1:4]):
        return
    given = operands(words) if name in _TAKES_FILES else ()
    for file in (*_READ_BY.get(name, ()), *given):
        text = state.known(file)
        for line in text.splitlines() if text and "://" in text else ():
            if "://" in line and _says_where(line):
                for url, host in hosts_of_urls(line):
                    rec.connect(host, address=url)


def _says_where(line: str) -> bool:
    bare = _ADDRESS.sub("://", line)
    if _TELLS_OF.search(bare):
        return False
    return _SAYS_WHERE.search(bare) is not None or _DEPENDENCY.search(line) is not None


def note_detours(rec: Recorder, name: str, words: Words) -> None:
    """Hosts through which, or in whose place, a program is told to reach others."""
    if name in _NO_DETOURS:
        return
    for i, word in enumerate(words):
        if "=" in word:
            key, _, value = word.lstrip("-").partition("=")
            low = key.lower()
            if low.endswith("insteadof"):
                rec.connect(host_of_url(key.partition(".")[2]))
            elif (low == "hostname" and word[:1] != "-") or (
                low.endswith(_DETOURS) and not low.startswith("no")
            ):
                rec.connect(host_of_operand(value))
        elif word[:2] == "--" and word.endswith(_DETOURS) and i + 1 < len(words):
            rec.connect(host_of_operand(words[i + 1]))
