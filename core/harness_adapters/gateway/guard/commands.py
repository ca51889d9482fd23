"""What well-known programs do to files, hosts and packages, read from their words."""

from __future__ import annotations

import json
import posixpath
import re
from collections.abc import Callable, Sequence

from harness_adapters.gateway.guard import packages
from harness_adapters.gateway.guard.hosts import host_of_operand, host_of_url
from harness_adapters.gateway.guard.names import names
from harness_adapters.gateway.guard.patches import follow_patch
from harness_adapters.gateway.guard.paths import looks_like_path
from harness_adapters.gateway.guard.pipe import Pipe
from harness_adapters.gateway.guard.recorder import Recorder
from harness_adapters.gateway.guard.state import State

Words = Sequence[str]

# Say things, or ask the system, and touch no file that they name.
_NO_FILES = names(
    """
    echo printf : true false sleep date seq exit return kill killall pkill wait which type
    whoami uname id hostname pwd basename dirname expr jobs break continue shift unalias
    ulimit umask getopts let hash history logger notify-send yes
    """
)
_READERS = names(
    """
    cat less more head tail tac nl wc sort uniq cut od xxd hexdump strings file stat md5sum
    sha1sum sha224sum sha256sum sha512sum b2sum diff cmp comm paste base64 base32 zcat bzcat
    xzcat ls tree du realpath readlink column fold cksum rev fmt expand join bat
    batcat eza exa dir vdir lsattr getfacl test [ [[ open xdg-open
    """
)
_OPTION_VALUES = {
    "head": ("-n", "-c"), "tail": ("-n", "-c"), "cut": ("-d", "-f", "-c", "-b"),
    "sort": ("-k", "-t", "-S"), "fold": ("-w",), "tree": ("-L", "-I", "-P"), "ls": ("-I",),
    "du": ("-d",), "xxd": ("-l", "-s", "-c"), "od": ("-A", "-t", "-N", "-j"), "stat": ("-c", "-f"),
    "touch": ("-d", "-t"), "truncate": ("-s",), "paste": ("-d",), "column": ("-s", "-t"),
    "mkdir": ("-m",), "shred": ("-n",),
}  # fmt: skip
_KEEP_TEXT = frozenset(("touch", "chmod", "chown", "chgrp", "setfacl"))
_RECURSIVE = re.compile(r"-[a-zA-Z]*[rR]|--recursive")
_HEAD_OPERAND = frozenset(("chmod", "chown", "chgrp"))  # what to set comes before the files
_REMOVERS = frozenset(("rm", "unlink", "shred", "rmdir", "trash"))
_WRITERS = names(
    """
    touch truncate chmod chown chgrp sponge ed nano emacs dos2unix unix2dos setfacl
    mkfifo mknod split csplit
    """
)
_FORMATTERS = frozenset(("black", "isort", "autopep8", "yapf", "gofmt", "rustfmt", "autoflake"))
_NET = names(
    """
    nc ncat netcat telnet ssh ftp dig nslookup host ping whois mosh traceroute
    """
)


def follow(rec: Recorder, state: State, name: str, words: Words, pipe: Pipe | None) -> None:
    """Record what one plain command does."""
    if name in _NO_FILES:
        return
    if handler := _HANDLERS.get(name):
        handler(rec, state, words, pipe)
    else:
        path_operands(rec, state, words[1:])


def _readers(rec: Recorder, state: State, words: Words, pipe: Pipe | None) -> None:
    name = posixpath.basename(words[0])
    for word in operands(words, _OPTION_VALUES.get(name, ())):
        if name not in ("test", "[", "[[") or looks_like_path(word):
            rec.read(state, word)


def _removers(rec: Recorder, state: State, words: Words, pipe: Pipe | None) -> None:
    tree = words[0].endswith("rm") and any(_RECURSIVE.match(word) for word in words[1:])
    for word in operands(words):
        rec.remove(state, word, tree=tree)


