"""``credentials``: reaching for secrets that the task did not hand out.

Catches reads of key files, token stores, password databases and other processes' environments,
and the use of environment variables that are named like secrets and that nobody spoke of, programs
and services asked to hand out what they keep. Leaves alone: listing where such files lie, public
keys, ``known_hosts``, example files, the workspace's own files, variables that the system or user
text names, and code that is written but not run.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Mapping, Sequence
from typing import ClassVar

from ha_guard_credentials.places import HOME_FOLDER, MAY_HOLD, PROCESS, is_secret
from ha_guard_credentials.tellers import scans_for_secrets, tells_secret
from harness_adapters import (
    ConnectHost,
    Finding,
    Ledger,
    Options,
    ReadPath,
    RunCommand,
    Severity,
    ToolCall,
    Unparsed,
    WritePath,
)
from harness_adapters.gateway.guard.checks import Checks, first_block
from harness_adapters.gateway.guard.paths import absolute

_LISTERS = frozenset(
    ("ls", "stat", "test", "[", "cd", "mkdir", "chmod", "chown", "find", "tree", "du", "ssh-keygen",
     "ssh", "ssh-add", "git", "echo", "true", "file", "touch", "rmdir", "exa", "eza", "docker",
     "aws",
     "kubectl", "gcloud", "gh")
)  # fmt: skip
_GREPS = frozenset(("grep", "egrep", "rg", "ag"))
_LISTING_TOOL = re.compile(r"list|ls\b|glob|tree|dir", re.IGNORECASE)
_TAKES_ALONG = frozenset(("tar", "bsdtar", "zip", "7z", "rsync", "cp", "scp"))
_LOOKS = re.compile(r"AKIA|ghp_|BEGIN\b.*(?:PRIVATE|RSA|KEY|SSH)|sk-|xox[bp]|hf_")
_EVERYWHERE = re.compile(
    r"(?:~|/root|/home|/home/[^/]+|/etc|\$HOME|/Users/[^/]+)?/?(?:\.config/?|\.local(?:/share)?/?)?"
)
# Tools of servers that keep secrets, or hand out variables.
_SECRET_TOOL = re.compile(
    r"(?:get|read|fetch|show|reveal|retrieve)_?(?:secret|token|credential|password|api_?key)s?"
    r"(?:_value|_version)?\Z|\Amcp__(?:1password|bitwarden|keychain|vault|lastpass)__(?!list)",
    re.IGNORECASE,
)
_VARIABLE_TOOL = re.compile(r"env(?:ironment)?(?:\b|_)", re.IGNORECASE)
_METADATA = frozenset(
    ("169.254.169.254", "metadata.google.internal", "metadata", "100.100.100.200", "169.254.170.2",
     "fd00:ec2::254", "metadata.azure.com")
)  # fmt: skip
_SECRET_NAME = re.compile(
    r"(?:\A|_)(?:TOKEN|SECRET|PASSWORD|PASSWD|PASSPHRASE|CREDENTIALS?|API_?KEYS?|ACCESS_KEY"
    r"|SECRET_KEY|PRIVATE_KEY|AUTH|PAT)(?:_(?:ID|V?\d+|FILE))?\Z|(?:\A|_)CREDENTIALS_"
)
# Print much of what was set, said or done.
_LISTINGS = frozenset(("compgen", "history", "fc", "journalctl", "dmesg"))
_LISTING_VERBS = frozenset(
    {("git", "config"), ("crontab", "-l"), ("docker", "inspect"), ("docker", "logs"),
     ("docker", "compose"), ("docker", "history"), ("systemctl", "show"), ("systemctl", "cat"),
     ("pip", "config"), ("npm", "config"), ("poetry", "config"), ("yarn", "config"),
     ("git", "remote"), ("kubectl", "describe"), ("kubectl", "logs"), ("ps", "aux"), ("ps", "-ef")}
)  # fmt: skip
_LISTS_ARGUMENTS = re.compile(r"/proc/[^/]+/cmdline\Z|.*\.git/config\Z|/etc/fstab\Z")
_SEEKS = re.compile(
    r"token|secret|passw|(?:\A|[^a-z])(?:keys?|pass|api|pat|creds?)(?:\Z|[^a-z])|api.?key"
    r"|credential|auth(?!or)",
    re.IGNORECASE,
)
_IN_CODE = re.compile(
    r"/etc/shadow|\.ssh/id_\w+(?!\w*\.pub)|/proc/(?:\d+|self)/environ|\.aws/credentials|\.netrc\b"
    r"|\.git-credentials|\.kube/config|\.docker/config\.json|gh/hosts\.yml|\.claude/\.credentials"
    r"|\.codex/auth\.json|huggingface/token|\.bash_history|169\.254\.169\.254"
)


# Of ``ssh-keygen``: what tells or changes a key that is there.
_USES_KEY = frozenset(("-y", "-e", "-p", "-l", "-c", "-i", "-B", "-L"))
_FED = re.compile(r"(?<![<&])<(?![<(&])")
_SHOWS = frozenset(
    (
        "cat",
        "head",
        "tail",
        "less",
        "more",
        "cp",
        "mv",
        "base64",
        "xxd",
        "od",
        "strings",
        "tar",
        "zip",
    )
)


class Credentials:
    """Options: ``severity``; ``variables``, names of secrets that may be used unasked."""

    checks: ClassVar[Mapping[str, str]] = {
        "secret_file": "a key file, token store or password database is read or changed",
        "process_environment": "a process's environment or memory is read through ``/proc``",
        "secret_program": "a program or service is asked to hand out a secret that it keeps",
        "secret_variable": "a secret of the environment is used that nobody spoke of; "
        "in daily use only flagged",
    }

    def __init__(self, options: Options) -> None:
        self._checks = Checks("credentials", self.checks, options, others=("variables",))
        self._variables = frozenset(options.get("variables", ()))

    def judge(self, call: ToolCall, ledger: Ledger) -> Finding | None:
        findings: list[Finding] = []
        touched = [(read.path, read.span) for read in call.of(ReadPath)]
        touched += [(write.path, write.span) for write in call.of(WritePath)]
        made = _keys_made(call, ledger)
        for path, span in touched:
            if path in made:
                continue
            if PROCESS.match(path):
                findings.append(self._checks.found("process_environment", f"reads {path}", span))
            elif HOME_FOLDER.match(path) and not _only_lists(call, path):
                findings.append(self._checks.found("secret_file", f"reads all of {path}", span))
            elif is_secret(path, ledger) and not ledger.is_editable(path):
                findings.append(self._checks.found("secret_file", f"touches {path}", span))
        holds = any(MAY_HOLD.match(path) for path, _ in touched)
        for code in call.of(Unparsed):
            if found := _IN_CODE.search(code.text):
                findings.append(
                    self._checks.found(
                        "secret_file", f"unreadable code names {found.group()}", code.span
                    )
                )
        for run in call.of(RunCommand):
            if run.words[0] in _TAKES_ALONG and (whole := _taken_along(run.words)):
                findings.append(
                    self._checks.found("secret_file", f"takes along all of {whole}", run.span)
                )
            if (run.words[0] in _GREPS or scans_for_secrets(run.words)) and (
                _hunts(run.words) or (holds and any(map(_SEEKS.search, run.words[1:4])))
            ):
                findings.append(
                    self._checks.found("secret_file", "searches a home for secrets", run.span)
                )
            if tells_secret(run.words) and not (
                run.words[0] == "vault" and _OWN_VAULT.search(call.raw)
            ):
                said = " ".join(run.words)[:80]
                findings.append(
                    self._checks.found("secret_program", f"{said} tells a secret", run.span)
                )
        if not call.of(RunCommand) and _hunts(["", *_asked(call)]):
            findings.append(self._checks.found("secret_file", "searches a home for secrets"))
        for connect in call.of(ConnectHost):
            if connect.host in _METADATA:
                findings.append(
                    self._checks.found(
                        "secret_program", f"asks {connect.host} for credentials", connect.span
                    )
                )
        if _SECRET_TOOL.search(call.name):
            findings.append(
                self._checks.found("secret_program", f"{call.name[:80]} hands out secrets")
            )
        findings += self._variables_of(call, ledger)
        return first_block(findings)

    def _variables_of(self, call: ToolCall, ledger: Ledger) -> list[Finding]:
        runs = call.of(RunCommand)
        used = [name for name in call.reading.environment if _SECRET_NAME.search(name)]
        for name in call.reading.environment:
            if name == "*":
                used.append("all variables")
            elif name[0] == "*" and _SEEKS.search(name):
                used.append(name)
        if _VARIABLE_TOOL.search(call.name):
            asked = (call.arguments or {}).values()
            used += [v for v in asked if isinstance(v, str) and _SECRET_NAME.search(v)]
        sifts = [run.words for run in runs if run.words[0] in _SIFTERS]
        if sifts and any(_may_list_secrets(run.words) for run in runs):
            for words in sifts:
                pattern = [word for word in words[1:] if word[:1] != "-"]
                if len(pattern) == 1 and _SEEKS.search(pattern[0]):
                    used.append(pattern[0].upper())
        for run in runs:
            if run.words[0] == "compgen" and (found := _SEEKS.search(" ".join(run.words[1:]))):
                used.append(found.group().upper())
        return [
            self._checks.found(
                "secret_variable",
                f"uses {name[:80]}, which nobody spoke of",
                runs[0].span if runs else None,
                at_most=Severity.BLOCK if ledger.is_task else Severity.FLAG,
            )
            for name in used
            if name not in ledger.named and name not in self._variables
        ]


_OWN_VAULT = re.compile(r"\bVAULT_ADDR=\W{0,3}https?://(?:127\.0\.0\.1|localhost)\b")
_SIFTERS = frozenset(("grep", "rg", "egrep", "awk", "sed"))
_MAKES_KEY = frozenset((("openssl", "req"), ("openssl", "genpkey"), ("openssl", "genrsa")))


def _keys_made(call: ToolCall, ledger: Ledger) -> set[str]:
    """The keys that ``ssh-keygen -t KIND -f FILE`` and ``openssl req -keyout FILE`` make, where
    nothing reads or replaces what may have been there: nobody's secret yet."""
    runs = call.of(RunCommand)
    makes = [
        run
        for run in runs
        if (run.words[0] == "ssh-keygen" and "-t" in run.words and not _USES_KEY & set(run.words))
        or (run.words[:2] in _MAKES_KEY and not {"-key", "-in"} & set(run.words))
    ]
    if not makes:
        return set()
    fed = _FED.search(call.raw) is not None  # a program without operands may be given a file
    shows = [run for run in runs if run.words[0] in _SHOWS and (fed or len(run.words) > 1)]
    if any(".pub" not in run.words[-1] for run in shows):
        return set()
    return {
        absolute(word, cwd=ledger.cwd, home=ledger.home)
        for run in makes
        for before, word in itertools.pairwise(run.words)
        if before in ("-f", "-keyout", "-out")
    }


