"""A rule's second try: one call judged in a fresh process, bounded in time and memory.

What goes in is pickled by ourselves for ourselves; what comes back is JSON, since by then foreign
code has run over there.
"""

from __future__ import annotations

import asyncio
import json
import math
import os
import pickle
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from harness_adapters.gateway.guard.errors import Unjudgeable
from harness_adapters.types import Finding, Severity

if TYPE_CHECKING:
    from harness_adapters.gateway.guard.calls import ToolCall
    from harness_adapters.gateway.guard.ledger import Ledger
    from harness_adapters.protocols import GuardRule

_MAX_MEMORY = 2 * 1024**3
_MAX_REPLY = 64 * 1024
_CHILD = "import sys; sys.path[:] = {path!r}\nfrom {module} import answer\nanswer({seconds})"


@dataclass(frozen=True, slots=True)
class SecondTry:
    """``fault`` is empty when the rule came to an end."""

    finding: Finding | None = None
    fault: str = ""


async def judge_in_fresh_process(
    rule: GuardRule, call: ToolCall, ledger: Ledger, *, seconds: float
) -> SecondTry:
    """Judge one call elsewhere; never raises for anything that the rule does.

    The rule must be importable under its own name; one that lives in ``__main__`` is not.
    """
    try:
        packed = pickle.dumps((rule, call.id, call.name, call.raw, ledger))
    except Exception as error:  # pickling runs the rule's own code
        return SecondTry(fault=f"cannot be sent to a fresh process: {error}")
    code = _CHILD.format(path=sys.path, module=__spec__.name, seconds=math.ceil(seconds) + 1)
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-c",
        code,
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.DEVNULL,
        start_new_session=True,
    )
    try:
        async with asyncio.timeout(seconds):
            reply, _ = await process.communicate(packed)
    except TimeoutError:
        return SecondTry(fault=f"no answer within {seconds:g} s")
    finally:
        if process.returncode is None:
            os.killpg(process.pid, 9)
            await process.wait()
    return _understood(reply[-_MAX_REPLY:], process.returncode)


def _understood(reply: bytes, code: int | None) -> SecondTry:
    try:
        answer: dict[str, Any] = json.loads(reply)
        if fault := answer.get("fault"):
            return SecondTry(fault=str(fault))
        if (found := answer["finding"]) is None:
            return SecondTry()
        span = found["span"]
        return SecondTry(
            finding=Finding(
                rule=str(found["rule"]),
                severity=Severity(found["severity"]),
                message=str(found["message"]),
                span=None if span is None else (int(span[0]), int(span[1])),
            )
        )
    except (ValueError, KeyError, TypeError, AttributeError):
        return SecondTry(fault=f"ended with code {code} and no answer")


def answer(seconds: int) -> None:
    """The other side: read the call from standard input, judge it, write the finding.

    :param seconds: of processor time, after which it ends although nobody is left to end it.
    """
    import resource

    from harness_adapters.gateway.guard.calls import ToolCall

    resource.setrlimit(resource.RLIMIT_AS, (_MAX_MEMORY, _MAX_MEMORY))
    resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds + 1))
    reply = os.dup(1)
    os.dup2(2, 1)  # what the rule prints is no answer
    result: dict[str, Any]
    try:
        rule, id, name, raw, ledger = pickle.load(sys.stdin.buffer)
        finding = rule.judge(ToolCall(id=id, name=name, raw=raw, ledger=ledger), ledger)
        result = {"finding": None}
        if finding is not None:
            result["finding"] = {
                "rule": finding.rule,
                "severity": finding.severity.value,
                "message": finding.message,
                "span": finding.span,
            }
    except Unjudgeable as error:
        result = {"fault": f"unjudgeable: {error}"}
    except BaseException as error:
        result = {"fault": f"{type(error).__name__}: {error}"[:500]}
    os.write(reply, json.dumps(result).encode())
