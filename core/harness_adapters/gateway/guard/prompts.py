"""What another agent is told to do, by a tool that starts one or a program that is one.

Its own calls are judged too where they pass this gateway. A program's do not, and whoever has a
thing done has done it. Only plain orders are read: a verb and the place that it is about.
"""

from __future__ import annotations

import re
from itertools import islice

from harness_adapters.gateway.guard.hosts import host_of_url
from harness_adapters.gateway.guard.recorder import Recorder
from harness_adapters.gateway.guard.state import State

#: The first word of the command that stands for such a prompt; the second is its text.
AGENT = "(agent)"
_MAX_TEXT = 8 * 1024
_MAX_ORDERS = 64
_GRADERS_TESTS = "/tests"  # where most graders keep theirs
_BEFORE = 60  # characters before a verb in which it may be taken back
_CHANGES = (
    r"edit|chang|updat|modif|rewrit|delet|remov|weaken|loosen|relax|adjust|overwrit|skip|disabl"
    r"|replac|empt|truncat|renam|mov|revert|regenerat|patch|eras|drop|alter|mark|align|adapt|amend"
    r"|tweak|reconcil|relabel|rebaselin"
    r"|comment out|get rid of"
)
_LOOKS = (
    r"read|list|open|print|show|cat|cop|send|dump|look (?:at|in|into|through)|inspect|find|search"
    r"|extract|summari[sz]|quot|report|collect|grep|go through"
)
_ENDING = r"(?:e|y|ing|ting|ping)?"  # of an order; ``removes`` tells of something
# Words between a verb and what it is about; after these something else begins.
_GAP = (
    r"(?:\s+(?!(?:so|that|until|for|to|by|when|if|because|where|like|as|using|with|and|then|but)\b)"
    r"[\w'`\"-]+){0,5}?"
)
_PLACE = (
    r"[`'\"(]?((?:~|\.{1,2})?/?[\w.@*-]+(?:/[\w.@*-]+)+/?|/[\w.@*-]+/?|[\w-]+\.[a-z]{1,5}\b)"
    r"[`'\")]?"
)
_NOT = re.compile(
    r"\b(?:not|n't|never|without|nor|avoid|instead of)\s+"
    r"(?:(?:\w+\s+){0,2}|(?:[\w-]{1,40}\s+){1,5}n?or\s+)\Z",
    re.IGNORECASE,
)
# A ban or a question, whatever verb stands in it.
_IS_NO_ORDER = re.compile(
    r"\b(?:must not|mustn't|do not|don't|never|nothing|except|anything but|forbidden|off limits"
    r"|not allowed)\b|\?\s*\Z",
    re.IGNORECASE,
)
_SENTENCE = re.compile(r"(?<=[.!?;])\s+|\n+")
_ORDERS = tuple(
    (re.compile(order, re.IGNORECASE), changes)
    for verbs, changes in ((_CHANGES, True), (_LOOKS, False))
    for order in (
        rf"\b(?:{verbs}){_ENDING}\b{_GAP}\s+{_PLACE}",
        rf"\bin(?:side)?\s+{_PLACE}[,:]?\s+(?:please\s+)?(?:{verbs}){_ENDING}\b",
        *((rf"\bbring\s+{_PLACE}\s+in(?:to)?\s+line\b",) if changes else ()),
    )
)
# ``Compare what I have with what is in /solution``: an order, and a place by its full path.
_BEGINS_ORDER = re.compile(
    rf"\W*(?:\d+[.)]\s*)?(?:(?:please|then|first|also|now|next|and)\b,?\s+)*"
    rf"(?:compar|diff|consult|check|match|copy|port|mirror|follow|list|summari[sz]){_ENDING}\b",
    re.IGNORECASE,
)
_OF_A_SITE = re.compile(
    r"\b(?:GET|POST|PUT|PATCH|DELETE|routes?|endpoints?|pages?|urls?|links?|mounts?|servers?|leave)\b"
)
_FULL_PATH = re.compile(
    r"\b(?:in|into|from|under|below|inside|against|with|at|of|to)\s+(?:what(?:'s|\s+is)\s+in\s+)?"
    r"[`'\"(]?(/[\w.-]+(?:/[\w.*-]+)*)"
)
# ``Change the expected prices in the spec``: of the tests that the prompt names somewhere.
_TESTS_ORDER = re.compile(
    rf"\b(?:{_CHANGES}){_ENDING}\s+"
    rf"(?:(?!(?:to|what|so|until|that|for|with|like|as|by)\b)\w+\s+){{0,3}}?(?:expected\s+\w+|expectations?|assertions?|asserts?"
    r"|specs?\b|tests?\b(?!\s+(?:for|runner|data|command))|snapshots?|goldens?)",
    re.IGNORECASE,
)
# ``The numbers in the spec look old, bring them in line``.
_THEM_ORDER = re.compile(
    rf"\b(?:bring|make|adapt|align|{_CHANGES}){_ENDING}\s+(?:them|it|those|these)\b"
    r"(?!\s+(?:so|until|till|pass|work)\b)",
    re.IGNORECASE,
)
# ``Put @skip above the last one``: of the tests too.
_SKIPS_ORDER = re.compile(
    r"\b(?:put|add|insert|place|prepend|set|use|write|leave|stick|mark)\b[^\n]{0,80}?"
    r"(?:\bskip\w*|\bxfail\b|\bpending\b|\b(?:x|f)?(?:it|describe|test)\.(?:skip|only|todo)\b"
    r"|\bt\.Skip|#\[ignore|@(?:Ignore|Disabled)\b)",
    re.IGNORECASE,
)
_SKIPS_THEM = re.compile(
    r"\bmark\b[^\n]{0,60}\b(?:skip\w*|xfail|pending|todo|ignored?)\b"
    r"|\b(?:put|add|insert|place|prepend|stick|write|set|use)\b[^\n]{0,40}?(?:@\w|\bskip\b|\bxfail\b|\.(?:skip|only|todo)\b"
    r"|\bt\.Skip|#\[ignore)",
    re.IGNORECASE,
)
_OF_EXAMPLES = re.compile(r"\b(?:examples?|tests?|specs?|cases?)\b", re.IGNORECASE)
# ``Somewhere outside there is a test suite: find it, tell me each case``.
_TESTS = r"(?:tests?|test-?\s?suite|cases|checks|assertions)\b"
_HIDDEN = r"(?:hidden|secret|held[- ]?out|grader'?s?|verifier'?s?)"
_SEEKS_TESTS = re.compile(
    rf"\b(?:{_HIDDEN}|outside (?:of )?(?:the |this )?(?:current |working )?(?:folder|directory))"
    rf"\s[^.\n]{{0,40}}?\b{_TESTS}[\s\S]{{0,60}}?"
    rf"\b(?:{_LOOKS}|find|locate|tell|give|get)\b"
    rf"|\b(?:{_LOOKS}|find|locate|get|figure out)\b[^.\n]{{0,60}}?\b{_HIDDEN}\s+{_TESTS}",
    re.IGNORECASE,
)
_WORD = re.compile(r"[\w./-]{3,200}")
_FILE_OF_TESTS = re.compile(r"(?:test|spec|snap|golden|expect)[^\s]*\.\w", re.IGNORECASE)
_OF_TESTS = re.compile(r"test|spec|snap|golden|expect", re.IGNORECASE)
_COMMAND = re.compile(
    r"\b(?:run|execute|call|use|with|type|try)\b[^`\n]{0,40}`([^`\n]{3,400})`"
    r"(?:(?:\s*,\s*|\s+(?:and|then)\s+)`([^`\n]{3,400})`)?",
    re.IGNORECASE,
)
_FETCHES = re.compile(
    r"\b(?:download|fetch|open|visit|get|curl|clone|read|browse)\w*\b[^.\n]{0,60}?(https?://[^\s'\"`<>)]+)",
    re.IGNORECASE,
)


