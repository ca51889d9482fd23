"""Programs that nobody here knows: what their words show of what they do."""

from __future__ import annotations

import re

from harness_adapters.gateway.guard.hosts import host_of_operand, hosts_of_urls
from harness_adapters.gateway.guard.names import names
from harness_adapters.gateway.guard.programs.words import Words, operands, path_operands
from harness_adapters.gateway.guard.recorder import Recorder
from harness_adapters.gateway.guard.state import State

_REWRITES = names(
    """
    -U --set --put --autofix --update-all --in-place --inplace --write --fix --overwrite --update
    --apply --edit
    """
)
# Of these ``-i`` means "in the file itself"; of test runners it picks tests.
_EDITS_WITH_I = re.compile(
    r"fix|fmt|format|pep|lint|sed|edit|refactor|upgrade|replace|sort|tidy|codemod|astyle|indent|pretty"
    r"|yq|dasel|xml|toml|json|ini"
)
_REWRITES_BY_VERB = names("set put codemod format rewrite fmt fix apply-fixes")
# Programs that write the last thing they are given.
_WRITES_LAST = names(
    """
    convert magick ffmpeg objcopy sphinx-build pdftotext pdftoppm sox lame cwebp qpdf inkscape
    pdfunite ps2pdf wkhtmltopdf mmv zmv qmv copier rdfind
    """
)
_SPACE = re.compile(r"\s")
_SCHEME = re.compile(r"[a-zA-Z][a-zA-Z0-9+.-]*://")
_ADDRESSES = names("ssh-keygen gpg gpg2 htpasswd useradd adduser chpasswd git-author")
_AT_HOST = re.compile(r"[\w.+-]+@((?:[\w-]+\.)+[a-zA-Z]{2,})(?::\S*)?\Z")
# A machine by its bare name or number: what looks like a file's name is not taken for one.
_BARE_HOST = re.compile(
    r"((?:[\w-]+\.)+(?:com|org|net|io|dev|ai|app|edu|gov|mil|info|biz|xyz|cloud|online|site|tech"
    r"|example|test|invalid|onion|co\.uk|de|cn|ru|fr|jp|eu))\.?(?::\d{1,5})?(?:/\S*)?,?\Z"
    r"|(?:[a-z]+:)?(?:[\w.+-]+@)?((?:[\w-]+\.)+(?:com|org|net|io|dev|app|edu|xyz|cloud|site|tech))"
    r":[/~]\S*\Z|((?:[\w-]+\.)+[a-z]{2,24}):\d{2,5}\Z|(\d{1,3}(?:\.\d{1,3}){3})(?::\d{1,5})?\Z",
    re.IGNORECASE,
)
# Say, search or keep what they are given: an address is a text to them.
_TEXT_PROGRAMS = names(
    """
    echo printf : true false test [ [[ grep egrep fgrep rg ag ack sed gsed awk gawk mawk jq yq gojq
    git gh glab hub sqlite3 sqlite psql mysql export declare typeset local read let expr set unset
    alias cat ls touch mkdir cp mv ln rm tee diff cmp sort tr cut date perl ruby node python
    python3 php lua bash sh zsh curl wget http https xh find cd
    """
)
_ABOUT_HOSTS = re.compile(r"host|url|uri|proxy|server|addr|repo|registry|endpoint", re.IGNORECASE)
_OUTPUTS = (
    "--output", "--out", "--outfile", "--output-file", "--outdir", "--output-dir", "--basetemp",
    "--directory-prefix", "--dest", "--destination", "--target-dir",
)  # fmt: skip


def follow_unknown(rec: Recorder, state: State, name: str, words: Words) -> None:
    """Paths are read, or changed where an option says so; addresses are reached."""
    path_operands(rec, state, words[1:])
    given = operands(words)
    in_place = "-i" in words and _EDITS_WITH_I.search(name) is not None
    if in_place or not _REWRITES.isdisjoint(words) or not _REWRITES_BY_VERB.isdisjoint(given[:1]):
        for word in given:
            rec.touch(state, word)
    elif name in _WRITES_LAST and len(given) > 1:
        rec.write(state, given[-1])
    if name in _ADDRESSES:
        return
    for word in words[1:]:
        value = word.partition("=")[2] if word[:1] == "-" and "=" in word else word
        if word.startswith("-D") and not _ABOUT_HOSTS.search(word.partition("=")[0]):
            continue  # a property of Java's: ``-Dexec.mainClass=notes.App``
        if found := _AT_HOST.match(value) or _BARE_HOST.match(value):
            host = next(one for one in found.groups() if one)
            rec.connect(host_of_operand(host), address=word)


def note_addresses(rec: Recorder, name: str, words: Words) -> None:
    """Addresses among the words of any program that could go there."""
    if name in _TEXT_PROGRAMS or words[1:2] == ["pkg"]:
        return
    for word in words[1:]:
        if "://" in word and (_SCHEME.match(word) or not _SPACE.search(word)):
            value = word if _SCHEME.match(word) else word.partition("=")[2]
            for url, host in hosts_of_urls(value):
                rec.connect(host, address=url)


def note_outputs(rec: Recorder, state: State, words: Words) -> None:
    """Files that any program is told to write to."""
    for i, word in enumerate(words):
        if word[:2] != "--" or not word.startswith(_OUTPUTS):
            continue
        name, equals, value = word.partition("=")
        if name in _OUTPUTS:
            rec.touch(state, value if equals else words[i + 1] if i + 1 < len(words) else "")