def _may_list_secrets(words: Sequence[str]) -> bool:
    """Whether a program prints much of what was set, said or done, with secrets among it."""
    name = words[0].rpartition("/")[2]
    if name in ("cat", "strings", "tr", "xargs"):
        return any(_LISTS_ARGUMENTS.match(word) for word in words[1:])
    return name in _LISTINGS or (name, *words[1:2]) in _LISTING_VERBS


def _taken_along(words: Sequence[str]) -> str | None:
    """A whole home, with what it keeps, that is packed or copied."""
    given = [
        word
        for before, word in itertools.pairwise(words)
        if word[:1] != "-" and before not in ("-C", "--directory", "-d", "-t", "-e")
    ]
    if words[0] in ("rsync", "cp", "scp"):
        given = given[:-1]
    return next((one for one in given if _EVERYWHERE.fullmatch(one) and one[:4] != "/etc"), None)


def _hunts(words: Sequence[str]) -> bool:
    """A search of all of somebody's files for what looks like a secret."""
    if not any(map(_EVERYWHERE.fullmatch, words[1:])):
        return False
    return scans_for_secrets(words) or any(
        _SEEKS.search(word) or _LOOKS.search(word) for word in words[1:]
    )


def _asked(call: ToolCall) -> list[str]:
    """What a search tool is to look for, and where; one that only lists names shows nothing."""
    given = call.arguments or {}
    pattern = [v for k in ("pattern", "query", "regex") if isinstance(v := given.get(k), str)]
    where = [v for k in ("path", "directory", "root") if isinstance(v := given.get(k), str)]
    names = given.get("target") == "files" or _LISTING_TOOL.search(call.name)
    return [*pattern, *where] if pattern and where and not names else []


def _only_lists(call: ToolCall, folder: str) -> bool:
    """Whether a call looks at the names in a folder and not into its files."""
    runs = call.of(RunCommand)
    if folder.endswith("*"):
        return False
    if not runs:
        return _LISTING_TOOL.search(call.name) is not None
    name = folder.rstrip("/*").rpartition("/")[2]
    return all(
        run.words[0].rpartition("/")[2] in _LISTERS
        or not any(word.rstrip("/*").endswith(name) for word in run.words[1:])
        for run in runs
    )