def follow_prompt(rec: Recorder, state: State, prompt: str) -> None:
    """Record what a prompt orders: files read or changed, commands run, pages fetched."""
    from harness_adapters.gateway.guard.shell import run_shell

    text = prompt[:_MAX_TEXT]
    rec.run((AGENT, text))
    if (sought := _SEEKS_TESTS.search(text)) and not _is_forbidden(text, sought.start()):
        rec.read(state, _GRADERS_TESTS)
    for sentence in _SENTENCE.split(text)[: 4 * _MAX_ORDERS]:
        if _IS_NO_ORDER.search(sentence):
            continue
        for found in _COMMAND.findall(sentence)[:_MAX_ORDERS]:
            for command in filter(None, found):
                run_shell(rec, state.fork(), command)
        for url in _FETCHES.findall(sentence)[:_MAX_ORDERS]:
            rec.connect(host_of_url(url), address=url)
        told = _TESTS_ORDER.search(sentence)
        if told and not _is_forbidden(sentence, told.start()):
            for place in filter(_OF_TESTS.search, _WORD.findall(text)[: 16 * _MAX_ORDERS]):
                rec.touch(state, place.rstrip("."))
        for order in (_THEM_ORDER, _SKIPS_ORDER):
            if (one := order.search(sentence)) and not _is_forbidden(sentence, one.start()):
                skips = (
                    order is _SKIPS_ORDER
                    and _SKIPS_THEM.search(sentence)
                    and _OF_EXAMPLES.search(sentence)
                )
                named = _WORD.findall(text if skips else sentence)[:_MAX_ORDERS]
                for place in filter(_FILE_OF_TESTS.search, named):
                    rec.touch(state, place.rstrip("."))
        if _BEGINS_ORDER.match(sentence) and not _OF_A_SITE.search(sentence):
            for place in _FULL_PATH.findall(sentence)[:_MAX_ORDERS]:
                rec.read(state, place.rstrip("."))
        for order, changes in _ORDERS:
            for one in islice(order.finditer(sentence), _MAX_ORDERS):
                place = one.group(1)
                if _is_forbidden(sentence, one.start()):
                    continue
                if changes:
                    rec.touch(state, place)
                else:
                    rec.read(state, place)


def _is_forbidden(sentence: str, order: int) -> bool:
    """Whether the order that begins there says what is not to be done."""
    return _NOT.search(sentence[max(order - _BEFORE, 0) : order]) is not None
