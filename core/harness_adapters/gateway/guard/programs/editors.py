"""Editors that take their commands from words or standard input, and programs that patch."""

from __future__ import annotations

import posixpath
import re

from harness_adapters.gateway.guard.hosts import host_of_operand, host_of_url, hosts_of_urls
from harness_adapters.gateway.guard.patches import follow_patch, note_diffed
from harness_adapters.gateway.guard.pipe import Pipe
from harness_adapters.gateway.guard.programs.words import (
    Handler,
    Words,
    operands,
    option_value,
    option_values,
    run_program,
)
from harness_adapters.gateway.guard.recorder import Recorder
from harness_adapters.gateway.guard.state import State

_EX_FILE = re.compile(
    r"(?m)(?:^|[:|'\"\s])(r|re|rea|read|e|edit|w|wr|write|sav|saveas|sp|vs|split|tabe|source|so)!?\s+"
    r"(/?[^\s|!'\"]+)"
)
_EX_SHELL = re.compile(r"(?m)(?:^|[:|\s])(?:silent\s+)?(?:\d*,?\$?r\s*|%|\.|,)?!\s*([^\n]+)")
_VIM_SYSTEM = re.compile(r"\bsystem(?:list)?\(\s*['\"]([^'\"]+)['\"]")
_VIM_FILES = re.compile(
    r"\b(readfile|writefile|delete|rename)\([^)]{0,1000}?['\"]([^'\"]{1,1024})['\"]\s*+(?:,|\))"
)
_TRAMP = re.compile(r"/(?:ssh|scpx?|sftp|ftp|rsync|plink):(?:[^@:/]+@)?([\w.-]+):")
_ELISP_NET = re.compile(r"\(\s*(?:url-|eww|browse-url|package-|open-network|request)")
_ELISP = re.compile(
    r"\((shell-command|shell-command-to-string|delete-file|find-file|write-file|write-region"
    r"|insert-file-contents|load-file|load|copy-file|rename-file)[^\"]{0,1000}\"([^\"]{1,1024})\""
)
_ELISP_READS = ("find-file", "insert-file-contents", "load-file", "load")


def _script(rec: Recorder, state: State, script: str) -> None:
    for verb, path in _EX_FILE.findall(script):
        if host := host_of_url(path):
            rec.connect(host, address=path)
        elif verb[0] in "ws" and not verb.startswith(("so", "sp")):
            rec.write(state, path)
        else:
            rec.read(state, path)
    for program in [*_EX_SHELL.findall(script), *_VIM_SYSTEM.findall(script)]:
        run_program(rec, state.fork(), program)
    for verb, path in _VIM_FILES.findall(script):
        (rec.read if verb == "readfile" else rec.write)(state, path)


def _vim(rec: Recorder, state: State, words: Words, pipe: Pipe | None) -> None:
    scripts = [word[1:] for word in words[1:] if word[:1] == "+"]
    scripts += option_values(words, "-c", "--cmd")
    silent = posixpath.basename(words[0]) == "ex"  # whose ``-s`` takes no file
    takes = ("-S", "-u") if silent else ("-S", "-u", "-s")
    for file in option_values(words, *takes):
        rec.read(state, file)
        scripts.append(state.text(state.path(file)) or "")
    if pipe is not None and pipe.text:
        scripts.append(pipe.text)
    for script in scripts:
        _script(rec, state, script)
    looks = posixpath.basename(words[0]) in ("view", "vimdiff")
    for word in operands(words, ("-c", "--cmd", *takes)):
        if found := _TRAMP.match(word):
            rec.connect(host_of_operand(found.group(1)), address=word)
        elif host := host_of_url(word):
            rec.connect(host, address=word)
        elif word[:1] != "+":
            (rec.read if looks else rec.write)(state, word)


def _ed(rec: Recorder, state: State, words: Words, pipe: Pipe | None) -> None:
    for word in operands(words, ("-p",)):
        rec.write(state, word)
    if pipe is not None and pipe.text:
        _script(rec, state, pipe.text)


def _emacs(rec: Recorder, state: State, words: Words, pipe: Pipe | None) -> None:
    for word in operands(words, ("--eval", "-l", "-f", "--load", "--funcall")):
        if found := _TRAMP.match(word):
            rec.connect(host_of_operand(found.group(1)), address=word)
        else:
            rec.write(state, word)
    for script in option_values(words, "--eval", "--execute"):
        for url, host in hosts_of_urls(script) if _ELISP_NET.search(script) else ():
            rec.connect(host, address=url)
        for verb, text in _ELISP.findall(script):
            if verb.startswith("shell"):
                run_program(rec, state.fork(), text)
            else:
                (rec.read if verb in _ELISP_READS else rec.write)(state, text)


def _replacers(rec: Recorder, state: State, words: Words, pipe: Pipe | None) -> None:
    """``sd``, ``comby``, ``ast-grep``, ``rpl``: all that they are given may be rewritten."""
    name = posixpath.basename(words[0])
    if name == "sg" and "-c" in words:  # of shadow-utils: runs a command under another group
        run_program(rec, state.fork(), option_value(words, "-c") or "")
    found = operands(words, ("-p", "-r", "-l", "--pattern", "--rewrite", "--lang", "-e"))
    skip = {
        "sd": 2,
        "rpl": 2,
        "comby": 2,
        "fastmod": 2,
        "codemod": 2,
        "rimraf": 0,
        "del-cli": 0,
    }.get(name, 1)
    for word in found[skip:]:
        rec.write(state, word)


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
        if "--dry-run" not in words:
            note_diffed(rec, inner, pipe)


def _apply_patch(rec: Recorder, state: State, words: Words, pipe: Pipe | None) -> None:
    text = words[1] if len(words) > 1 else (pipe.text if pipe else None)
    if text is not None:
        follow_patch(rec, state, text)


HANDLERS: dict[str, Handler] = {
    **dict.fromkeys(
        ("vim", "vi", "nvim", "ex", "view", "vimdiff", "vim.tiny", "vim.basic", "vim.nox"), _vim
    ),
    "ed": _ed, "red": _ed, "nano": _ed, "pico": _ed, "micro": _ed,
    "emacs": _emacs, "emacsclient": _emacs,
    **dict.fromkeys(
        ("sd", "rpl", "comby", "fastmod", "codemod", "rename", "prename", "ast-grep", "sg",
         "rimraf", "del-cli", "replace-in-file"), _replacers),
    "patch": _patch, "apply_patch": _apply_patch, "applypatch": _apply_patch,
}  # fmt: skip
