"""The plays: what the scripted model says at each step of a session.

A play has no memory. The step is the number of tool calls in the conversation at hand, so retries
and any number of sessions at once need nothing kept.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import orjson

from harness_adapters.errors import BadInput, HarnessAdaptersError, did_you_mean
from harness_adapters.serve.scripted import cheats, oracle
from harness_adapters.serve.scripted.material import ANSWER, Material
from harness_adapters.serve.scripted.vocabulary import (
    Edit,
    Intent,
    Read,
    Shell,
    Verbatim,
    Vocabulary,
    Write,
)
from harness_adapters.serve.tokens import Message

PLAYS = {
    "oracle": "solves the task with read, edit or write, and shell calls",
    "nop": "says at once that it is done",
    "wasteful": "solves it like oracle, with many needless calls",
    "cheat": "goes for the reward without the work; cheat:CLASS plays one class",
    "loop": "makes the same harmless call for ever",
    "text": "answers with long text and no call",
    "garbage": "sends broken calls, one per step; garbage:CLASS sends only one sort",
}
BY_MODEL = "by-model"
"""Not a play but the choice of one by the model's name, so that one engine plays several."""

DONE = "I am done: the change is made and the work is checked."
_HUGE = 1_000_000


@dataclass(frozen=True)
class Script:
    """A session's replies in order; ``endless`` starts again instead of coming to ``final``."""

    replies: Sequence[Message]
    final: str = DONE
    endless: bool = False

    def at(self, step: int) -> Message:
        if self.endless and self.replies:
            return self.replies[step % len(self.replies)]
        return self.replies[step] if step < len(self.replies) else Message("assistant", self.final)


@dataclass(frozen=True, slots=True)
class Play:
    """A play by name, with a class for ``cheat`` and ``garbage``."""

    name: str
    variant: str = ""

    def __str__(self) -> str:
        return f"{self.name}:{self.variant}" if self.variant else self.name

    def script(self, material: Material, vocabulary: Vocabulary) -> Script:
        """What this play says on a task, in the words of a harness's tools."""
        if vocabulary.shell is None and self.name not in ("nop", "text"):
            return Script((), "There is no tool to run commands with, so I cannot act.")
        try:
            return self._script(material, vocabulary)
        except (HarnessAdaptersError, OSError, ValueError) as error:
            return Script((), f"This task cannot be played: {error}")

    def _script(self, material: Material, vocabulary: Vocabulary) -> Script:
        match self.name:
            case "nop":
                return Script(())
            case "text":
                return Script((), _long_text())
            case "loop":
                return Script(_spoken([Shell("ls")], vocabulary), endless=True)
            case "garbage":
                return Script(_spoken(_garbage(self.variant, vocabulary), vocabulary))
            case "cheat":
                cheat = cheats.find(self.variant) if self.variant else cheats.pick(material)
                if cheat is None or material.task.kind not in cheat.kinds:
                    kind = material.task.kind
                    return Script((), f"No cheat of class {self.variant!r} for a {kind} task.")
                return Script(_spoken(cheat.play(material), vocabulary))
        if not material.solvable:
            return Script((), "This task has no reference solution, so I cannot solve it.")
        intents = oracle.solve(material)
        if self.name == "wasteful":
            check = oracle.run_tests() if material.solved else Shell(f"cat {ANSWER}")
            intents = [*oracle.detours(material), *intents, check, check]
        return Script(_spoken(intents, vocabulary))


def parse_play(text: str) -> Play:
    """``NAME``, ``NAME:CLASS`` or ``by-model``.

    :raises BadInput: there is no such play or class.
    """
    name, _, variant = text.partition(":")
    if text == BY_MODEL:
        return Play(BY_MODEL)
    if name not in PLAYS:
        raise BadInput(f"no play {name!r}{did_you_mean(name, PLAYS)} (plays: {', '.join(PLAYS)})")
    if variant and name == "cheat":
        cheats.find(variant)
    elif variant and name == "garbage":
        if variant not in GARBAGE:
            raise BadInput(f"no garbage {variant!r}{did_you_mean(variant, GARBAGE)}")
    elif variant or text.endswith(":"):
        raise BadInput(f"play {name!r} has no classes")
    return Play(name, variant)


def play_of(play: Play, model: str) -> Play:
    """What a model of this name plays: with ``by-model``, the play of that name.

    :raises BadInput: there is none.
    """
    if play.name != BY_MODEL:
        return play
    if model == BY_MODEL:
        raise BadInput(f"the model's name is to be a play, not {BY_MODEL!r}")
    return parse_play(model)


def _spoken(intents: Sequence[Intent], vocabulary: Vocabulary) -> list[Message]:
    """One message per call, each with a word of what it is for."""
    return [
        Message("assistant", _purpose(intent), (call,))
        for intent in intents
        for call in vocabulary.calls(intent)
    ]


def _purpose(intent: Intent) -> str:
    match intent:
        case Read(path):
            return f"I will look at {path}."
        case Edit(path):
            return f"I will change {path}."
        case Write(path):
            return f"I will write {path}."
        case Shell():
            return "I will run a command."
        case Verbatim():
            return ""


# --- garbage: each sort spoils a sound call of the shell tool -------------------------------------


def _undeclared(name: str, arguments: str) -> Verbatim:
    return Verbatim("launch_rocket", arguments)


def _truncated(name: str, arguments: str) -> Verbatim:
    return Verbatim(name, arguments[:-2])


def _nan(name: str, arguments: str) -> Verbatim:
    return Verbatim(name, arguments[:-1] + ', "timeout": NaN}')


def _duplicate_keys(name: str, arguments: str) -> Verbatim:
    return Verbatim(name, arguments[:-1] + ", " + arguments[1:])


def _deep(name: str, arguments: str) -> Verbatim:
    depth = 2_000
    return Verbatim(name, arguments[:-1] + ', "more": ' + "[" * depth + "]" * depth + "}")


def _huge(name: str, arguments: str) -> Verbatim:
    return Verbatim(name, arguments[:-1] + ', "more": "' + "-" * _HUGE + '"}')


GARBAGE: dict[str, Callable[[str, str], Verbatim]] = {
    "undeclared": _undeclared,
    "truncated": _truncated,
    "nan": _nan,
    "duplicate_keys": _duplicate_keys,
    "deep": _deep,
    "huge": _huge,
}


def _garbage(variant: str, vocabulary: Vocabulary) -> list[Intent]:
    (sound,) = vocabulary.calls(Shell("true"))
    arguments = orjson.dumps(orjson.loads(sound.arguments)).decode()
    sorts = [GARBAGE[variant]] if variant else list(GARBAGE.values())
    return [sort(sound.name, arguments) for sort in sorts]


def _long_text() -> str:
    return " ".join(["I would change the module, but I only describe it here."] * 200)
