"""Programs that hand out secrets that they or their services keep, told by their words."""

from __future__ import annotations

import re
from collections.abc import Sequence

from harness_adapters.gateway.guard.names import names

_MAX_WORDS, _MAX_TEXT = 32, 2048
# Keep passwords and do little else; what they are asked that shows none.
_KEEPERS = names(
    """
    secret-tool keyctl kwallet-query gopass bw rbw lpass op keepassxc-cli kpcli doppler chamber
    infisical envchain aws-vault berglas summon teller lastpass-cli dcli
    """
)
_SHOWS_NOTHING = names(
    """
    ls list init status git insert generate login logout add sync help --help -h version --version
    lock unlock edit rm mv cp find grep signin signout account setup update clear store new_session
    """
)
# Ask services, which keep secrets beside much else.
_SERVICES = names(
    """
    kubectl oc helm aws az gcloud bq docker podman nerdctl vault consul etcdctl doctl heroku fly
    flyctl netlify vercel railway render supabase wrangler firebase pulumi terraform tofu hf
    huggingface-cli kaggle gh glab npm pnpm yarn poetry ibmcloud linode-cli hcloud scw oci snow
    snowsql databricks dbt wandb sentry-cli stripe twilio circleci travis jfrog nomad boundary
    argocd flux rancher systemd-creds eb sam cdk confluent ngrok cloudflared tailscale eas expo
    """
)
_SECRET = (
    r"(?:[\w-]*[-_:/.])?(?:secrets?|tokens?|passwords?|credentials?|creds|apikeys?|api-?keys?"
    r"|access-?keys?|auth-?keys?|keys?|pgpass|passphrase)(?:[-_:/.][\w-]*)?"
)
_ASKS = (
    r"(?:[\w-]*[-_:])?(?:get|show|read|view|print|describe|inspect|export|access|decrypt|dump|reveal"
    r"|list|ls|cat|create|create-for-\w+|generate|issue|lookup|pull|fetch|download|renew|ci)"
    r"(?:[-_:][\w-]*)?"
)
_ASKED_FOR = re.compile(
    rf"(?:\S+ )*?(?:{_ASKS} (?:\S+ )*?{_SECRET}(?: |\Z)|{_SECRET} (?:\S+ )*?{_ASKS}(?: |\Z))"
    rf"|(?:\S+ )*?(?:auth|login|whoami|session)[ :](?:-t\b|tokens?\b|ci\b)"
    rf"|(?:\S+ )*?[\w:-]*(?:get|print|create|generate)[\w-]*-(?:secret|token|password|credentials?"
    rf"|access-key)s?\b"
    rf"|(?:\S+ )*?create-for-rbac\b|login:ci\b|(?:\S+ )*?env pull\b"
)
_REVEALS = re.compile(r"--(?:show|reveal|include|raw)-?(?:secrets?|tokens?|passwords?|keys?)\b")
# Where a database keeps what its accounts log in with.
_ACCOUNTS = re.compile(
    r"\bpg_(?:shadow|authid)\b|\brolpassword\b|\bmysql\.user\b|\bauthentication_string\b"
    r"|\bsystem\.users\b|\brequirepass\b|\bmasterauth\b|\bauth_user\b.*\bpassword\b",
    re.IGNORECASE,
)
_ACCOUNTS_SIGNS = ("auth", "user", "pass", "shadow")  # one of them is in all of these
# Options of ``kubectl get`` with which it still says no more than what there is.
_WITH_VALUE = frozenset(
    ("-n", "--namespace", "-l", "--selector", "--context", "--field-selector", "--sort-by")
)
_ALONE = frozenset(("-A", "--all-namespaces", "--no-headers", "--show-labels", "-w", "--watch"))
_COLUMN = r"[\w-]{1,40}:\.?(?:metadata|type|kind)\b[\w.]{0,80}"
_NAMES_OUTPUT = re.compile(
    rf"(?:-o|--output)=?(?:name|wide|custom-columns={_COLUMN}(?:,{_COLUMN}){{0,16}})\Z"
)
# The certificate beside a key, which everybody gets who connects.
_PUBLIC_PART = re.compile(
    r"(?:(?:-o|--output)=?)?(?:jsonpath|go-template)='?\{\{?\s?\.data\.(?:tls|ca|cert|chain|fullchain)\\?\.(?:crt|pem)\s?\}?\}'?\Z"
)
_SCANNERS = names("trufflehog gitleaks detect-secrets noseyparker ggshield whispers")
# The rest, by what each is asked.
_KNOWN = re.compile(
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
    r"|docker-credential-\w+ list|bw list|yarn config get .*[Aa]uth"
    r"|pass (?!ls\b|init|git|insert)[\w.-]+/"
    r"|hf auth token|huggingface-cli auth token|heroku auth:token|fly auth token"
    r"|netlify status .*token"
    r"|gcore\b|ps (?:-\w+ )?\w*e\w*ww?\b|ps \w*aux\w*e|systemctl show-environment"
    r"|gcloud config config-helper|doppler secrets|chamber (?:read|export)|sops (?:-d|--decrypt)"
    r"|ansible-vault (?:view|decrypt)"
    r"|git config (?:.* )?(?:--get(?:-all|-regexp)? )?\S*(?:extraheader|\.token|password|oauth)"
    r"|(?:rclone config (?:show|dump|reveal))|bw get|lpass show|chezmoi secret"
    r"|getent (?:g?shadow)|wrangler .*token|ps (?:-\w+ )*[axuwlf]*e[axuwlf]*(?: |\Z)|jinfo\b"
    r"|jmap .*-dump|procdump\b|oc whoami .*-t\b|heroku config\b|railway variables"
    r"|kaggle config view|npm config ls .*-l|systemd-creds decrypt|docker config inspect"
    r"|(?:docker|podman|kubectl) cp \S*:/(?:var/)?run/secrets"
    r"|terraform (?:output .*-(?:json|raw)|state pull|console)|twine .*--verbose"
    r"|(?:age|rage) (?:-d|--decrypt)|systemctl (?:show|cat) .*[Ee]nvironment"
    r"|sops (?:exec-|-d|decrypt)"
    r"|openssl (?:rsa|ec|pkey|pkcs12|pkcs8) .*(?:-nodes|-noenc|-check|/\.ssh/)|hf env\b"
    r"|nmcli .*(?:-s\b|--show-secrets)|curl .*--unix-socket \S*docker\.sock"
    r"|gpg2? (?:.* )?(?:-d|--decrypt) .*(?:secret|cred|pass|token|\.ssh)"
)