def _writers(rec: Recorder, state: State, words: Words, pipe: Pipe | None) -> None:
    name = posixpath.basename(words[0])
    for word in operands(words, _OPTION_VALUES.get(name, ()))[name in _HEAD_OPERAND :]:
        if name in _KEEP_TEXT:
            rec.touch(state, word)
        else:
            rec.write(state, word)


def _formatters(rec: Recorder, state: State, words: Words, pipe: Pipe | None) -> None:
    changes = {"--check", "--diff", "-l", "-d"}.isdisjoint(words)
    for word in operands(words):
        if changes:
            rec.write(state, word)
        elif looks_like_path(word):
            rec.read(state, word)


def _managers(rec: Recorder, state: State, words: Words, pipe: Pipe | None) -> None:
    packages.follow(rec, state, posixpath.basename(words[0]), words)


def operands(words: Words, with_value: Sequence[str] = ()) -> list[str]:
    """The words that are no options; ``with_value`` names options that take the next word."""
    found: list[str] = []
    only = False
    skip = False
    for word in words[1:]:
        if skip:
            skip = False
        elif only or word[:1] != "-" or word == "-":
            found.append(word)
        elif word == "--":
            only = True
        else:
            skip = word in with_value
    return found


def option_value(words: Words, *names: str) -> str | None:
    """The value of an option, given as the next word, after ``=``, or joined to a short one."""
    for i, word in enumerate(words):
        if word[:1] != "-" or i == 0:
            continue
        if word in names:
            return words[i + 1] if i + 1 < len(words) else None
        for name in names:
            if name.startswith("--") and word.startswith(name + "="):
                return word[len(name) + 1 :]
            if len(name) == 2 and not word.startswith("--") and word.startswith(name):
                return word[2:]
    return None


def path_operands(rec: Recorder, state: State, words: Words) -> None:
    """Whatever looks like a path or URL in the words of a program that nobody here knows."""
    for word in words:
        if word.startswith("-"):
            word = word.partition("=")[2]
        if host := host_of_url(word):
            rec.connect(host)
        elif looks_like_path(word):
            rec.read(state, word)


def _grep(rec: Recorder, state: State, words: Words, pipe: Pipe | None) -> None:
    found = operands(
        words, ("-e", "-f", "-A", "-B", "-C", "-m", "-g", "-t", "--include", "--exclude", "--glob")
    )
    if option_value(words, "-e", "--regexp", "-f", "--file") is None and "--files" not in words:
        found = found[1:]
    for word in found:
        rec.read(state, word)
    name = posixpath.basename(words[0])
    if name in ("rg", "ag", "ack") or any(_RECURSIVE.match(word) for word in words[1:]):
        _recursive_root(rec, state, ["", *found])
    if (patterns := option_value(words, "-f", "--file")) is not None:
        rec.read(state, patterns)


def _sed(rec: Recorder, state: State, words: Words, pipe: Pipe | None) -> None:
    found = operands(words, ("-e", "-f", "--expression", "--file", "-l"))
    scripts = [words[i + 1] for i, w in enumerate(words[:-1]) if w in ("-e", "--expression")]
    if not scripts and option_value(words, "-f", "--file", "--expression") is None:
        scripts, found = found[:1], found[1:]
    in_place = any(re.match(r"-[nErsz]*i|--in-place", word) for word in words[1:])
    for script in scripts:
        for target in re.findall(r"(?:^|[;\n}/gp0-9])\s*w\s+(\S+)", script):
            rec.write(state, target)
        for target in re.findall(r"(?:^|[;\n}$0-9])\s*r\s+(\S+)", script):
            rec.read(state, target)
    for word in found:
        if in_place:
            rec.write(state, word)
        else:
            rec.read(state, word)


def _awk(rec: Recorder, state: State, words: Words, pipe: Pipe | None) -> None:
    found = operands(words, ("-F", "-v", "-f", "-i"))
    if (script := option_value(words, "-f", "--file")) is not None:
        rec.read(state, script)
        program = state.text(state.path(script)) or ""
    else:
        program, found = "".join(found[:1]), found[1:]
    if re.search(r"system\s*\(|getline|>|\|", program):
        rec.unparsed(program)
    in_place = option_value(words, "-i") == "inplace"
    for word in found:
        if in_place:
            rec.write(state, word)
        elif "=" not in word:
            rec.read(state, word)


