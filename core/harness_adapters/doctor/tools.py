"""Does the engine turn a model's tool calls into tool calls?"""

from __future__ import annotations

from harness_adapters.doctor.line import Line, fail, ok, warn
from harness_adapters.doctor.probe import EngineProbe, complaint, message_of

TOOL = {
    "type": "function",
    "function": {
        "name": "list_files",
        "description": "List the files of a folder.",
        "parameters": {
            "type": "object",
            "properties": {"folder": {"type": "string"}},
            "required": ["folder"],
        },
    },
}
ASK = (
    {"role": "system", "content": "You use tools. Answer with a call of list_files, nothing else."},
    {"role": "user", "content": "Which files are in the folder src?"},
)
TRIES = 3
MARKS = ("<tool_call>", "<function", "[TOOL_CALLS]", "<|python_tag|>", '"list_files"')
FIX = "start vLLM with --enable-auto-tool-choice and the --tool-call-parser of this model"


async def check(engine: EngineProbe) -> list[Line]:
    for number in range(TRIES):
        status, reply = await engine.chat(ASK, tools=[TOOL], max_tokens=256, seed=number)
        if status != 200:
            return [fail(f"a request with tools fails: {complaint(status, reply)}", FIX)]
        message = message_of(reply)
        if message.get("tool_calls"):
            return [ok("the tool parser works: a call came back as a call")]
        text = str(message.get("content") or "")
        if any(mark in text for mark in MARKS):
            return [fail("a tool call came back as text: its parser is off or another's", FIX)]
    return [
        warn(
            f"the model made no tool call in {TRIES} tries, so the parser was not seen at work",
            "try the model by hand with a tool; small ones may not call any",
        )
    ]
