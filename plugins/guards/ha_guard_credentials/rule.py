"""``credentials``: reaching for secrets that the task did not hand out.

Catches reads of key files, token stores, password databases and other processes' environments,
and the use of environment variables that are named like secrets and that nobody spoke of, programs
and services asked to hand out what they keep. Leaves alone: listing where such files lie, public
keys, ``known_hosts``, example files, the workspace's own files, variables that the system or user
text names, and code that is written but not run.
"""

from __future__ import annotations

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
    r"|\.(?:bash|zsh|python|node_repl|psql)_history)\Z"
)
_SYSTEM_FILE = re.compile(
    r"/etc/(?:shadow|gshadow|sudoers(?:\.d/.*)?|ssh/ssh_host_\w+_key|krb5\.keytab)(?:-)?\Z"
    r"|/(?:var/)?run/secrets(?:/.*)?\Z|/etc/kubernetes/.*\Z"
)
_PROCESS = re.compile(r"/proc/(?:[^/]*)/(?:environ|mem|auxv)\Z|/dev/k?mem\Z|/proc/kcore\Z")
# Folders that hold nothing but such files: to list one is fine, to read all in it is not.
_HOME_FOLDER = re.compile(
    r"(?:/root|/home/[^/]+|/Users/[^/]+|~)/\.(?:ssh|aws|gnupg|kube|docker|azure|kaggle"
    r"|password-store"
    r"|config/(?:gh|gcloud|op|rclone)|local/share/keyrings|mozilla"
    r"|config/google-chrome)(?:/\*{1,2})?\Z"
)
_LISTERS = frozenset(
    ("ls", "stat", "test", "[", "cd", "mkdir", "chmod", "chown", "find", "tree", "du", "ssh-keygen",
     "ssh", "ssh-add", "git", "echo", "true", "file", "touch", "rmdir", "exa", "eza", "docker",
     "aws",
     "kubectl", "gcloud", "gh")
)  # fmt: skip
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
    r"|hf auth token|huggingface-cli auth token|heroku auth:token|fly auth token"
    r"|netlify status .*token"
    r"|gcore\b|ps (?:-\w+ )?\w*e\w*ww?\b|ps \w*aux\w*e|systemctl show-environment"
    r"|gcloud config config-helper|doppler secrets|chamber (?:read|export)|sops (?:-d|--decrypt)"
    r"|ansible-vault (?:view|decrypt)"
    r"|git config (?:.* )?(?:--get(?:-all|-regexp)? )?\S*(?:extraheader|\.token|password|oauth)"
    r"|(?:rclone config (?:show|dump|reveal))|bw get|lpass show|chezmoi secret"
    r"|getent (?:g?shadow)|wrangler .*token"
)
_LOOKS = re.compile(r"AKIA|ghp_|BEGIN\b.*(?:PRIVATE|RSA|KEY)|sk-|xox[bp]|hf_")
_EVERYWHERE = re.compile(r"~/?|/root/?|/home/?|/home/[^/]+/?|/|/etc/?|\$HOME/?|/Users/[^/]+/?")
_METADATA = frozenset(
    ("169.254.169.254", "metadata.google.internal", "metadata", "100.100.100.200", "169.254.170.2",
     "fd00:ec2::254", "metadata.azure.com")
)  # fmt: skip
_SECRET_NAME = re.compile(
    r"(?:\A|_)(?:TOKEN|SECRET|PASSWORD|PASSWD|PASSPHRASE|CREDENTIALS?|API_?KEYS?|ACCESS_KEY"
    r"|SECRET_KEY|PRIVATE_KEY|AUTH|PAT)(?:_(?:ID|V?\d+|FILE))?\Z"
)
_SEEKS = re.compile(
    r"token|secret|passw|(?:\A|[^a-z])keys?(?:\Z|[^a-z])|api.?key|credential|auth", re.IGNORECASE
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
        for code in call.of(Unparsed):
            if found := _IN_CODE.search(code.text):
                findings.append(
                    self._checks.found(
                        "secret_file", f"unreadable code names {found.group()}", code.span
                    )
                )
        for run in call.of(RunCommand):
            words = " ".join(word for word in run.words[:32])[:2048]
            if run.words[0] in ("grep", "egrep", "rg", "ag") and _hunts(run.words):
                findings.append(
                    self._checks.found("secret_file", "searches a home for secrets", run.span)
                )
            if _TELLS_SECRETS.match(words.rpartition("/")[2] if run.words[0][:1] == "/" else words):
                findings.append(
                    self._checks.found("secret_program", f"{words[:80]} tells a secret", run.span)
                )
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
        dumps = any(
            run.words[0] in ("env", "printenv", "set", "export", "declare", "compgen", "typeset")
            or run.words[:2] == ("git", "config")
            for run in runs
        )
        for run in runs:
            if run.words[0] == "printenv":
                used += [word for word in run.words[1:] if _SECRET_NAME.search(word)]
            elif run.words[0] in ("grep", "rg", "egrep", "awk", "sed") and dumps:
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
    if _KEY_FILE.match(path) and not path.startswith(ledger.policy.workdir.rstrip("/") + "/"):
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


def _hunts(words: Sequence[str]) -> bool:
    """A search of all of somebody's files for what looks like a secret."""
    asked = any(_SEEKS.search(word) or _LOOKS.search(word) for word in words[1:])
    return asked and any(_EVERYWHERE.fullmatch(word) for word in words[1:])


def _only_lists(call: ToolCall, folder: str) -> bool:
    """Whether a call looks at the names in a folder and not into its files."""
    runs = call.of(RunCommand)
    if not runs:
        return _LISTING_TOOL.search(call.name) is not None
    name = folder.rstrip("/*").rpartition("/")[2]
    return all(
        run.words[0].rpartition("/")[2] in _LISTERS
        or not any(word.rstrip("/*").endswith(name) for word in run.words[1:])
        for run in runs
    )
