"""Git commands that show commits which the checked-out history does not have."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence

_REMOTE = re.compile(
    r"(?:\S*\.\.\.?)?(?:refs/)?(?:remotes/)?(?:origin|upstream)/[^\s:]+(?::\S*)?\Z"
    r"|(?:\S*\.\.\.?)?(?:FETCH_HEAD|ORIG_HEAD|HEAD@\{\d+\}|@\{\d+\}"
    r"|\S*@\{u(?:pstream)?\})(?::\S*)?\Z"
)
# ``HEAD..X``: what X has and HEAD does not.
_AHEAD = re.compile(r"(?:HEAD|@)?\.\.\.?(?!\.|HEAD\b|@\Z|/)[\w./@{}^~-]+\Z")
# With a remote branch, these show or do nothing of its contents.
_NO_CONTENT = frozenset(
    (
        "push", "branch", "merge-base", "rev-parse", "status", "remote", "config", "commit", "tag",
        "describe", "name-rev", "symbolic-ref", "add", "help", "update-ref", "switch",
        "for-each-ref",
    )
)  # fmt: skip
_ASKS = frozenset(("fetch", "pull", "ls-remote"))
_EVERYTHING = frozenset(
    ("--all", "--remotes", "--branches", "--reflog", "-g", "--walk-reflogs", "--tags")
)
_SEARCHING = re.compile(
    r"-p\Z|-u\Z|--patch|-S|-G|-L|--stat|--full-diff|--grep|-i\Z|--diff-filter|--name-(?:only"
    r"|status)|--raw"
    r"|--objects|--cc|-c\Z|--pickaxe|--author|--follow|--\Z"
)
_LISTS = frozenset(
    ("log", "grep", "show", "rev-list", "whatchanged", "shortlog", "diff-tree", "show-branch")
)
_OBJECTS = frozenset(("fsck", "verify-pack", "unpack-objects", "index-pack", "show-index"))
#: Places in ``.git`` that hold other commits.
INTERNALS = re.compile(
    r".*/\.git/(?:objects(?:/.*)?|FETCH_HEAD|ORIG_HEAD|refs/remotes(?:/.*)?|logs(?:/.*)?"
    r"|packed-refs|modules/.*/objects/.*)\Z"
)


_REVISION = re.compile(r"[0-9a-fA-F]{7,40}")


def future(words: Sequence[str], ahead: Collection[str]) -> str | None:
    """What a git command would show of commits beyond the task's starting point.

    :param ahead: such commits that the session has seen, by seven digits.
    """
    rest = _without_options(words)
    verb = rest[0] if rest else ""
    given = list(words[words.index(verb) + 1 :]) if verb in words else []
    if verb in _ASKS or rest[:2] == ["remote", "update"] or rest[:2] == ["remote", "show"]:
        return f"git {verb} asks the remote"
    if verb not in _NO_CONTENT:
        for word in given:
            if not word.endswith(".HEAD") and any(
                one[:7].lower() in ahead for one in _REVISION.findall(word)
            ):
                return f"git {verb} {word}, which only a remote branch has"
            # ``origin/main...HEAD`` shows only what HEAD has
            if _REMOTE.match(word) and not word.endswith(".HEAD"):
                return f"git {verb} {word}"
            if _AHEAD.match(word):
                return f"git {verb} {word} shows what HEAD does not have"
    if verb in _LISTS and _EVERYTHING & set(given) and any(map(_SEARCHING.match, given)):
        return f"git {verb} over all branches, with contents"
    if verb == "rev-list" and _EVERYTHING & set(given) and "--count" not in given:
        return "git rev-list over all branches"
    if any("rev-list" in word and "--all" in word for word in given):
        return f"git {verb} over all commits"
    if verb in _OBJECTS and "--connectivity-only" not in given:
        return f"git {verb} looks for commits that no branch has"
    if verb == "cat-file" and {"--batch-all-objects", "--batch"} & set(given):
        return "git cat-file reads all objects"
    if verb in ("switch", "checkout", "worktree") and any(_REMOTE.match(word) for word in given):
        return f"git {verb} takes a remote branch"
    if verb == "archive" and any(word.startswith("--remote") for word in given):
        return "git archive asks the remote"
    return None


def _without_options(words: Sequence[str]) -> list[str]:
    """The words from git's verb on."""
    rest = list(words[1:])
    while rest and rest[0].startswith("-"):
        option = rest.pop(0)
        if option in ("-C", "-c", "--git-dir", "--work-tree") and rest:
            rest.pop(0)
    return [word for i, word in enumerate(rest) if i == 0 or not word.startswith("-")]
