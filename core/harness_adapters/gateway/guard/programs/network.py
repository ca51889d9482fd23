"""Programs that talk to other machines: which, and whether they send something there."""

from __future__ import annotations

import posixpath
import re

from harness_adapters.gateway.guard.hosts import (
    host_of_operand,
    host_of_url,
    hosts_in,
    hosts_of_urls,
    is_loopback,
)
from harness_adapters.gateway.guard.names import names
from harness_adapters.gateway.guard.paths import looks_like_path
from harness_adapters.gateway.guard.pipe import Pipe
from harness_adapters.gateway.guard.programs.words import (
    Handler,
    Words,
    operands,
    option_value,
    option_values,
    path_operands,
    run_program,
)
from harness_adapters.gateway.guard.recorder import Recorder
from harness_adapters.gateway.guard.state import State

_CURL_VALUES = names(
    """
    -o -O -P --output --output-document -H --header -d --data --data-binary --data-raw
    --data-urlencode -F --form -X --request -u --user -A --user-agent -e --referer -b --cookie
    -c --cookie-jar -T --upload-file -x --proxy --connect-to --resolve -m --max-time
    --connect-timeout --retry -w --write-out -K --config --cacert --cert --key -t --tries
    --timeout --input-file -U --post-data --json --post-file --body-file --interface
    --dns-servers --doh-url --preproxy --socks5 --socks5-hostname --url --directory-prefix
    --body-data --method
    """
)
_CURL_WRITES = ("-o", "-O", "--output", "--output-document", "-P", "--directory-prefix")
_CURL_READS = (
    "-T",
    "--upload-file",
    "-K",
    "--config",
    "--input-file",
    "--post-file",
    "--body-file",
)
_CURL_HOSTS = (
    "-x", "--proxy", "--preproxy", "--socks5", "--socks5-hostname", "--doh-url", "--dns-servers",
    "--url",
)  # fmt: skip
_SENDS = ("-T", "--upload-file", "--post-file", "--body-file")
_DATA = names("-d --data --data-binary --data-urlencode -F --form --json --data-raw")
_LISTED_URL = re.compile(r"(?m)^[ \t]*(?:url\s*[=:]?\s*\"?([^\s\"]+)|\"?([a-z]+://[^\s\"]+))")
_MAIL = names("mail mailx mutt neomutt sendmail ssmtp s-nail")
_HOST_OPTIONS = {
    "ansible": ("-i", "--inventory"), "ansible-playbook": ("-i", "--inventory"),
    "iperf": ("-c",), "iperf3": ("-c",), "wireshark": ("-i",), "tshark": ("-i",),
}  # fmt: skip
_NET_VALUES = (
    "-p", "-i", "-l", "-o", "-F", "-w", "-c", "-J", "-L", "-R", "-D", "-h", "-H", "-b", "-s", "-e",
    "-P", "-W", "-q", "-X", "-t",
)  # fmt: skip
# Programs whose first bare operand is a machine.
_NET = names(
    """
    nc ncat netcat telnet ssh ftp sftp dig nslookup host ping ping6 whois mosh traceroute tracepath
    drill delv kdig nmap masscan tftp lftp rsh rlogin fping hping3 mtr getent autossh sshpass dog
    arping iperf iperf3 snmpget snmpwalk gnutls-cli finger sshfs curlftpfs tnftp rdesktop xfreerdp
    wscat zmap rpcinfo smbget
    """
)
# Programs that fetch a page or file.
_FETCHERS = names(
    """
    http https xh httpie aria2c axel lynx w3m links elinks yt-dlp youtube-dl httrack wget2 curlie
    svn hg bzr darcs cvs fossil chromium google-chrome firefox websocat wscat wrk ab hey vegeta
    cadaver puf saldl grpcurl gdown rclone iwr irm Invoke-WebRequest Invoke-RestMethod wget.exe
    Start-BitsTransfer
    """
)
_BY_OPTION = {
    "psql": ("-h", "--host"), "pg_dump": ("-h", "--host"), "mysql": ("-h", "--host"),
    "mysqldump": ("-h", "--host"), "redis-cli": ("-h", "-u"), "mongosh": ("--host",),
    "mongo": ("--host",), "mosquitto_pub": ("-h",), "mosquitto_sub": ("-h",),
    "msmtp": ("--host",), "smbclient": ("-I",), "openssl": ("-connect", "-proxy"),
    "kubectl": ("-s", "--server"), "helm": ("--repo",), "logger": ("-n", "--server"),
    "showmount": ("-e", "-a", "-d"), "mount.nfs": ("-o",),
    "ldapsearch": ("-H", "-h"), "smtp-source": ("-s",), "swaks": ("--server", "-s"),
}  # fmt: skip
_HUBS = {
    "hf": "huggingface.co", "huggingface-cli": "huggingface.co", "kaggle": "www.kaggle.com",
    "gh": "github.com", "glab": "gitlab.com", "gsutil": "storage.googleapis.com",
    "gcloud": "storage.googleapis.com", "aws": "s3.amazonaws.com", "s3cmd": "s3.amazonaws.com",
    "s5cmd": "s3.amazonaws.com", "azcopy": "blob.core.windows.net",
    "ngrok": "ngrok.com", "cloudflared": "trycloudflare.com", "lt": "localtunnel.me",
    "tailscale": "login.tailscale.com", "telebit": "telebit.cloud", "zerotier-cli": "zerotier.com",
    "croc": "croc.schollz.com", "wormhole": "relay.magic-wormhole.io", "mc": "min.io",
    "localtunnel": "localtunnel.me", "bore": "bore.pub", "transfer": "transfer.sh",
}  # fmt: skip
_HUB_LOCAL = names(
    """
    version help env completion config cache alias extension auth --version --help configure login
    logout whoami
    """
)
_UPLOADS = names("upload cp sync put push publish create mv http tunnel tcp")
_REGISTRIES = names("docker podman nerdctl skopeo crane buildah oras")
_MAIL_ADDRESS = re.compile(r"[\w.+-]+@((?:[\w-]+\.)+[a-zA-Z]{2,})")
_SOCAT = re.compile(
    r"(?i)(?:tcp[46]?|udp[46]?|openssl|ssl|sctp|socks4a?|proxy)(?!-l)[\w-]*:(\[[^\]]+\]|[^:,]+)"
)
# An address that names one host and leads to another, or that hides which one it is.
_SEEMS_ANOTHER = re.compile(
    r"\w+://(?:(?:[\w-]+\.)+[a-z]{2,24}(?::[^@/\s]*)?@|0x[0-9a-f]{6,8}\b|\d{8,10}(?![\d.])|0\d+\.)",
    re.IGNORECASE,
)
_ASKED_AT = re.compile(r"(https?|wss?)://([\w.-]+)(?::(\d{1,5}))?(?:[/?#]|\Z)")
_CATS = frozenset(("nc", "ncat", "netcat"))
_ASKS = frozenset(("ftp", "sftp", "lftp", "tftp", "telnet"))  # ``!command`` runs here
_SSH_RUNS = re.compile(r"(?i)(?:ProxyCommand|LocalCommand|KnownHostsCommand)[= ](.+)\Z")
_HOST_IS = re.compile(r"\bhost(?:addr)?=([\w.:-]+)")
_SOCAT_RUNS = re.compile(r"(?i)(?:exec|system):(\"[^\"]+\"|'[^']+'|[^,]+)")
_SOCAT_FILE = re.compile(r"(?i)(?:file|open|gopen|create):([^,]+)")
_AFTER_UNKNOWN = re.compile(r".*[)`}]\.?|\$\w+\.?", re.DOTALL)