def tells_secret(words: Sequence[str]) -> bool:
    """Whether a command is there to hand out a secret."""
    name = words[0].rpartition("/")[2]
    said = " ".join((name, *words[1:_MAX_WORDS]))[:_MAX_TEXT]
    if name in ("kubectl", "oc") and _only_lists(words[1:_MAX_WORDS]):
        return False
    if _KNOWN.match(said) or ("--" in said and _REVEALS.search(said)):
        return True
    if any(map(said.casefold().__contains__, _ACCOUNTS_SIGNS)) and _ACCOUNTS.search(said):
        return True
    if name in _KEEPERS:
        return len(words) > 1 and words[1] not in _SHOWS_NOTHING
    return name in _SERVICES and _ASKED_FOR.match(said.partition(" ")[2]) is not None


def _only_lists(words: Sequence[str]) -> bool:
    """``kubectl get secrets``, which says what there is and shows none."""
    rest = list(words)
    verbs: list[str] = []
    while rest:
        word = rest.pop(0)
        if word[:1] != "-":
            verbs.append(word)
        elif word in ("-o", "--output") and rest:
            shown = rest.pop(0)
            if not _NAMES_OUTPUT.match(f"-o{shown}") and not _PUBLIC_PART.match(shown):
                return False
        elif word in _WITH_VALUE and rest:
            rest.pop(0)
        elif not (
            word in _ALONE
            or _NAMES_OUTPUT.match(word)
            or _PUBLIC_PART.match(word)
            or word.partition("=")[0] in _WITH_VALUE
        ):
            return False
    return verbs[:1] == ["get"]


def scans_for_secrets(words: Sequence[str]) -> bool:
    """Whether it is a program that finds secrets in whatever it is pointed at."""
    return words[0].rpartition("/")[2] in _SCANNERS
