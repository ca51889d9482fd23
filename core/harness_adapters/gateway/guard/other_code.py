"""Programs in languages that no grammar here reads (JavaScript, Perl, Ruby, PHP, C ...).

Their text is reported as it stands; beyond that, calls with literal arguments are read: what opens,
changes or runs something, by the names that such calls have in these languages.
"""

from __future__ import annotations

import re

from harness_adapters.gateway.guard.environment import ALL
from harness_adapters.gateway.guard.hosts import host_of_operand, host_of_url
from harness_adapters.gateway.guard.literals import decoded, put_together
from harness_adapters.gateway.guard.recorder import Recorder
from harness_adapters.gateway.guard.state import State

_MAX_TEXT = 64 * 1024
# Files that a source takes in while it is compiled.
_TAKES_IN = re.compile(
    r"(?:#\s*(?:include|embed)|\.incbin|//go:embed|include(?:_str|_bytes)?!\s*\()"
    r"\s*\"?([\w/.][^\s\"<>)]{1,500})"
)
_GENERATES = re.compile(r"(?m)^//go:generate[ \t]+(.+)$")
_MAX_COMMANDS = 16
# ``Dir['x/*'].each do |f|``, ``for (const f of globSync('x/*'))``, and what is done to such a name.
_GLOBS = re.compile(
    r"\bDir\s?\[\s*['\"]([^'\"\n]{1,512})['\"]"
    r"|\b(?:glob|Glob|globSync|fast_?glob|fg)(?:\.sync)?\s*\(\s*['\"`]([^'\"`\n]{1,512})['\"`]"
)
_FOLDERS = re.compile(
    r"\b(?:read_dir|readdir|readdirSync|ReadDir|scandir|children|each_child|listFiles)"
    r"\s*\(\s*['\"`]([^'\"`\n]{1,512})['\"`]"
)
_CHANGES_GLOB = re.compile(
    r"\b(?:unlink|rm|rm_f|rm_rf|remove|delete)\s*\(?\s*(?:\.\.\.)?(?:glob|Dir\.glob|globSync)"
    r"\s*\(?\s*['\"]([^'\"\n]{1,512})['\"]"
)
_LOOPS = re.compile(
    r"\|\s*(\w{1,40})\s*\||\b(?:const|let|var|my)?\s?\$?(\w{1,40})\s+(?:of|in)\s"
    r"|(?<!\w)\(?\s?(\w{1,40})\s?\)?\s?=>|\bas\s+\$(\w{1,40})|\b_\s?,\s?(\w{1,40})\s?:="
    r"|foreach\s+(?:my\s+)?\$(\w{1,40})"
)
_WRITES_NAME = re.compile(
    r"\b(?:write\w*|unlink\w*|rm\w*|remove\w*|delete\w*|Write\w*|Remove\w*|truncate\w*"
    r"|file_put_contents)\s?[(\s]\s?\$?(\w{1,40})\b"
)
_ARGUMENT = r"""(?:[\w.:$@{}*\\/-]+\s*,\s*){0,2}['"`]([^'"`\n]{1,4096})['"`]"""
_CALL = r"\s*[(\s]\s*(?:q[qwx]?\s*)?"
_WRITES = re.compile(
    r"(?:\b(?:writeFile|appendFile|unlink|rm|rmdir|truncate|createWriteStream|outputFile|rmtree"
    r"|remove_tree|file_put_contents|writeTextFile|remove|delete|creat|ftruncate|touch|rm_rf|rm_f"
    r"|deleteFile|mkdirSync|chmod|chown|utimes|write_file|writeLines|sink|removeDir|mkfifo|utime"
    r"|WriteFile|Remove|RemoveAll|Truncate|Create|remove_file|remove_dir_all)(?:Sync)?!?"
    r"|(?:File|IO|Bun|Deno|FileUtils|Files|fs|os|ioutil)(?:\.|::)(?:write\w*|delete\w*|unlink"
    r"|truncate|rm\w*"
    r"|touch|binwrite|Write\w*|remove\w*))" + _CALL + _ARGUMENT
)
_WRITES_SECOND = re.compile(
    r"\b(?:writeLines|write_file|saveRDS|write\.\w+)\s*\(\s*(?:['\"][^'\"\n]*['\"]|[\w.]+)\s*,\s*"
    r"['\"]([^'\"\n]{1,4096})['\"]|(?<![\w.])write\(\s*['\"]([\w./-]+/[\w.-]+)['\"]\s*,"
)
_MOVES = re.compile(
    r"\b(?:rename|copyFile|cp|mv|symlink|link|copy|move|rename_file|Rename|Symlink"
    r"|ln_s\w*)(?:Sync)?"
    r"\s*\(?\s*['\"`]([^'\"`\n]{1,4096})['\"`]\s*,\s*['\"`]([^'\"`\n]{1,4096})['\"`]"
)
_COPIES_TO = re.compile(
    r"\b(?:rename|copyFile|cp|mv|symlink|link|copy|move)(?:Sync)?\s?\(\s?&?[A-Za-z_][\w.()?]{0,60}\s?,"
    r"\s?&?['\"`]([^'\"`\n]{1,4096})['\"`]"
)
_READS = re.compile(
    r"(?:\b(?:readFile|readdir|createReadStream|file_get_contents|readTextFile|readlines|readLines"
    r"|read_to_string|ReadFile|ReadDir|opendir|scandir|readfile|fopen|file|require|include|source"
    r"|load|do|dofile|loadfile|read_dir|stat|existsSync|exists|[gG]lob|copyFileSync|slurp|Open|OpenFile|Dir"
    r"|require_once|read\.csv|readRDS|scan|foreach|foreachLine|ReadAllText|lines"
    r"|read_file)(?:Sync)?"
    r"|(?:IO|File|Deno|Bun|Files|Dir|Pathname|fs)\.\w+)" + _CALL + _ARGUMENT
)
_OPENS = re.compile(
    r"\b(?:sys)?f?open\b[^;\n]{0,200}?['\"]\s*(\+?[<>]{0,2})\s*['\"]?\s*,?\s*['\"]?([^'\"\n]{1,"
    r"4096})['\"]"
    r"(?:\s*,\s*['\"]([rwaxb+]{1,3})['\"])?"
)
# C++: ``std::ofstream f("x")``.
_STREAMS = re.compile(
    r"\bw?(i|o|)fstream\s+\w+\s*[({]\s*\"([^\"\n]{1,4096})\""
    r"(?:\s?,\s?std::ios(?:_base)?::(in|out|app|trunc)\b(?!\s?\|))?"
)
_RUNS = re.compile(
    r"(?:\b(?:system|exec|popen|spawn|execFile|fork|shell_exec|passthru|proc_open|pcntl_exec"
    r"|execute"
    r"|syscmd|esyscmd|shell|run|sh|Command|execl|execlp|execv|execvp|getoutput|sys\.command"
    r"|doShellScript"
    r"|do\s+shell\s+script|os:cmd|IO\.popen|io\.popen|os\.execute|capture2e?|capture3"
    r"|exec\.Command)"
    r"(?:Sync)?)" + _CALL + r"(?:\[\s*)?" + r"((?:['\"`][^'\"`\n]{1,4096}['\"`]\s*,?\s*\[?\s*)+)"
)
_BACKTICKS = re.compile(
    r"(?<![\w$.])`([^`\n]{2,2048}+)`|(?:%x|qx)\s*[{(\[|/]([^})\]|/\n]{2,600}+)[})\]|]"
)
_TCL = re.compile(r"(?m)(?:^|[\[;{])[ \t]*(?:spawn|exec|send)\s+([^\n\];{}]+)")
_M4 = re.compile(r"\be?syscmd\(\s*`([^'`\n]*)'")
_ENVIRONMENT = re.compile(
    r"process\.env(?:\.|\[['\"])(\w+)|\bENV(?:IRON)?\[['\"](\w+)|\$ENV\{['\"]?(\w+)"
    r"|getenv\(\s*['\"](\w+)"
    r"|\$_(?:ENV|SERVER)\[['\"](\w+)|Deno\.env\.get\(\s*['\"](\w+)|env(?:::var)?\(\s*['\"](\w+)"
)
_QUOTE = re.compile(r"['\"`]")
_LIKE_HOST = re.compile(r"://|[\w-]\.[A-Za-z0-9]")  # stands in all that names a host
_LITERAL = re.compile(r"['\"`]([^'\"`\n]{1,4096})['\"`]")
_NETS = re.compile(
    r"fetch|http(?!s?://)|axios|got\b|getprint|getstore|WebRequest|RestMethod|\biw?rm?\b|request|LWP|curl|urlopen|open-uri|URI\.open|openStream|openConnection|TCPSocket|fsockopen|connect"
    r"|file_get_contents|[Ss]ocket|download|Dial|HTTP|WebSocket|readfile|\bcopy\(|fopen|install\.packages|Pkg\.|mechanize|wget|readLines|read\.\w+\(|\bsource\(|\burl\("
    r"|XMLHttp|toURL|sendBeacon|EventSource|superagent|undici|needle|\b(?:from|import)\s*\(?['\"]https?:",
)
_URL = re.compile(r"[a-z][a-z0-9+]{1,9}://[^\s'\"`<>\\]{1,500}")
_SOCKET = re.compile(
    r"(?:TCPSocket\.(?:new|open)|fsockopen|createConnection|net\.connect|Dial|PeerAddr\s*=>"
    r"|connect)"
    r"\s*\(?[^'\"\n]{0,40}['\"](?:tcp['\"]\s*,\s*['\"])?([\w.-]+\.[a-z]{2,}|\d+(?:\.\d+){3})"
)
_KILLS = re.compile(r"\b(?:process\.kill|posix_kill|Process\.kill|kill)\s*\(?\s*([^;\n]{1,80})")
_PARENT = re.compile(r"(?:posix_)?getppid\s*(?:\(\s*\))?|[Pp]rocess\.ppid(?:\(\))?")
_HOST = r"((?:[\w-]+\.)+[a-z]{2,}|\d+(?:\.\d+){3})"
# A host by its name alone, where a call or a key says that it is one.
_NAMED_HOST = re.compile(
    r"(?:\b(?:host(?:name)?|server|servername|peer\w*|address|endpoint)['\"]?\s*(?::|=>|=)\s*"
    r"|\b(?:lookup|resolve[46]?|getaddrinfo|gethostbyname|connect|createConnection|Net::HTTP\.\w+"
    r"|Net::\w+\.(?:new|start|open)|TCPSocket\.\w+|getprint|getstore|Dial\w*|LookupHost|checkdnsrr"
    r"|dns_get_record)\s*\(?\s*(?:['\"]tcp\d?['\"]\s*,\s*|\d+\s*,\s*)?)"
    rf"['\"`]{_HOST}(?::\d+)?['\"`]"
    r"|\b(?:Net::\w+|IO::Socket|UDPSocket|TCPSocket|dgram|SysLogHandler)[^;\n]{0,120}?"
    rf"['\"`]{_HOST}(?::\d+)?['\"`]|\bsocket\s+{_HOST}\s+\d+",
    re.IGNORECASE,
)
_SAYS_ENVIRONMENT = re.compile(r"(?i)env|_SERVER")
# The environment as a whole, shown or looked through.
_ALL_VARIABLES = re.compile(
    r"(?:log|print\w*|puts|echo|say|dump|inspect|stringify|write\w*|\bpp?)\b[^;\n]{0,80}?"
    r"(?:process\.env|\bENV|%ENV|\$_ENV|\$_SERVER|getenv\(\s*\)|Deno\.env\.toObject\(\))"
    r"(?!\w|\s*\.(?!to_|each|inspect|map|select|sort|find)|\s*[\[{]|\s*\?\.|['\"]?:)"
    r"|\b(?:entries|keys|values)\(\s*process\.env|\bin\s+process\.env\b|(?:keys|each|sort)\s*\(?%ENV"
    r"|\bENV\.(?:to_\w+|each\w*|inspect|map|select|sort\w*|find_all)\b|\bin\s+ENVIRON\b"
    r"|Sys\.getenv\(\s*\)|os\.Environ\(\)|env::vars\(\)|System\.getenv\(\s*\)"
    r"|\A\s*(?:process\.env|ENV|%ENV)\s*\Z"
)
_PRINTS = re.compile(
    r"(?:print(?:f|ln)?|puts|echo|say|write|console\.log|process\.stdout\.write|io\.write"
    r"|cat)\s*\(?\s*"
    r"(['\"`])((?:\\.|(?!\1)[^\\\n]){0,4096}+)\1"
)