def _copy(rec: Recorder, state: State, words: Words, pipe: Pipe | None) -> None:
    name = posixpath.basename(words[0])
    found = operands(words, ("-t", "-m", "-o", "-g", "-S", "--exclude", "--include", "-e"))
    folder = option_value(words, "-t", "--target-directory")
    if folder is not None:
        sources, target = found, folder
    elif name == "install" and "-d" in words:
        for word in found:
            rec.read(state, word)
        return
    elif name == "ln" and len(found) == 1:
        sources, target = found, "."
    elif len(found) < 2:
        return
    else:
        sources, target = found[:-1], found[-1]
    into = (
        folder is not None or len(sources) > 1 or target.endswith("/") or target in (".", "..", "~")
    )
    if name in ("cp", "rsync", "scp"):
        _recursive_root(rec, state, ["", *sources])
    for source in sources:
        if name in ("rsync", "scp") and ":" in source and not looks_like_path(source):
            rec.connect(host_of_operand(source))
            continue
        rec.read(state, source)
        text = state.text(state.path(source))
        if name == "mv":
            rec.remove(state, source)
        place = posixpath.join(target, posixpath.basename(source.rstrip("/"))) if into else target
        if name in ("rsync", "scp") and ":" in target:
            rec.connect(host_of_operand(target))
        elif name == "ln":
            link = state.path(place)
            rec.write(state, place)
            aim = (
                source
                if source.startswith(("/", "~"))
                else posixpath.join(
                    posixpath.dirname(link)
                    if "-s" in "".join(w for w in words if w.startswith("-"))
                    else state.cwd,
                    source,
                )
            )
            state.links[link] = state.path(aim)
        else:
            rec.write(state, place, text)


def _tee(rec: Recorder, state: State, words: Words, pipe: Pipe | None) -> None:
    text = pipe.text if pipe else None
    append = "-a" in words or "--append" in words
    for word in operands(words):
        old = state.text(state.path(word)) if append else None
        rec.write(state, word, text if text is None else (old or "") + text)


def _dd(rec: Recorder, state: State, words: Words, pipe: Pipe | None) -> None:
    for word in words[1:]:
        if word.startswith("if="):
            rec.read(state, word[3:])
        elif word.startswith("of="):
            rec.write(state, word[3:])


def _patch(rec: Recorder, state: State, words: Words, pipe: Pipe | None) -> None:
    folder = option_value(words, "-d", "--directory")
    inner = state
    if folder is not None:
        inner = state.fork()
        inner.cwd = state.path(folder)
    found = operands(words, ("-p", "-i", "-d", "-o", "-r", "-B"))
    for word in found[:1]:
        rec.write(inner, word)
    text = pipe.text if pipe else None
    source = option_value(words, "-i", "--input") or (found[1] if len(found) > 1 else None)
    if source is not None:
        rec.read(state, source)
        text = state.text(state.path(source))
    if text is not None:
        follow_patch(rec, inner, text)
    elif pipe is not None and not pipe.source.startswith("< "):
        rec.unparsed(pipe.source)


def _apply_patch(rec: Recorder, state: State, words: Words, pipe: Pipe | None) -> None:
    text = words[1] if len(words) > 1 else (pipe.text if pipe else None)
    if text is not None:
        follow_patch(rec, state, text)