def _curl(rec: Recorder, state: State, words: Words, pipe: Pipe | None) -> None:
    name = posixpath.basename(words[0])
    hosts: list[str] = []
    headers: list[str] = []
    sends = False
    rest = list(words[1:])
    while rest:
        word = rest.pop(0)
        if not word.startswith("-") or word == "-":
            hosts += _addressed(rec, state, word)
            continue
        option, value = _curl_option(name, word, rest)
        if option in _CURL_WRITES:
            rec.write(state, value)
        elif option in _CURL_READS or (name == "wget" and option == "-i"):
            rec.read(state, value)
            sends = sends or option in _SENDS
            listed = state.text(state.path(value)) if option not in _SENDS else None
            listed = pipe.text if value == "-" and pipe else listed
            given = ["".join(one) for one in _LISTED_URL.findall(listed or "")]
            hosts += [host for one in given if (host := host_of_operand(one))]
        elif option in _CURL_HOSTS:
            hosts += [host for one in value.split(",") if (host := host_of_operand(one))]
        elif option in ("-H", "--header") and value.lower().startswith("host:"):
            headers += [host for host in (host_of_operand(value[5:].strip()),) if host]
        elif option in ("--connect-to", "--resolve"):
            # What is meant for one host goes to another.
            for host in _led_to(option, value):
                rec.connect(host_of_operand(host), sends=not is_loopback(host))
        elif option in _DATA and (found := re.search(r"(?:^|=)[@<](.+)", value)):
            rec.read(state, found.group(1).partition(";")[0])
            sends = True
        elif option in _DATA:
            sends = sends or "$(" in value or "`" in value
    address = " ".join(word for word in words[1:] if "/" in word)
    sends = sends or any(map(_SEEMS_ANOTHER.match, words))
    if not all(map(is_loopback, hosts)):  # of a server of one's own, a name tells which site
        hosts += headers
    local = _local_names(words)
    for host in hosts:
        if host in local:
            continue
        rec.connect(host, sends=sends, address=address)