def _written_in_loops(text: str) -> list[str]:
    """The patterns whose files are changed one after the other."""
    at_once = _CHANGES_GLOB.findall(text)[:_MAX_COMMANDS]
    globs = ["".join(found) for found in _GLOBS.findall(text)[:_MAX_COMMANDS]]
    globs += [f"{found.rstrip('/')}/**" for found in _FOLDERS.findall(text)[:_MAX_COMMANDS]]
    if not globs:
        return at_once
    names = {"".join(found) for found in _LOOPS.findall(text)[:_MAX_COMMANDS]}
    return [*at_once, *(globs if names & set(_WRITES_NAME.findall(text)) else ())]


def note_environment(state: State, code: str) -> None:
    """Environment variables that code of any language names."""
    for found in _ENVIRONMENT.findall(code):
        state.environment["".join(found)] = None
    if _SAYS_ENVIRONMENT.search(code) and _ALL_VARIABLES.search(code):
        state.environment[ALL] = None


def take_in(rec: Recorder, state: State, source: str) -> None:
    """Files that a source takes in while it is compiled, by the folder that it lies in."""
    for one in _TAKES_IN.findall(source[:_MAX_TEXT]):
        rec.read(state, one)


def build_and_run(rec: Recorder, state: State, source: str, folder: str) -> None:
    """What a source does when it is built, and when what comes out is run.

    :param folder: where it lies.
    """
    from harness_adapters.gateway.guard.shell import run_shell

    for command in generated_by(source):
        run_shell(rec, state.fork(), command)
    follow_other_code(rec, state.fork(), source, folder=folder)