def _git(rec: Recorder, state: State, words: Words, pipe: Pipe | None) -> None:
    inner = state.fork()
    rest = list(words[1:])
    while rest and rest[0].startswith("-"):
        option = rest.pop(0)
        if option in ("-C", "-c", "--git-dir", "--work-tree") and rest:
            value = rest.pop(0)
            if option != "-c":
                rec.read(inner, value)
            if option in ("-C", "--work-tree"):
                inner.cwd = inner.path(value)
        elif option.startswith(("--git-dir=", "--work-tree=")):
            rec.read(inner, option.partition("=")[2])
    if not rest:
        return
    command = rest[0]
    found = operands(
        rest, ("-m", "-F", "-b", "-B", "-n", "--author", "--date", "-S", "-G", "--message")
    )
    after = rest[rest.index("--") + 1 :] if "--" in rest else []
    match command:
        case "clone" | "ls-remote" | "fetch" | "pull" | "push" | "remote" | "submodule":
            for word in found:
                if host := host_of_url(word) or ("@" in word and host_of_operand(word)):
                    rec.connect(host)
                elif word.startswith(("/", "~")) or (command == "clone" and "/" in word):
                    rec.read(inner, word)
            if command == "clone" and len(found) > 1:
                rec.write(inner, found[-1])
        case "apply" | "am":
            for word in found:
                rec.read(inner, word)
                if (text := inner.text(inner.path(word))) is not None:
                    follow_patch(rec, inner, text)
            if not found and pipe is not None and pipe.text is not None:
                follow_patch(rec, inner, pipe.text)
        case "rm" | "mv":
            for word in found:
                rec.remove(inner, word, tree="-r" in rest)
        case "checkout" | "restore":
            # From the index or HEAD a file comes back as it was; from elsewhere it changes.
            source = option_value(rest, "--source", "-s")
            revision = source or (found[0] if after and found and found[0] not in after else None)
            if not after and command == "checkout" and len(found) > 1:
                revision, after = found[0], found[1:]
            for word in after or (found if source else []):
                if revision in (None, "HEAD", "@"):
                    rec.read(inner, word)
                else:
                    rec.write(inner, word)
        case "commit" | "tag" | "notes":
            if (message := option_value(rest, "-F", "--file")) is not None:
                rec.read(inner, message)
        case _:
            for word in found:
                if word.startswith(("/", "~/", "../")):
                    rec.read(inner, word)


def _curl(rec: Recorder, state: State, words: Words, pipe: Pipe | None) -> None:
    skip = ""
    for word in words[1:]:
        if skip:
            if skip in ("-o", "-O", "--output", "--output-document", "-P"):
                rec.write(state, word)
            elif skip in ("-T", "--upload-file", "-K", "--config", "-i", "--input-file"):
                rec.read(state, word)
            elif skip in ("-x", "--proxy", "--connect-to", "--resolve"):
                rec.connect(host_of_operand(word))
            elif (found := re.search(r"(?:^|=)@(.+)", word)) and skip not in ("-H", "--header"):
                rec.read(state, found.group(1))
            skip = ""
        elif word.startswith("-"):
            name, equals, value = word.partition("=")
            if equals and name in ("--output", "--output-document"):
                rec.write(state, value)
            elif word[:2] in ("-o",) and len(word) > 2 and not word.startswith("--"):
                rec.write(state, word[2:])
            elif word in _CURL_VALUES or (
                not word.startswith("--") and f"-{word[-1]}" in _CURL_VALUES
            ):
                skip = word if word in _CURL_VALUES else f"-{word[-1]}"
                if words[0].endswith("curl") and skip == "-O":
                    skip = ""
        elif word[:7].lower() == "file://":
            rec.read(state, "/" + word[7:].lstrip("/"))
        else:
            rec.connect(host_of_operand(word))


_CURL_VALUES = names(
    """
    -o -O -P --output --output-document -H --header -d --data --data-binary --data-raw
    --data-urlencode -F --form -X --request -u --user -A --user-agent -e --referer -b --cookie
    -c --cookie-jar -T --upload-file -x --proxy --connect-to --resolve -m --max-time
    --connect-timeout --retry -w --write-out -K --config --cacert --cert --key -t --tries
    --timeout -T -i --input-file -U --post-data --json
    """
) - {"-i"}