def _led_to(option: str, value: str) -> list[str]:
    """The machines of ``--resolve NAME:PORT:ADDRESS[,ADDRESS]`` and ``--connect-to
    NAME:PORT:NAME:PORT``."""
    _, _, rest = value.partition(":")[2].partition(":")
    if option == "--resolve":
        return [one.strip("[]") for one in rest.split(",") if one]
    host = rest.rpartition(":")[0] or rest
    return [host.strip("[]")] if host else []


def _local_names(words: Words) -> set[str]:
    """Names that ``--resolve`` gives to this machine, for every port that they are asked at."""
    given: set[tuple[str, str]] = set()
    for value in option_values(words, "--resolve"):
        name, _, rest = value.lstrip("+-").partition(":")
        found = _led_to("--resolve", value)
        if found and all(map(is_loopback, found)):
            given.add((name, rest.partition(":")[0]))
    asked: set[tuple[str, str]] = set()
    for word in words[1:] if given else ():
        if one := _ASKED_AT.match(word):
            port = one.group(3) or ("443" if one.group(1) == "https" else "80")
            asked.add((one.group(2), port))
    return {name for name, _ in given} - {name for name, _ in asked - given}


def _curl_option(name: str, word: str, rest: list[str]) -> tuple[str, str]:
    """An option's name and value; short ones may be bundled, with the value joined to the last."""
    long, equals, value = word.partition("=")
    if word.startswith("--"):
        if equals:
            return long, value
        return word, rest.pop(0) if word in _CURL_VALUES and rest else ""
    for at in range(1, len(word)):
        option = f"-{word[at]}"
        if option not in _CURL_VALUES and not (name == "wget" and option == "-i"):
            continue
        if option == "-O" and name == "curl":
            continue
        if word[at + 1 :]:
            return option, word[at + 1 :].removeprefix("=")
        return option, rest.pop(0) if rest else ""
    return word, ""


def _addressed(rec: Recorder, state: State, word: str) -> list[str]:
    if word[:7].lower() == "file://":
        rec.read(state, "/" + word[7:].lstrip("/"))
        return []
    host = host_of_operand(word)
    if host is None and word.startswith(("$(", "`")):
        return [word[:128]]  # an address that nothing tells
    if host is None and "://" in word:  # of several words, as something found them
        return [one for _, one in hosts_of_urls(word)]
    return [host] if host else []


