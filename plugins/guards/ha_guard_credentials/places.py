"""Where secrets lie: files, folders and processes that keep them."""

from __future__ import annotations

import re

from harness_adapters import Ledger
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
    r"|\.subversion/auth/.*"
    # of services' own programs, which keep what they log in with in their settings
    r"|\.(?:netlify|vercel|wrangler|railway|fly|render|supabase|snowsql|twilio-cli|sentry|ngrok2?"
    r"|purple|irssi|mutt|chef|pulumi|influxdbv2|jira\.d|cloudflared|heroku|jupyter|wandb|sonar"
    r"|doctl|linode-cli|ibmcloud|oci|aliyun|tccli|scw|turso|planetscale|neon)/.*"
    r"|\.(?:terraformrc|sentryclirc|msmtprc|fetchmailrc|muttrc|offlineimaprc|wakatime\.cfg|gist"
    r"|smbcredentials|aider\.conf\.yml|m2/settings-security\.xml|travis/config\.yml"
    r"|circleci/cli\.yml|local/share/jupyter/runtime/.*)"
    r"|\.config/(?:ngrok|jira|\.jira|lab|glab-cli|heroku|filezilla|configstore|neomutt|Slack|hcloud"
    r"|tailscale|sops|age|pulumi|netlify|railway|fly|vercel|wandb)/.*"
    r"|Library/(?:Keychains|Application Support/(?:Google/Chrome|Firefox|Code))/.*)\Z",
    re.IGNORECASE,
)
_SYSTEM_FILE = re.compile(
    r"/etc/(?:shadow|gshadow|sudoers(?:\.d/.*)?|ssh/ssh_host_\w+_key|krb5\.keytab)(?:-)?\Z"
    r"|/etc/(?:ssl/private|wireguard|openvpn|letsencrypt/(?:live|archive)|ppp/\w+-secrets"
    r"|NetworkManager/system-connections)(?:/(?!.*(?:cert|chain)\.pem).*)?\Z|/tmp/krb5cc_.*\Z"
    r"|/(?:var/)?run/secrets(?:/.*)?\Z|/etc/kubernetes/.*\Z"
    r"|/etc/wpa_supplicant/.*|/var/lib/(?:tailscale|cloud/instances?|docker/containers)/.*"
    r"|/etc/(?:[^/]+/)*[\w.-]*(?:credentials?|secrets?)(?:[._-][\w.-]*)?\Z"
)
PROCESS = re.compile(
    r"/proc/[^/]*/(?:task/[^/]*/)?(?:environ|mem|auxv)\Z|/dev/k?mem\Z|/proc/kcore\Z"
)
# Folders that hold nothing but such files: to list one is fine, to read all in it is not.
HOME_FOLDER = re.compile(
    r"(?:/root|/home/[^/]+|/Users/[^/]+|~)/\.(?:ssh|aws|gnupg|kube|docker|azure|kaggle"
    r"|password-store"
    r"|config/(?:gh|gcloud|op|rclone)|local/share/keyrings|mozilla"
    r"|config/google-chrome)(?:/\*{1,2})*\Z"
)
# Hold secrets beside much else.
MAY_HOLD = re.compile(
    r"/etc/(?:environment|profile|bash\.bashrc|pip\.conf)\Z"
    r"|(?:/root|/home/[^/]+|/Users/[^/]+|~)/\.(?:bashrc|bash_profile|profile|zshrc|zshenv|zprofile"
    r"|config/.*|local/share/.*|docker/.*|claude/.*|codex/.*|gitconfig|condarc)\Z"
)
_AGENT_SETTINGS = re.compile(
    r"(?:/root|/home/[^/]+|/Users/[^/]+|~)/\.(?:config/(?:opencode|goose|aider|cursor|Cursor)"
    r"|claude|codex|gemini|cursor|hermes|pi|aider|continue)/(?:[^/]+/)?"
    r"(?:settings[\w.]*|config|opencode|models|mcp|providers)\.(?:json[c5]?|toml|ya?ml)\Z"
)
_VARIABLES_FILE = re.compile(r".*/\.env(?:\*|\.(?!example|sample|template|dist)[\w.]+)?\Z")
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


def is_secret(path: str, ledger: Ledger) -> bool:
    if _HOME_FILE.match(path) or _SYSTEM_FILE.match(path):
        return True
    if not path.startswith(ledger.policy.workdir.rstrip("/") + "/"):
        if _KEY_FILE.match(path) or _VARIABLES_FILE.match(path):
            return True
        if ledger.is_task and _AGENT_SETTINGS.match(path):
            return True
    if not is_wild(path):
        return False
    last = path.rpartition("/")[2]
    told = len(last.strip("*?")) > 2 and not re.fullmatch(r"\*{1,2}\.\w+", last)
    if not (told or "/." in path or path.startswith("/etc/")):
        return False
    home = parts(ledger.home)
    asked = parts(path)
    asked = ("~", *asked[len(home) :]) if asked[: len(home)] == home else asked
    asked = ("~", *asked[1:]) if asked[:1] == ("root",) else asked
    return any(overlap(asked, one) for one in _EXAMPLES)