def _net(rec: Recorder, state: State, words: Words, pipe: Pipe | None) -> None:
    for word in operands(words, ("-p", "-i", "-l", "-o", "-F", "-w", "-c", "-J", "-L", "-R", "-D")):
        if word.startswith("@"):
            word = word[1:]
        if host := host_of_operand(word):
            rec.connect(host)
            if posixpath.basename(words[0]) != "dig":
                return


def _archive(rec: Recorder, state: State, words: Words, pipe: Pipe | None) -> None:
    name = posixpath.basename(words[0])
    if name == "tar":
        folder = option_value(words, "-C", "--directory")
        found = operands(words, ("-C", "-f", "--file", "--exclude"))
        mode = next((w for w in words[1:] if not w.startswith("--")), "")
        making = bool(set("cru") & set(mode))
        if mode and not mode.startswith("-"):
            found = found[1:]
        archive = option_value(words, "-f", "--file")
        if folder is not None:
            (rec.read if making else rec.write)(state, folder)
        if archive is not None and archive not in found:
            (rec.write if making else rec.read)(state, archive)
        for word in found if making or not mode.startswith("-") else []:
            rec.read(state, word)
        if making:
            _recursive_root(rec, state, ["", *found])
        return
    found = operands(words, ("-d", "-x", "-P"))
    if name == "zip":
        for word in found[:1]:
            rec.write(state, word)
        found = found[1:]
    elif (folder := option_value(words, "-d")) is not None:
        rec.write(state, folder)
    for word in found:
        rec.read(state, word)


def _mkdir(rec: Recorder, state: State, words: Words, pipe: Pipe | None) -> None:
    # A folder that is made changes no file; that it is touched is enough for verifier roots.
    for word in operands(words, ("-m", "--mode")):
        rec.read(state, word)


def _sqlite(rec: Recorder, state: State, words: Words, pipe: Pipe | None) -> None:
    found = operands(words, ("-cmd", "-separator", "-init"))
    for word in found[:1]:
        rec.read(state, word)
    if (script := option_value(words, "-init")) is not None:
        rec.read(state, script)
    texts = [*found[1:], *(words[i + 1] for i, w in enumerate(words[:-1]) if w == "-cmd")]
    for text in [*texts, pipe.text if pipe and pipe.text else ""]:
        for one in _SQLITE_FILE.finditer(text):
            verb = one.group(1) or "read"
            writes = verb in ("output", "once", "backup", "save", "dump", "log")
            (rec.write if writes else rec.read)(state, (one.group(2) or one.group(3)).strip("'\""))
        for one in _SQLITE_SHELL.finditer(text):
            _follow_program(rec, state.fork(), one.group(1))


_SQLITE_FILE = re.compile(
    r"(?m)^\s*\.(read|import|output|once|open|restore|backup|save|log|cd)\s+(?:--?\w+\s+)*(\S+)"
    r"|\b(?:readfile|attach(?:\s+database)?)\s*\(?\s*'([^']+)'",
    re.IGNORECASE,
)
_SQLITE_SHELL = re.compile(r"(?m)^\s*\.(?:shell|system)\s+(.+)")


def _jq(rec: Recorder, state: State, words: Words, pipe: Pipe | None) -> None:
    for word in operands(words, ("--arg", "--argjson", "--indent"))[1:]:
        if looks_like_path(word) or "." in word:
            rec.read(state, word)


def _recursive_root(rec: Recorder, state: State, words: Words) -> None:
    """Reads everything there is, what must not be read included."""
    if any(state.path(word) == "/" for word in operands(words)):
        rec.read(state, "/**")


def _hub(rec: Recorder, state: State, words: Words, pipe: Pipe | None) -> None:
    found = operands(words)
    if found and found[0] not in ("version", "help", "env", "completion", "config", "cache"):
        rec.connect(_HUBS[posixpath.basename(words[0])])
    path_operands(rec, state, words[1:])


_HUBS = {
    "hf": "huggingface.co",
    "huggingface-cli": "huggingface.co",
    "kaggle": "www.kaggle.com",
    "gh": "github.com",
    "glab": "gitlab.com",
    "gsutil": "storage.googleapis.com",
    "aws": "s3.amazonaws.com",
}


