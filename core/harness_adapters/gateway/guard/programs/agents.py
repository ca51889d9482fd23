"""Programs that are agents themselves, given a prompt."""

from __future__ import annotations

import re

from harness_adapters.gateway.guard.pipe import Pipe
from harness_adapters.gateway.guard.programs.words import (
    Handler,
    Words,
    operands,
    option_value,
    option_values,
)
from harness_adapters.gateway.guard.prompts import follow_prompt
from harness_adapters.gateway.guard.recorder import Recorder
from harness_adapters.gateway.guard.state import State

# Program -> options that hold the prompt, and the verbs that operands follow.
_AGENTS: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "claude": (("-p", "--print"), ()), "codex": ((), ("exec", "e")),
    "opencode": ((), ("run",)), "gemini": (("-p", "--prompt", "-i"), ()),
    "aider": (("-m", "--message", "--msg"), ()), "pi": (("-p", "--print"), ()),
    "goose": (("-t", "--text"), ("run",)), "hermes": (("-q", "--query"), ("chat",)),
    "cursor-agent": (("-p", "--print"), ()), "llm": ((), ()), "amp": (("-x", "--execute"), ()),
    "qwen": (("-p", "--prompt"), ()), "crush": ((), ("run",)), "copilot": (("-p", "--prompt"), ()),
}  # fmt: skip
_OWN_FILES = (
    "AGENTS.md",
    "CLAUDE.md",
    "GEMINI.md",
    ".cursorrules",
    ".github/copilot-instructions.md",
)
_BARE_FOLDER = re.compile(r"(?<![\w/.-])(tests|solution|logs/verifier)\b(?!\.\w)")
_MOST_WORDS = 256
_SHORTEST = 12  # characters of a word that may be a prompt


def _agent(rec: Recorder, state: State, words: Words, pipe: Pipe | None) -> None:
    options, verbs = _AGENTS[words[0].rpartition("/")[2]]
    given = operands(words)
    prompts = [
        *option_values(words, *options),
        *(given[1:] if given[:1] and given[0] in verbs else given),
    ]
    if pipe is not None and pipe.text:
        prompts.append(pipe.text)
    # What it reads by itself, and files that the prompt points to: of this session's making.
    named = [
        word.strip("`'\"@.,:;()") for prompt in prompts for word in prompt.split()[:_MOST_WORDS]
    ]
    for file in dict.fromkeys((*_OWN_FILES, *(word for word in named if "." in word))):
        if text := state.known(file):
            prompts.append(text)
    # What it may edit stands beside the prompt.
    files = "\n".join(word for word in given if "." in word and " " not in word)
    prompts = [f"{prompt}\n{files}" if " " in prompt else prompt for prompt in prompts]
    inner = state.fork()
    if folder := option_value(words, "-C", "--cd", "--cwd", "--dir"):
        inner.cwd = state.path(folder)
        if inner.cwd == "/":  # ``what the files under tests and solution check``
            prompts = [_BARE_FOLDER.sub(r"/\1", prompt) for prompt in prompts]
    for prompt in dict.fromkeys(prompts):
        if len(prompt) >= _SHORTEST and " " in prompt:
            follow_prompt(rec, inner.fork(), prompt)


HANDLERS: dict[str, Handler] = dict.fromkeys(_AGENTS, _agent)
