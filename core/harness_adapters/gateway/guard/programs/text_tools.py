"""Programs that search and turn text, and the small languages that they take."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Sequence

from harness_adapters.gateway.guard.environment import ALL
from harness_adapters.gateway.guard.other_code import note_environment
from harness_adapters.gateway.guard.paths import looks_like_path
from harness_adapters.gateway.guard.pipe import Pipe
from harness_adapters.gateway.guard.programs.files import is_recursive, recursive_root
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

_SED_WRITES = re.compile(r"(?:^|[;\n}/gp0-9])[ \t]*+w[ \t]++(\S+)")
_SED_READS = re.compile(r"(?:^|[;\n}$0-9])[ \t]*+[rR][ \t]++(\S+)")
_SED_RUNS = re.compile(r"(?:^|[;\n}0-9$/])[ \t]*+e[ \t]++([^\n]+)")
# ``s/old/new/``. A backslash is never one of the others, or a text of them takes 2**n.
_SED_RUNS_LINE = re.compile(
    r"s([!-\[\]-~])(?:\\.|(?!\1)[^\\\n])*+\1((?:\\.|(?!\1)[^\\\n])*+)\1[gpIi0-9]*+e"
)
_SED_RUNS_ODDLY = re.compile(  # between characters that hardly anybody would choose
    r"s([^\\\n -~])(?:\\.|(?!\1)[^\\\n]){0,1000}+\1((?:\\.|(?!\1)[^\\\n]){0,1000}+)\1[gpIi0-9]*+e"
)
_PUTS_IN = re.compile(r"s([/|#,@!:~%])(?:\\.|(?!\1)[^\\])*+\1((?:\\.|(?!\1)[^\\])*+)\1", re.DOTALL)
_INSERTS = re.compile(r"(?:^|[;\n0-9$/}])[ \t]*+[iac][ \t]*+\\?+[ \t]*+\n?+([^\n]+)")
_AWK_SYSTEM = re.compile(r"\b(?:system\s*+\(|\|&?)\s*+\(?+\s*+\"((?:[^\"\\]|\\.){0,1024}+)\"")
# The strings of an awk program, one after the other: what is run before and after them.
_AWK_STRING = re.compile(
    r"\\.|(system\s*+\(\s*+|\|\s*+)?\"((?:[^\"\\]|\\.)*+)\"(\s*+\|\s*+(?:&\s*+)?getline)?",
    re.DOTALL,
)
_AWK_READS = re.compile(
    r"getline\s*+(?:\w{1,64}+\s*+)?<\s*+\(?+\s*+\"([^\"]+)\"|ARGV\[\d+\]\s*=\s*\"([^\"]+)\""
)
_AWK_WRITES = re.compile(r">>?+\s*+\(?+\s*+\"([^\"]+)\"")
_AWK_NET = re.compile(r"/inet\d?/\w+/\d+/([^/\"]+)/")
_SQLITE_FILE = re.compile(
    r"(?m)^[ \t]*\.(read|import|output|once|open|restore|backup|save|log|cd)\s+(?:--?\w+\s+)*(\S+)"
    r"|\b(?:readfile|attach(?:\s+database)?)\s*\(?\s*'([^']+)'",
    re.IGNORECASE,
)
_SQL_CHANGES = re.compile(
    r"(?i)\b(?:update|insert\s+(?:or\s+\w+\s+)?into|delete\s+from|drop|alter|create|replace\s+into"
    r"|vacuum)\b"
)
_IN_PLACE = re.compile(r"-[nErsz]*i|--in-place")
_JQ_ALL = re.compile(r"(?<![\w.$\"])(?:\$ENV|env)\b(?!\s*[.\[\":])")
_JQ_ONE = re.compile(r"(?<![\w.])(?:\$ENV|env)\.(\w+)")
_SQL_LITERAL = re.compile(r"'((?:/|\.\./|[a-z]+://)[^'\n]{1,500})'")
_SQL_WRITES = re.compile(r"(?:\bto|writefile\s*\(|into\s+outfile)\s*'([^']+)'", re.IGNORECASE)
_SQL_SHELL = re.compile(r"(?m)^[ \t]*(?:\.(?:shell|system)|\\!|system)\s+(.+)")


def _grep(rec: Recorder, state: State, words: Words, pipe: Pipe | None) -> None:
    found = operands(
        words,
        ("-e", "-f", "-A", "-B", "-C", "-m", "-g", "-t", "--include", "--exclude", "--glob"),
    )
    told = option_value(words, "-e", "--regexp", "-f", "--file") is not None
    if not told and "--files" not in words:
        found = found[1:]
    for word in found:
        rec.read(state, word)
    name = posixpath.basename(words[0])
    if name in ("rg", "ag", "ack") or is_recursive(words):
        recursive_root(rec, state, found)
    if told and (patterns := option_value(words, "-f", "--file")) is not None:
        rec.read(state, patterns)
    if (program := option_value(words, "--pre")) is not None:
        run_program(rec, state.fork(), program)


def _sed(rec: Recorder, state: State, words: Words, pipe: Pipe | None) -> None:
    found = operands(words, ("-e", "-f", "--expression", "--file", "-l"))
    scripts = option_values(words, "-e", "--expression")
    file = option_value(words, "-f", "--file")
    if file is not None:
        rec.read(state, file)
        scripts.append(state.text(state.path(file)) or "")
    if not scripts:
        scripts, found = found[:1], found[1:]
    in_place = any(map(_IN_PLACE.match, words[1:]))
    for script in scripts:
        for target in _SED_WRITES.findall(script):
            rec.write(state, target)
        for target in _SED_READS.findall(script):
            rec.read(state, target)
        for program in [
            *_SED_RUNS.findall(script),
            *(found for _, found in _SED_RUNS_LINE.findall(script)),
            *(found for _, found in _SED_RUNS_ODDLY.findall(script)),
        ]:
            run_program(rec, state.fork(), program)
    for word in found:
        if in_place:
            rec.write(state, word, edited(state, word, scripts))
        else:
            rec.read(state, word)


def edited(state: State, word: str, scripts: Sequence[str]) -> str | None:
    """A file's text after an edit by ``sed`` or ``perl``: what was known, and what they put in."""
    pieces = [put for script in scripts for _, put in _PUTS_IN.findall(script)]
    pieces += [text for script in scripts for text in _INSERTS.findall(script)]
    new = "\n".join(pieces).replace("\\n", "\n").replace("\\t", "\t")
    if not new.strip():
        return None
    return f"{state.text(state.path(word)) or ''}\n{new}\n"