def _vim(rec: Recorder, state: State, words: Words, pipe: Pipe | None) -> None:
    for i, word in enumerate(words[1:], 1):
        script = (
            word[1:] if word[:1] == "+" else words[i] if words[i - 1] in ("-c", "--cmd") else ""
        )
        for found in _EX_FILE.finditer(script):
            (rec.write if found.group(1)[0] in "ws" else rec.read)(state, found.group(2))
        for found in _EX_SHELL.finditer(script):
            rec.unparsed(found.group(1))
    for word in operands(words, ("-c", "--cmd", "-S", "-u")):
        if word[0] != "+":
            rec.write(state, word)


_EX_FILE = re.compile(
    r":?\b(r|re|rea|read|e|edit|w|wr|write|w!|sav|saveas|sp|vs|split|tabe|source|so)!?\s+(/?[^\s|!]+)"
)
_EX_SHELL = re.compile(r":?(?:r\s*)?!(.+)")


def _make(rec: Recorder, state: State, words: Words, pipe: Pipe | None) -> None:
    """Recipes that this session wrote run; which target is made does not matter here."""
    folder = option_value(words, "-C", "--directory") or "."
    given = option_value(words, "-f", "--file", "--makefile")
    for name in (given,) if given else ("GNUmakefile", "makefile", "Makefile"):
        path = state.path(posixpath.join(folder, name))
        if (text := state.text(path)) is not None:
            rec.read(state, path)
            inner = state.fork()
            inner.cwd = state.path(folder)
            recipe = [line.strip().lstrip("@-+") for line in text.splitlines() if line[:1] == "\t"]
            _follow_program(rec, inner, "\n".join(recipe).replace("$$", "$"))


def _npm(rec: Recorder, state: State, words: Words, pipe: Pipe | None) -> None:
    if len(words) > 1 and words[1] in ("run", "run-script", "test", "t", "start", "exec"):
        text = state.text(state.path("package.json"))
        try:
            scripts = json.loads(text or "{}").get("scripts")
        except (ValueError, AttributeError, RecursionError):
            return
        for script in (scripts or {}).values() if isinstance(scripts, dict) else ():
            if isinstance(script, str):
                _follow_program(rec, state.fork(), script)
    else:
        _managers(rec, state, words, pipe)


def _follow_program(rec: Recorder, state: State, text: str) -> None:
    from harness_adapters.gateway.guard.shell import run_shell

    run_shell(rec, state, text)


Handler = Callable[[Recorder, State, Words, "Pipe | None"], None]
_HANDLERS: dict[str, Handler] = {
    "grep": _grep, "egrep": _grep, "fgrep": _grep, "rg": _grep, "ag": _grep, "ack": _grep,
    "sed": _sed, "gsed": _sed, "awk": _awk, "gawk": _awk, "mawk": _awk,
    "cp": _copy, "mv": _copy, "ln": _copy, "install": _copy, "rsync": _copy, "scp": _copy,
    "tee": _tee, "dd": _dd, "patch": _patch, "apply_patch": _apply_patch,
    "applypatch": _apply_patch,
    "git": _git, "curl": _curl, "wget": _curl, "tar": _archive, "zip": _archive, "unzip": _archive,
    "mkdir": _mkdir, "sqlite3": _sqlite, "jq": _jq, "yq": _jq,
    **dict.fromkeys(_READERS, _readers), **dict.fromkeys(_REMOVERS, _removers),
    **dict.fromkeys(_WRITERS, _writers), **dict.fromkeys(_FORMATTERS, _formatters),
    **dict.fromkeys(_NET, _net), **dict.fromkeys(packages.MANAGERS, _managers),
    **dict.fromkeys(_HUBS, _hub), **dict.fromkeys(("npm", "pnpm", "yarn"), _npm),
    **dict.fromkeys(("vim", "vi", "nvim", "ex", "view", "vimdiff"), _vim),
    "make": _make, "gmake": _make,
}  # fmt: skip
