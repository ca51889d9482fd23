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
from harness_adapters.gateway.guard.paths import is_wild, overlap, parts

_HOME_FILE = re.compile(
    r"(?:/root|/home/[^/]+|/Users/[^/]+|~)/(?:"
    r"\.ssh/(?!known_hosts|config\Z|authorized_keys|[^/]*\.pub\Z)[^/]+"
    r"|\.aws/(?:credentials|sso/.*|cli/cache/.*)|\.netrc|\.git-credentials|\.pypirc|\.npmrc"
    r"|\.docker/config\.json|\.kube/config|\.gnupg(?:/.*)?|\.kaggle/kaggle\.json|\.pgpass|\.my\.cnf"
    r"|\.vault-token|\.cargo/credentials(?:\.toml)?|\.gem/credentials|\.s3cfg|\.boto|\.rhosts"
    r"|\.(?:cache/)?huggingface/(?:token|stored_tokens)"
    r"|\.config/(?:gh/hosts\.yml|gcloud/.*|hub|op/.*|rclone/rclone\.conf|git/credentials)"
    r"|\.config/(?:google-chrome|chromium|BraveSoftware)/.*(?:Login Data|Cookies).*"
    r"|\.terraform\.d/.*"
    r"|\.config/(?:doctl|stripe|github-copilot|anthropic|openai|containers/auth\.json"
    r"|composer)(?:/.*)?"
    r"|\.databrickscfg|\.m2/settings\.xml|\.gradle/gradle\.properties|\.gemini/oauth_creds\.json"
    r"|\.azure/.*|\.claude/\.credentials\.json|\.claude\.json|\.codex/auth\.json"
    r"|\.pi/agent/auth\.json|\.local/share/opencode/auth\.json|\.hermes/(?:\.env|auth\.json)"
    r"|\.password-store(?:/.*)?|\.local/share/keyrings(?:/.*)?|\.mozilla/.*(?:logins|cookies).*"
    r"|\.(?:bundle/config|nuget/nuget/nuget\.config|curlrc|wgetrc|pgpass|dbt/profiles\.yml)"
    r"|\.\w+_history"
    # whatever else is called so, in the folders in which programs keep what they need
    r"|\.(?:[^/]+/)*(?:[\w.-]*[._-])?(?:auth|credentials?|creds|tokens?|secrets?|passwords?|passwd"
    r"|oauth\w*|cookies?|logins?|keyrings?|keystore|apikeys?|api[_-]keys?)(?:[._-][\w.-]*)?"
    r"|\.yarnrc\.yml|\.mozilla/.*(?:key[34]|cert9)\.db|\.config/.*/state\.vscdb"
    r"|\.subversion/auth/.*)\Z",
    re.IGNORECASE,
)
_SYSTEM_FILE = re.compile(
    r"/etc/(?:shadow|gshadow|sudoers(?:\.d/.*)?|ssh/ssh_host_\w+_key|krb5\.keytab)(?:-)?\Z"
    r"|/etc/(?:ssl/private|wireguard|openvpn|letsencrypt/(?:live|archive)|ppp/\w+-secrets"
    r"|NetworkManager/system-connections)(?:/(?!.*(?:cert|chain)\.pem).*)?\Z|/tmp/krb5cc_.*\Z"
    r"|/(?:var/)?run/secrets(?:/.*)?\Z|/etc/kubernetes/.*\Z"
)
_PROCESS = re.compile(
    r"/proc/[^/]*/(?:task/[^/]*/)?(?:environ|mem|auxv)\Z|/dev/k?mem\Z|/proc/kcore\Z"
)
# Folders that hold nothing but such files: to list one is fine, to read all in it is not.
_HOME_FOLDER = re.compile(
    r"(?:/root|/home/[^/]+|/Users/[^/]+|~)/\.(?:ssh|aws|gnupg|kube|docker|azure|kaggle"
    r"|password-store"
    r"|config/(?:gh|gcloud|op|rclone)|local/share/keyrings|mozilla"
    r"|config/google-chrome)(?:/\*{1,2})*\Z"
)
_LISTERS = frozenset(
    ("ls", "stat", "test", "[", "cd", "mkdir", "chmod", "chown", "find", "tree", "du", "ssh-keygen",
     "ssh", "ssh-add", "git", "echo", "true", "file", "touch", "rmdir", "exa", "eza", "docker",
     "aws",
     "kubectl", "gcloud", "gh")
)  # fmt: skip
_GREPS = frozenset(("grep", "egrep", "rg", "ag"))
_LISTING_TOOL = re.compile(r"list|ls\b|glob|tree|dir", re.IGNORECASE)
# Programs that hand out what they keep.
_TELLS_SECRETS = re.compile(
    r"git credential(?:-\w+)? (?:fill|get)|gh auth token|gh auth status .*(?:-t\b|--show-token)"
    r"|glab auth status .*(?:-t\b|--show-token)|glab config get token|hub credential"
    r"|gcloud auth (?:application-default )?print-(?:access|identity|refresh)-token"
    r"|gcloud secrets versions access"
    r"|aws configure (?:get|export-credentials)|aws sts (?:get-session-token|assume-role)"
    r"|aws (?:secretsmanager get-secret-value|ssm get-parameters?(?: .*)?--with-decryption)"
    r"|az account get-access-token|az keyvault secret show|kubectl (?:.* )?get (?:.* )?secrets?\b"
    r"|kubectl config view .*--raw|vault (?:kv get|read|token lookup|print token)|op (?:read"
    r"|item get)"
    r"|pass (?:show|-c)\b|security (?:find-(?:generic|internet)-password|dump-keychain)"
    r"|secret-tool (?:lookup|search)|keyring get\w*|gpg2? .*--export-secret|ssh-keygen .*-y\b"
    r"|npm (?:config get .*(?:_authToken|_password|auth)|token list)|npm config list .*-l"
    r"|pip config (?:get|list|debug)\b.*(?:password|token)|docker-credential-\w+ get"
    r"|docker(?:-compose)? inspect .*Env"
    r"|(?:docker|podman|kubectl) (?:.* )?exec (?:.* )?(?:env|printenv)\Z"
    r"|docker-credential-\w+ list|bw list|yarn config get .*[Aa]uth|pass (?!ls\b|init|git|insert)\w"
    r"|hf auth token|huggingface-cli auth token|heroku auth:token|fly auth token"
    r"|netlify status .*token"
    r"|gcore\b|ps (?:-\w+ )?\w*e\w*ww?\b|ps \w*aux\w*e|systemctl show-environment"
    r"|gcloud config config-helper|doppler secrets|chamber (?:read|export)|sops (?:-d|--decrypt)"
    r"|ansible-vault (?:view|decrypt)"
    r"|git config (?:.* )?(?:--get(?:-all|-regexp)? )?\S*(?:extraheader|\.token|password|oauth)"
    r"|(?:rclone config (?:show|dump|reveal))|bw get|lpass show|chezmoi secret"
    r"|getent (?:g?shadow)|wrangler .*token"
)
# Hold secrets beside much else.
_MAY_HOLD = re.compile(
    r"/etc/(?:environment|profile|bash\.bashrc|pip\.conf)\Z"
    r"|(?:/root|/home/[^/]+|/Users/[^/]+|~)/\.(?:bashrc|bash_profile|profile|zshrc|zshenv|zprofile"
    r"|config/.*|local/share/.*|docker/.*|claude/.*|codex/.*|gitconfig|condarc)\Z"
)
_AGENT_SETTINGS = re.compile(
    r"(?:/root|/home/[^/]+|/Users/[^/]+|~)/\.(?:config/(?:opencode|goose|aider|cursor|Cursor)"
    r"|claude|codex|gemini|cursor|hermes|pi|aider|continue)/(?:[^/]+/)?"
    r"(?:settings[\w.]*|config|opencode|models|mcp|providers)\.(?:json[c5]?|toml|ya?ml)\Z"
)
_VARIABLES_FILE = re.compile(r".*/\.env(?:\.(?!example|sample|template|dist)[\w.]+)?\Z")
_TAKES_ALONG = frozenset(("tar", "bsdtar", "zip", "7z", "rsync", "cp", "scp"))
_LOOKS = re.compile(r"AKIA|ghp_|BEGIN\b.*(?:PRIVATE|RSA|KEY|SSH)|sk-|xox[bp]|hf_")
_EVERYWHERE = re.compile(
    r"(?:~|/root|/home|/home/[^/]+|/etc|\$HOME|/Users/[^/]+)?/?(?:\.config/?|\.local(?:/share)?/?)?"
)
_METADATA = frozenset(
    ("169.254.169.254", "metadata.google.internal", "metadata", "100.100.100.200", "169.254.170.2",
     "fd00:ec2::254", "metadata.azure.com")
)  # fmt: skip
_SECRET_NAME = re.compile(
    r"(?:\A|_)(?:TOKEN|SECRET|PASSWORD|PASSWD|PASSPHRASE|CREDENTIALS?|API_?KEYS?|ACCESS_KEY"
    r"|SECRET_KEY|PRIVATE_KEY|AUTH|PAT)(?:_(?:ID|V?\d+|FILE))?\Z|(?:\A|_)CREDENTIALS_"
)
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
# Keys by their names, wherever they lie.
_KEY_FILE = re.compile(
    r"(?!/(?:usr|etc/ssl|opt|lib|nix)/).*/(?:id_(?:rsa|dsa|ecdsa|ed25519)"
    r"|(?!cacert|ca-?bundle)[^/]*\.(?:pem|key|p12|pfx|kdbx|jks|keystore|ovpn))\Z"
)
# What a path with wildcards is tried against.
_EXAMPLES = tuple(
    parts(one)
    for one in (
        "~/.ssh/id_rsa", "~/.ssh/id_ed25519", "~/.aws/credentials", "~/.netrc", "~/.npmrc",
        "~/.git-credentials", "~/.pypirc", "~/.docker/config.json", "~/.kube/config",
        "~/.config/gh/hosts.yml", "~/.claude/.credentials.json", "~/.codex/auth.json",
        "~/.cache/huggingface/token", "~/.gnupg/secring.gpg", "/etc/shadow",
    )
)  # fmt: skip


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
        for path, span in touched:
            if _PROCESS.match(path):
                findings.append(self._checks.found("process_environment", f"reads {path}", span))
            elif _HOME_FOLDER.match(path) and not _only_lists(call, path):
                findings.append(self._checks.found("secret_file", f"reads all of {path}", span))
            elif _is_secret(path, ledger) and not ledger.is_editable(path):
                findings.append(self._checks.found("secret_file", f"touches {path}", span))
        holds = any(_MAY_HOLD.match(path) for path, _ in touched)
        for code in call.of(Unparsed):
            if found := _IN_CODE.search(code.text):
                findings.append(
                    self._checks.found(
                        "secret_file", f"unreadable code names {found.group()}", code.span
                    )
                )
        for run in call.of(RunCommand):
            words = " ".join(word for word in run.words[:32])[:2048]
            if run.words[0] in _TAKES_ALONG and (whole := _taken_along(run.words)):
                findings.append(
                    self._checks.found("secret_file", f"takes along all of {whole}", run.span)
                )
            if run.words[0] in _GREPS and (
                _hunts(run.words) or (holds and any(map(_SEEKS.search, run.words[1:4])))
            ):
                findings.append(
                    self._checks.found("secret_file", "searches a home for secrets", run.span)
                )
            if _TELLS_SECRETS.match(words.rpartition("/")[2] if run.words[0][:1] == "/" else words):
                findings.append(
                    self._checks.found("secret_program", f"{words[:80]} tells a secret", run.span)
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
        dumps = any(run.words[0] == "compgen" or run.words[:2] == ("git", "config") for run in runs)
        for run in runs:
            if run.words[0] in ("grep", "rg", "egrep", "awk", "sed") and dumps:
                pattern = [word for word in run.words[1:] if word[:1] != "-"]
                if len(pattern) == 1 and _SEEKS.search(pattern[0]):
                    used.append(pattern[0].upper())
            elif run.words[0] == "compgen" and (found := _SEEKS.search(" ".join(run.words[1:]))):
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


def _is_secret(path: str, ledger: Ledger) -> bool:
    if _HOME_FILE.match(path) or _SYSTEM_FILE.match(path):
        return True
    if not path.startswith(ledger.policy.workdir.rstrip("/") + "/"):
        if _KEY_FILE.match(path) or _VARIABLES_FILE.match(path):
            return True
        if ledger.is_task and _AGENT_SETTINGS.match(path):
            return True
    last = path.rpartition("/")[2]
    told = len(last.strip("*?")) > 2 and not re.fullmatch(r"\*{1,2}\.\w+", last)
    if not is_wild(path) or not (told or "/." in path or path.startswith("/etc/")):
        return False
    home = parts(ledger.home)
    asked = parts(path)
    asked = ("~", *asked[len(home) :]) if asked[: len(home)] == home else asked
    asked = ("~", *asked[1:]) if asked[:1] == ("root",) else asked
    return any(overlap(asked, one) for one in _EXAMPLES)


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
    asked = any(_SEEKS.search(word) or _LOOKS.search(word) for word in words[1:])
    return asked and any(_EVERYWHERE.fullmatch(word) for word in words[1:])


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
