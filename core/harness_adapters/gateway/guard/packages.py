"""Package managers: what they install, and from where."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Sequence
from itertools import pairwise

from harness_adapters.gateway.guard.hosts import host_of_operand, host_of_url, hosts_of_urls
from harness_adapters.gateway.guard.names import names
from harness_adapters.gateway.guard.recorder import Recorder
from harness_adapters.gateway.guard.state import State

MANAGERS = names(
    """
    pip pip3 uv uvx bunx pipx
    poetry conda mamba micromamba npm npx pnpm yarn apt apt-get aptitude dnf
    yum apk brew cargo gem go mvn mvnw mvnd cs coursier composer cpanm cpan luarocks opam cabal
    """
)
# Hosts of Go modules that the module proxy serves.
_MODULE_HOSTS = names(
    """
    github.com gitlab.com bitbucket.org golang.org gopkg.in google.golang.org go.uber.org k8s.io
    cloud.google.com modernc.org sigs.k8s.io go.opentelemetry.io
    """
)
_DIRECT = re.compile(r"@?[\w.\[\],/-]+\s*@\s*((?:\w+\+)?\w+://\S+)\Z")
_SHORT_HUB = re.compile(r"(github|gitlab|bitbucket|gist):[\w./#@-]+\Z")
_HUBS = {"github": "github.com", "gitlab": "gitlab.com", "bitbucket": "bitbucket.org",
         "gist": "gist.github.com"}  # fmt: skip
_OWNER_AND_NAME = re.compile(r"[\w-]+/[\w.-]+(?:#[\w./-]+)?\Z")
_MAVEN = frozenset(("mvn", "mvnw", "mvnd", "cs", "coursier"))
_ARTIFACT = re.compile(r"(?:-Dartifact=)?[\w.-]+\.[\w.-]+:([\w.-]+):[\w.:-]+\Z")
_NODE_MANAGERS = frozenset(("npm", "pnpm", "yarn", "bun"))
_NODE_RUNS = frozenset(("exec", "x", "dlx", "create", "init"))
_NODE_VERBS = _NODE_RUNS | {"install", "i", "add", "link", "update", "up", "upgrade", "ci"}
_VERBS = names(
    """
    install download add i get require wheel ci dlx fetch upgrade reinstall unpack create-project
    """
)
_WITH_VALUE = names(
    """
    -r -c -e -i -t -d -n -f --requirement --constraint --index-url --extra-index-url --target
    --dest --find-links --editable --python --prefix --registry --name --channel
    """
)
_NO_VERB = frozenset(("cpanm", "cpan"))
_FILES = ("-r", "-c", "--requirement", "--constraint")
_URLS = ("-i", "-f", "--index-url", "--extra-index-url", "--find-links", "--registry")


def follow(rec: Recorder, state: State, name: str, words: Sequence[str]) -> None:
    """Record what a package manager's command installs."""
    rest = list(words[1:])
    for word in words[1 if name in ("npx", "bunx") else 2 :]:
        if hub := _SHORT_HUB.match(word):
            rec.connect(_HUBS[hub.group(1)], address=word)
        elif host_of_url(word):
            rec.connect(host_of_url(word), address=word)
    for word in words if name in _MAVEN else ():
        if artifact := _ARTIFACT.match(word):
            rec.install(artifact.group(1))
    for word in _may_be_owner_and_name(name, words):
        if _OWNER_AND_NAME.match(word):
            rec.connect("github.com", address=word)
    for before, word in pairwise(words):
        if (before in _URLS and ("://" in word or before != "-f")) or (
            host_of_url(word) and {"config", "set"} & set(words[1:3])
        ):
            rec.connect(host_of_operand(word), address=word)
    if name in ("pipx", "uvx", "bunx") or "tool" in rest[:1]:
        rest = [word for word in rest if word not in ("run", "tool")]
        for word in [one for one in rest if not one.startswith("-")][:1]:
            if word not in _VERBS and word not in ("list", "uninstall", "ensurepath"):
                _one(rec, state, word)
                return
    if name in _NO_VERB:  # ``Text::Wrapper`` is of the distribution Text-Wrapper
        rest = [word.replace("::", "-") for word in rest if word not in _VERBS]
    elif name != "npx":
        while rest and rest[0] not in _VERBS:
            rest.pop(0)
        if not rest:
            return
        rest.pop(0)
    option = ""
    for word in rest:
        if option:
            if option in _FILES:
                rec.read(state, word)
                for url, host in hosts_of_urls(state.known(word) or ""):
                    rec.connect(host, address=url)
            elif option in _URLS and ("://" in word or option != "-f"):
                rec.connect(host_of_operand(word))
            elif option in ("-t", "-d", "--target", "--dest", "--prefix"):
                rec.write(state, word)
            elif option in ("-e", "--editable"):
                _one(rec, state, word)
            option = ""
        elif word.startswith("-"):
            key, equals, value = word.partition("=")
            if equals and key in _URLS:
                rec.connect(host_of_operand(value))
            option = word if word in _WITH_VALUE and not (name == "go" and word == "-d") else ""
        else:
            _one(rec, state, word)
            if name == "npx":
                return


def _may_be_owner_and_name(name: str, words: Sequence[str]) -> Sequence[str]:
    """What npm and its like take for ``OWNER/NAME`` on GitHub: packages that are installed, or the
    one whose program is run, but not what that program is given."""
    if name in _NODE_MANAGERS:
        verb = next((i for i, word in enumerate(words[1:5], 1) if word in _NODE_VERBS), None)
        if verb is None:
            return ()
        words = words[verb:]
        if words[0] not in _NODE_RUNS:
            return words[1:]
    elif name not in ("npx", "bunx"):
        return ()
    named = [word for before, word in pairwise(words) if before in ("-p", "--package")]
    program = next((word for word in words[1:] if word[:1] != "-" and word not in named), "")
    return (*named, program)


def _one(rec: Recorder, state: State, word: str) -> None:
    if (direct := _DIRECT.match(word)) is not None:  # ``name @ https://...``
        word = direct.group(1)
    if host := host_of_url(word.removeprefix("git+")):
        rec.connect(host)
        last = re.split(r"[@#?]", word.split("://", 1)[1].partition("/")[2])[0].rstrip("/")
        rec.install(posixpath.basename(last).removesuffix(".git") or host)
    elif word in (".", "..") or word.startswith(("./", "../", "/", "~", ".[")):
        rec.read(state, re.sub(r"\[[^\]]*\]\Z", "", word))
    elif found := re.match(r"(@?[\w.-]+(?:/[\w.-]+)*)", word):
        rec.install(found.group(1))
        head, slash, _ = found.group(1).partition("/")
        if slash and "." in head and head not in _MODULE_HOSTS:  # a Go module names its host
            rec.connect(head, address=word)
