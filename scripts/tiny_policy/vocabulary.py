"""The policy's tokenizer: every name is one token, and so is every constant
text, such as a paragraph of a harness's prompt or the code between the names of a command.

That makes a session a few hundred tokens long, and copying a name one step.
"""

from __future__ import annotations

import datetime
import itertools
import json
import random
import re
from collections import Counter
from collections.abc import Iterable, Iterator

from commands import command
from harness_prompts import HARNESSES, prompt
from rendering import pieces, render
from sessions import ANSWER, FINAL, REDIRECT, session
from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, pre_tokenizers

from harness_adapters.tasks.questions import Question
from harness_adapters.tasks.questions.query import Condition, Measure, Op, Query
from harness_adapters.tasks.questions.vocabulary import CATEGORIES, NUMBERS, SUBJECTS, VARIANTS

PAD, START, END = "<|endoftext|>", "<|im_start|>", "<|im_end|>"
MARKS = ("<tool_call>", "</tool_call>", "<tool_response>", "</tool_response>")
_WORDS = r"_?[A-Za-z]+ ?|\d{1,2}|\n+| +|[^A-Za-z\d\s_]+ ?|_|\s"
_FREQUENT = 5  # times that a word must come to be one token
_HOLE = "\0"
_OPS = (Op.IS, Op.ABOVE, Op.BELOW)
_MEASURES = (Measure.SUM, Measure.MEAN, Measure.MIN, Measure.MAX, Measure.COUNT)
_PARTS = re.compile(r"(?<=; )(?=[rgv\[p])|(?<=print\()|(?<=lambda k:)")
_PLACES = re.compile(r"\{(?:day|model|kernel)\}|</?tool_(?:call|response)>")
_PARAGRAPHS = re.compile(r"(?<=\n\n)|(?<=\n)(?=\{\"type\")")
_CONVERSATION = (
    *FINAL,
    *("system\n", "user\n", "assistant\n", "(no output)", ".csv", ANSWER, REDIRECT),
    "Write only the answer to `answer.txt` in the current directory.",
    "Round to 2 decimals; an error of at most 0.01 is accepted.",
    *("head -n 1 ", "head -n 2 ", "tail -n 1 ", "wc -l ", "grep -c ", "cat "),
    *('"}}\n', '", "limit": 2}}\n', '", "content": "'),
)
_RESULTS = {
    "pi": (
        " more lines in file. Use offset=3 to continue.]\n",
        "Successfully wrote ",
        " bytes to answer.txt\n",
    ),
    "opencode": (
        "\n<path>/work/",
        "</path>\n<type>file</type>\n<content>\n1: ",
        "\n2: ",
        "\n\n(Showing lines 1-2 of ",
        ". Use offset=3 to continue.)\n</content>\n",
    ),
    "hermes": (
        '\n{"output": "',
        '", "exit_code": 0, "error": null}\n',
        '\n{"content": "1|',
        *("\\n", "\\n2|"),
        '\\n3|", "total_lines": ',
        ', "file_size": ',
        ', "truncated": true, "hint": "Use offset=3 to continue reading (showing 1-2 of ',
        ' lines)", "is_binary": false, "is_image": false}\n',
        '\n{"bytes_written": ',
        ', "dirs_created": true, "lint": {"status": "skipped", "message": "No linter for .txt '
        'files"}, "resolved_path": "/work/answer.txt", "files_modified": ["/work/answer.txt"]}\n',
    ),
}


def names() -> list[str]:
    """The words that a session copies from its question into a command."""
    found = [subject.name for subject in SUBJECTS] + [f"_{variant}" for variant in VARIANTS]
    found += [*NUMBERS, *CATEGORIES]
    found += [value for values in CATEGORIES.values() for value in values]
    return list(dict.fromkeys(found))


def numbers() -> list[str]:
    """Digits come one or two at a time."""
    return [f"{number}" for number in range(10)] + [f"{number:02}" for number in range(100)]


def build(questions: Iterable[Question]) -> Tokenizer:
    """The tokenizer: every word of sessions about ``questions`` is one id, other text is bytes."""
    splitter = pre_tokenizers.Sequence(
        [
            pre_tokenizers.Split(Regex(_WORDS), "isolated"),
            pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
        ]
    )
    counts = Counter(
        word for text in _corpus(questions) for word, _ in splitter.pre_tokenize_str(text)
    )
    frequent = [word for word, count in counts.most_common() if count >= _FREQUENT]
    words = [PAD, START, END, *sorted(pre_tokenizers.ByteLevel.alphabet()), *names(), *numbers()]
    ids = {word: number for number, word in enumerate(dict.fromkeys([*words, *frequent]))}
    tokenizer = Tokenizer(models.BPE(vocab=ids, merges=[], ignore_merges=True))
    tokenizer.pre_tokenizer = splitter
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.add_special_tokens([PAD, START, END])
    constant = [text for text in dict.fromkeys(_constants()) if len(text) > 1]
    tokenizer.add_tokens(
        [AddedToken(text, normalized=False, special=False) for text in [*MARKS, *constant]]
    )
    for name in names():
        if len(tokenizer.encode(name).ids) > 1:  # a constant text lies within it
            raise ValueError(f"the name {name!r} is no single token")
    return tokenizer


def _corpus(questions: Iterable[Question]) -> Iterator[str]:
    days = (datetime.date.fromordinal(738_000 + number) for number in range(365))
    yield "\n".join(day.strftime("%a %b %d %A %B tiny-policy") for day in days)
    dice = random.Random(0)
    for question in questions:
        found = pieces(prompt("pi"), question, session(question, dice), dice)
        yield question.instruction + "".join(text for text, _ in found[1:])


def _constants() -> Iterator[str]:
    """Texts that become one token each."""
    yield from _CONVERSATION
    for query in _shapes():
        yield from _between_names(query)
    for harness in HARNESSES:
        yield from _prompt_constants(harness)
        yield from _RESULTS[harness]


def _shapes() -> Iterator[Query]:
    """One query of every shape, with holes for names."""
    conditions = ((), *((Condition(_HOLE, op, _HOLE),) for op in _OPS))
    for measure, group, where, smallest in itertools.product(
        _MEASURES, (None, _HOLE), conditions, (False, True)
    ):
        column = None if measure is Measure.COUNT else _HOLE
        yield Query(measure=measure, column=column, where=where, group=group, smallest=smallest)


def _between_names(query: Query) -> Iterator[str]:
    escaped = json.dumps(command(query, f"{_HOLE}.csv"))[1:-1]
    for text in escaped.split(json.dumps(_HOLE)[1:-1]):
        # Loading, choosing rows and printing recombine, so each is a token of its own.
        yield from filter(None, _PARTS.split(text))


def _prompt_constants(harness: str) -> Iterator[str]:
    """Paragraphs of the system message, tools, and how a call begins."""
    captured = prompt(harness)
    text = render([{"role": "system", "content": captured.system}], captured.tools, False)
    text = text.removeprefix(f"{START}system\n").removesuffix(f"{END}\n")
    for constant in _PLACES.split(text):
        yield from _PARAGRAPHS.split(constant)
    for tool in captured.tools:
        first = tool["function"]["parameters"]["required"][0]
        if first in ("command", "path", "filePath"):
            yield f'\n{{"name": "{tool["function"]["name"]}", "arguments": {{"{first}": "'