def generated_by(source: str) -> list[str]:
    """The commands that ``go generate`` takes from a Go source."""
    return _GENERATES.findall(source[:_MAX_TEXT])[:_MAX_COMMANDS]


def follow_other_code(
    rec: Recorder, state: State, code: str, *, inner: bool = False, folder: str = "."
) -> str | None:
    """Record what a program in some other language does, as far as literals tell.

    :param inner: it stood encoded in another one.
    :param folder: where it lies.
    :returns: what it prints, where it prints literals alone.
    """
    from harness_adapters.gateway.guard.shell import run_shell

    rec.unparsed(code)
    text = put_together(code[:_MAX_TEXT], folder)
    for hidden in decoded(text) if not inner else ():
        follow_other_code(rec, state, hidden, inner=True)
    if _QUOTE.search(text):
        _follow_files(rec, state, text)
        for found in _RUNS.findall(text):
            run_shell(rec, state.fork(), " ".join(_LITERAL.findall(found)))
    for one, two in _BACKTICKS.findall(text):
        if "${" not in one:
            run_shell(rec, state.fork(), one or two)
    if _LIKE_HOST.search(text):
        _follow_hosts(rec, text)
    for program in [*_TCL.findall(text), *_M4.findall(text)]:
        if not program.startswith(("'", '"', "(", "`")):
            run_shell(rec, state.fork(), program)
    note_environment(state, text)
    for given in _KILLS.findall(text):
        targets = re.split(r"[\s,()]+", _PARENT.sub("$PPID", given))
        rec.run(("kill", *(one.strip("'\"") for one in targets if one)))
    printed = [one for _, one in _PRINTS.findall(text)]
    return "\n".join(printed) + "\n" if printed else None