def _awk(rec: Recorder, state: State, words: Words, pipe: Pipe | None) -> None:
    found = operands(words, ("-F", "-v", "-f", "-i", "--file", "--assign"))
    if (script := option_value(words, "-f", "--file")) is not None:
        rec.read(state, script)
        program = state.text(state.path(script)) or ""
    else:
        program, found = "".join(found[:1]), found[1:]
    for variable in option_values(words, "-v", "--assign"):
        name, _, value = variable.partition("=")
        if name.isidentifier():
            quoted = '"' + value.replace("\\", "\\\\") + '"'
            program = re.sub(rf"\b{name}\b", quoted, program)
    program = re.sub(r'"\s*"', "", program)  # strings side by side are one
    note_environment(state, program)
    if re.search(r"system\s*\(|getline|\|", program):
        rec.unparsed(program)
    for text in _AWK_SYSTEM.findall(program):  # also where a pattern's quote is no string's
        run_program(rec, state.fork(), text.replace('\\"', '"'))
    for before, text, after in _AWK_STRING.findall(program):
        if before or after:
            run_program(rec, state.fork(), text.replace('\\"', '"'))
    for one in _AWK_READS.findall(program):
        rec.read(state, "".join(one))
    for one in _AWK_WRITES.findall(program):
        rec.write(state, one)
    for host in _AWK_NET.findall(program):
        rec.connect(host)
    in_place = option_value(words, "-i") == "inplace"
    for word in found:
        if in_place:
            rec.write(state, word)
        elif "=" not in word:
            rec.read(state, word)


def _jq(rec: Recorder, state: State, words: Words, pipe: Pipe | None) -> None:
    for word in words[1:]:
        if _JQ_ALL.search(word):
            state.environment[ALL] = None
        for name in _JQ_ONE.findall(word):
            state.environment[name] = None
    in_place = posixpath.basename(words[0]) == "yq" and bool({"-i", "--inplace"} & set(words))
    for word in operands(words, ("--arg", "--argjson", "--indent", "-f", "--from-file"))[1:]:
        if looks_like_path(word) or "." in word:
            (rec.write if in_place else rec.read)(state, word)
    for i, word in enumerate(words):
        if word in ("--slurpfile", "--rawfile", "--argfile") and i + 2 < len(words):
            rec.read(state, words[i + 2])


def _sql(rec: Recorder, state: State, words: Words, pipe: Pipe | None) -> None:
    """``sqlite3`` and its like: commands of their own, and files that statements name."""
    found = operands(words, ("-cmd", "-separator", "-init", "-c", "-e", "-h", "-U", "-d", "-f"))
    name = posixpath.basename(words[0])
    if name in ("sqlite3", "duckdb"):
        changes = any(map(_SQL_CHANGES.search, [*found[1:], pipe.text or "" if pipe else ""]))
        for word in found[:1]:
            (rec.write if changes else rec.read)(state, word)
    for script in option_values(words, "-init", "-f", "--file"):
        rec.read(state, script)
    texts = [*found[1:], *option_values(words, "-cmd", "-c", "-e", "--command", "--execute")]
    for text in [*texts, pipe.text if pipe and pipe.text else ""]:
        for one in _SQLITE_FILE.finditer(text):
            verb = one.group(1) or "read"
            writes = verb in ("output", "once", "backup", "save", "dump", "log")
            (rec.write if writes else rec.read)(state, (one.group(2) or one.group(3)).strip("'\""))
        for path in _SQL_WRITES.findall(text):
            rec.write(state, path)
        literals = _SQL_LITERAL.findall(text)
        path_operands(rec, state, [one for one in literals if name == "duckdb" or "://" not in one])
        for one in _SQL_SHELL.findall(text):
            run_program(rec, state.fork(), one)


HANDLERS: dict[str, Handler] = {
    **dict.fromkeys(("grep", "egrep", "fgrep", "rg", "ag", "ack", "zgrep", "ugrep", "rga"), _grep),
    **dict.fromkeys(("sed", "gsed", "ssed"), _sed),
    **dict.fromkeys(("awk", "gawk", "mawk", "nawk"), _awk),
    **dict.fromkeys(("jq", "yq", "gojq"), _jq),
    **dict.fromkeys(("sqlite3", "duckdb", "psql", "mysql", "sqlite"), _sql),
}
