"""Which parts of a Python program are worth parsing: those whose words reach something outside."""

from __future__ import annotations

import re
from bisect import bisect_right
from functools import lru_cache

from harness_adapters.gateway.guard.errors import MAX_BLOCKS, Unjudgeable
from harness_adapters.gateway.guard.names import names

# Words without which a program reaches no file, process, host or code. ``import os`` alone is
# nothing yet: what follows has to name it.
_MATTERS = names(
    """
    open exec eval compile execfile os posix subprocess shutil pathlib Path glob io codecs socket
    requests httpx aiohttp http ftplib smtplib telnetlib wget pty pexpect sh asyncio runpy
    fileinput linecache tokenize zipfile tarfile sqlite3 gzip bz2 lzma commands importlib imp
    pkgutil getattr globals locals vars builtins ctypes cffi mmap multiprocessing pickle marshal
    shelve code codeop pdb timeit trace doctest unittest pytest boto3 huggingface_hub datasets
    paramiko fabric git gitlab github websockets keyring psutil signal invoke plumbum dns xmlrpc
    imaplib poplib nntplib redis dbm mailbox logging webbrowser resource tools functions
    default_api hermes_tools terminal clock_settime clock_settime_ns get_ipython
    dotenv spwd browser_cookie3 secretstorage hvac azure kubernetes docker wandb gnupg expandvars
    """
)
_OF_SYS = names("path modules meta_path path_hooks settrace setprofile _getframe stdin")
_VERB = re.compile(
    r"environ|getenv|hub|dataset|download|read|write|load|dump|save|parse|fetch|scan|connect"
    r"|from_|to_|unlink|rename|symlink|url|kaggle"
    r"|path|file|\A__(?!(?:name|main|init|post_init|repr|str|eq|ne|lt|le|gt|ge|hash|len|iter"
    r"|next|call"
    r"|doc|all|future|slots|version|enter|exit|add|sub|mul|neg|bool|int|float|contains|getitem"
    r"|setitem|delitem|annotations)__)",
    re.IGNORECASE,
)
_IDENTIFIER = re.compile(r"[A-Za-z_]\w*")
_MAX_WORD = 64
_SHORT = 2048  # characters of a program whose output is worked out although it reaches nothing
_BLOCK = re.compile(r"^(?:def|class|async[ \t]+def)\b", re.MULTILINE)
_DECORATED = re.compile(r"^@[^\n]*\n\Z", re.MULTILINE)
_DEDENT = re.compile(r"^[^\s#)\]}]", re.MULTILINE)
_LITERAL = re.compile(
    r"#[^\n]*+|'''(?:[^\\']|\\.|'(?!''))*+'''|\"\"\"(?:[^\\\"]|\\.|\"(?!\"\"))*+\"\"\""
    r"|'(?:[^\\'\n]|\\.)*+'|\"(?:[^\\\"\n]|\\.)*+\"",
    re.DOTALL,
)
_PLAIN_IMPORT = re.compile(r"^[ \t]*+import[ \t]++[\w., \t]++$", re.MULTILINE)


def may_matter(program: str) -> bool:
    """Whether the program may reach a file, process, host or further code; never no when it does.

    A scan of its words only: identifiers are no strings, so nothing hides one from it but letters
    beyond ASCII, which Python folds, and line joins.
    """
    if not program.isascii() or "\\\n" in program:
        return True
    return _names_what_matters(_PLAIN_IMPORT.sub(_renamed, program))


def may_be_piped(program: str) -> bool:
    """Whether it is a short one that prints: what it prints may be run by another."""
    return len(program) <= _SHORT and ("print" in program or "stdout" in program)


def without_cold_blocks(program: str) -> str:
    """The program without functions and classes that name nothing that matters: half of the time
    goes into reading them. Values from inside them reach no code outside by name.

    :raises Unjudgeable: too many of them.
    """
    if not program.isascii() or "\\\n" in program or len(program) <= _SHORT:
        return program
    strings: list[tuple[int, int]] = []
    if '"""' in program or "'''" in program:
        strings = [m.span() for m in _LITERAL.finditer(program) if "\n" in m.group()]
    starts = [start for start, _ in strings]

    def in_string(at: int) -> bool:
        i = bisect_right(starts, at) - 1
        return i >= 0 and at < strings[i][1]

    kept: list[str] = []
    copied = at = 0
    while block := _BLOCK.search(program, at):
        at = block.end()
        if in_string(block.start()) or _DECORATED.search(
            program[max(0, block.start() - 512) : block.start()]
        ):
            continue
        end = at
        if len(kept) > MAX_BLOCKS:
            raise Unjudgeable(f"a Python program of more than {MAX_BLOCKS} functions")
        while (dedent := _DEDENT.search(program, end)) and in_string(dedent.start()):
            end = dedent.end()
        stop = dedent.start() if dedent else len(program)
        at = stop
        body = program[block.start() : stop]
        if not (_names_what_matters(body) or "global" in body or "nonlocal" in body):
            kept.append(program[copied : block.start()])
        else:
            kept.append(program[copied:stop])
        copied = stop
    kept.append(program[copied:])
    return "".join(kept)


def _names_what_matters(text: str) -> bool:
    words = set(_IDENTIFIER.findall(text))
    return (
        not words.isdisjoint(_MATTERS)
        or ("sys" in words and not words.isdisjoint(_OF_SYS))
        or any(len(word) > _MAX_WORD or _is_verb(word) for word in words)
    )


@lru_cache(4096)
def _is_verb(word: str) -> bool:
    return _VERB.search(word) is not None


def _renamed(found: re.Match[str]) -> str:
    """``import os as o`` stays to be seen; what ``import os`` means has to name it again."""
    return found.group() if " as " in found.group().replace("\t", " ") else ""