def _follow_files(rec: Recorder, state: State, text: str) -> None:
    """Record what files it changes and reads."""
    for path in _WRITES.findall(text):
        rec.write(state, path)
    for one, two in _WRITES_SECOND.findall(text):
        rec.write(state, one or two)
    for path in _written_in_loops(text):
        rec.write(state, path)
    for source, target in _MOVES.findall(text):
        rec.read(state, source)
        rec.write(state, target)
    for path in _COPIES_TO.findall(text):
        rec.write(state, path)
    for path in _READS.findall(text):
        if "://" not in path:
            rec.read(state, path)
    for sign, path, mode in _OPENS.findall(text):
        if ">" in sign or "+" in sign or set("wax+") & set(mode):
            rec.write(state, path)
        elif "<" in sign or mode:
            rec.read(state, path)
    for way, path, mode in _STREAMS.findall(text):
        (rec.read if way == "i" or mode == "in" else rec.write)(state, path)


def _follow_hosts(rec: Recorder, text: str) -> None:
    """Record what hosts it connects to."""
    if _NETS.search(text):
        for url in _URL.findall(text):
            rec.connect(host_of_url(url), address=url)
        for host in _SOCKET.findall(text):
            rec.connect(host)
    for found in _NAMED_HOST.findall(text):
        rec.connect(host_of_operand("".join(found)))