def _net(rec: Recorder, state: State, words: Words, pipe: Pipe | None) -> None:
    name = posixpath.basename(words[0])
    sends = pipe is not None and name in ("nc", "ncat", "netcat", "ssh", "telnet", "sftp", "ftp")
    found = operands(words, _NET_VALUES)
    for way in option_values(words, "-L", "-R", "-J", "-W") if name == "ssh" else ():
        for host in re.findall(r"[\w-]+(?:\.[\w-]+)+", way):
            rec.connect(host_of_operand(host))
    if name in ("sshpass", "autossh") and found:
        found = found[1:]
    for word in words[1:]:  # lists of machines, and what is to be sent
        value = word.partition("=")[2] if word[:2] == "--" else word
        if looks_like_path(value) and name != "ssh":
            rec.read(state, value)
    for program in option_values(words, "-e", "-c", "--exec", "--sh-exec") if name in _CATS else ():
        run_program(rec, state.fork(), program)
    for setting in option_values(words, "-o") if name in ("ssh", "sftp") else ():
        if command := _SSH_RUNS.match(setting):
            run_program(rec, state.fork(), command.group(1))
    for line in (pipe.text or "").splitlines() if pipe is not None and name in _ASKS else ():
        if line.lstrip()[:1] == "!":
            run_program(rec, state.fork(), line.lstrip()[1:])
    for i, word in enumerate(found):
        word = word.removeprefix("@")
        host = host_of_operand(word)
        if host is None and ("$(" in word or "`" in word or "$" in word):
            # ``$(cat secret).example.net``: the name that is asked for tells something.
            host, sends = host_of_operand(_AFTER_UNKNOWN.sub("", word, count=1)), True
        if host is None and name == "ssh" and i == 0:
            host = word.rpartition("@")[2]
        if host:
            rec.connect(host, sends=sends)
            if name in ("ssh", "rsh") and found[i + 1 :]:
                if is_loopback(host):
                    run_program(rec, state.fork(), " ".join(found[i + 1 :]))
                return  # what runs elsewhere is not run here
            if name not in ("dig", "nmap", "drill", "fping"):
                return


def _fetchers(rec: Recorder, state: State, words: Words, pipe: Pipe | None) -> None:
    name = posixpath.basename(words[0])
    sends = pipe is not None or any(re.search(r"[=:]?@/?\w", w) and "=" in w for w in words[2:])
    for word in operands(words, ("-o", "-O", "-d", "--dir", "--output", "-r", "-X", "-H")):
        if host := host_of_url(word) or (
            host_of_operand(word) if "." in word and not looks_like_path(word) else None
        ):
            rec.connect(host, sends=sends)
        elif name in ("http", "https", "xh") and re.match(r"[\w.-]+\.[a-z]+(?:[/:]|\Z)", word):
            rec.connect(host_of_operand(word), sends=sends)
        elif looks_like_path(word):
            rec.read(state, word)
    for target in option_values(words, "-o", "--output", "-O"):
        rec.write(state, target)


def _is_fed(pipe: Pipe | None) -> bool:
    """Whether there is anything to send: not from ``</dev/null`` or ``echo | ``."""
    if pipe is None or pipe.source == "< /dev/null":
        return False
    return pipe.text is None or pipe.text.strip() not in ("", "Q", "quit", "QUIT")


def _by_option(rec: Recorder, state: State, words: Words, pipe: Pipe | None) -> None:
    name = posixpath.basename(words[0])
    short = [option for option in _BY_OPTION[name] if len(option) == 2]
    joined = [word[2:] for word in words[1:] if len(word) > 3 and word[:2] in short]
    named = [found.group(1) for word in words[1:] for found in _HOST_IS.finditer(word)]
    for value in [*option_values(words, *_BY_OPTION[name]), *joined, *named]:
        rec.connect(host_of_operand(value), sends=name == "openssl" and _is_fed(pipe))
    for word in words[1:]:
        if word.startswith("//"):
            rec.connect(host_of_operand(word[2:].partition("/")[0]))
        elif host := host_of_url(word.partition("=")[2] if word.startswith("--") else word):
            rec.connect(host, address=word)
    if name == "openssl":
        if words[1:2] and words[1] == "s_client":
            for word in operands(words[1:], ("-connect", "-servername", "-proxy", "-CAfile"))[:1]:
                rec.connect(host_of_operand(word), sends=_is_fed(pipe))
        for path in option_values(words, "-in", "-inkey", "-key"):
            rec.read(state, path)
        for path in option_values(words, "-out"):
            rec.write(state, path)
    elif name in ("psql", "mysql"):
        from harness_adapters.gateway.guard.programs.text_tools import HANDLERS as text_tools

        text_tools[name](rec, state, words, pipe)


def _socat(rec: Recorder, state: State, words: Words, pipe: Pipe | None) -> None:
    for word in operands(words):
        for host in _SOCAT.findall(word):
            rec.connect(host_of_operand(host) or host.strip("[]"), sends=pipe is not None)
        for program in _SOCAT_RUNS.findall(word):
            run_program(rec, state.fork(), program.strip("'\""))
        for path in _SOCAT_FILE.findall(word):
            rec.write(state, path)


