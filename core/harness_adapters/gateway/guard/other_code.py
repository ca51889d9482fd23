"""Programs in languages that no grammar here reads (JavaScript, Perl, Ruby, PHP ...).

Their text is reported as it stands; beyond that, file calls with a literal first argument are
read, since those are what such one-liners are made of.
"""

from __future__ import annotations

import re

from harness_adapters.gateway.guard.recorder import Recorder
from harness_adapters.gateway.guard.state import State

_LITERAL = r"""\s*\(?\s*(?:\w+\s*,\s*)?['"`]([^'"`\n]{1,4096})['"`]"""
_WRITING = re.compile(
    r"(?:writeFile|appendFile|unlink|rm|rmdir|truncate|createWriteStream|outputFile)(?:Sync)?\b"
    + _LITERAL
    + r"|(?:File|IO)\.(?:write|delete|unlink|truncate)\b"
    + _LITERAL
    + r"|FileUtils\.(?:rm\w*|touch)\b"
    + _LITERAL
    + r"|(?:file_put_contents|Deno\.writeTextFile|Deno\.remove|Bun\.write)\b"
    + _LITERAL
)
_MOVING = re.compile(
    r"(?:rename|copyFile|cp|symlink|link|copy)(?:Sync)?\s*\(\s*['\"`]([^'\"`\n]{1,4096})['\"`]\s*,"
    r"\s*['\"`]([^'\"`\n]{1,4096})['\"`]"
)
_READING = re.compile(
    r"(?:readFile|readdir|createReadStream|file_get_contents|readTextFile|IO\.read|File\.read"
    r"|readlines)(?:Sync)?\b" + _LITERAL
)
_PERL_OPEN = re.compile(
    r"open\b[^;\n]{0,200}?['\"]\s*(\+?[<>]{0,2})\s*['\"]?\s*,?\s*['\"]?([^'\"\n]{1,4096})['\"]"
)


def follow_other_code(rec: Recorder, state: State, code: str) -> None:
    """Record what a program in some other language does, as far as literals tell."""
    rec.unparsed(code)
    for found in _WRITING.finditer(code):
        rec.write(state, next(path for path in found.groups() if path is not None))
    for found in _MOVING.finditer(code):
        rec.read(state, found.group(1))
        rec.write(state, found.group(2))
    for found in _READING.finditer(code):
        rec.read(state, found.group(1))
    for found in _PERL_OPEN.finditer(code):
        if ">" in found.group(1) or "+" in found.group(1):
            rec.write(state, found.group(2))
        elif "<" in found.group(1):
            rec.read(state, found.group(2))