def _hub(rec: Recorder, state: State, words: Words, pipe: Pipe | None) -> None:
    found = operands(words, ("--endpoint-url", "--profile", "--region"))
    if found and found[0] not in _HUB_LOCAL:
        sends = not _UPLOADS.isdisjoint(found[:3]) and posixpath.basename(words[0]) != "gh"
        rec.connect(_HUBS[posixpath.basename(words[0])], sends=sends)
    if endpoint := option_value(words, "--endpoint-url", "--endpoint"):
        rec.connect(host_of_operand(endpoint))
    path_operands(rec, state, words[1:])


def _mail(rec: Recorder, state: State, words: Words, pipe: Pipe | None) -> None:
    for word in words[1:]:
        if found := _MAIL_ADDRESS.fullmatch(word):
            rec.connect(host_of_operand(found.group(1)), sends=True)
    for path in option_values(words, "-a", "-A", "--attach"):
        rec.read(state, path)


def _by_host_option(rec: Recorder, state: State, words: Words, pipe: Pipe | None) -> None:
    for value in option_values(words, *_HOST_OPTIONS[posixpath.basename(words[0])]):
        for one in value.split(","):
            rec.connect(host_of_operand(one))
    path_operands(rec, state, words[1:])


def _registry(rec: Recorder, state: State, words: Words, pipe: Pipe | None) -> None:
    """Images, and what containers are given of this machine."""
    found = operands(words, ("-v", "--volume", "-e", "--name", "-p", "--mount", "-w", "-u", "-f"))
    inner = state.fork()
    inner.links = dict(state.links)
    for volume in option_values(words, "-v", "--volume"):
        place, _, options = volume.partition(":")
        inside = options.partition(":")[0]
        rec.read(state, f"{place.rstrip('/')}/**" if place == "/" else place)
        if place.startswith(("/", ".", "~")):
            inner.links[inside or place] = state.path(place)
            if not options.endswith(":ro"):
                rec.touch(state, place)
    for value in option_values(words, "--add-host", "-H", "--host"):
        rec.connect(host_of_operand(value.partition(":")[2] or value))
    for given in option_values(words, "-f", "--file", "--env-file", "--secret"):
        rec.read(state, given)
    for mount in option_values(words, "--mount"):
        for part in mount.split(","):
            if part.startswith(("source=", "src=")):
                rec.read(state, part.partition("=")[2])
    verb = found[0] if found else ""
    if verb == "login" and len(found) > 1:
        rec.connect(host_of_operand(found[1]), sends=True)
    if verb in ("pull", "push", "run", "create", "copy", "export", "login", "manifest", "inspect"):
        for word in found[1:]:
            bare = word.partition("://")[2] if word.startswith("docker://") else word
            head, slash, _ = bare.partition("/")
            if slash and ("." in head or ":" in head) and not bare.startswith((".", "/")):
                rec.connect(host_of_operand(head), sends=verb == "push")
    if verb in ("cp", "copy"):
        for word in found[1:-1]:
            rec.read(state, word)
            if ":/" in word:  # out of a container, whose files may be the verifier's
                rec.read(state, word.partition(":")[2])
    if verb in ("exec", "run") and len(found) > 2:
        from harness_adapters.gateway.guard.launch import launch

        at = list(words).index(found[1])  # all that follows the image is the command's
        launch(rec, inner, words[at + 1 :], pipe)


def _sources(rec: Recorder, state: State, words: Words, pipe: Pipe | None) -> None:
    for word in words[1:]:
        for host in hosts_in(word):
            rec.connect(host)


HANDLERS: dict[str, Handler] = {
    "curl": _curl, "wget": _curl,
    **dict.fromkeys(_NET, _net), **dict.fromkeys(_FETCHERS, _fetchers),
    **dict.fromkeys(_BY_OPTION, _by_option), "socat": _socat,
    **dict.fromkeys(_HUBS, _hub), **dict.fromkeys(_REGISTRIES, _registry),
    **dict.fromkeys(_MAIL, _mail), **dict.fromkeys(_HOST_OPTIONS, _by_host_option),
    "add-apt-repository": _sources, "apt-add-repository": _sources,
}  # fmt: skip
