"""Serving a model with a chat template that is safe to train with.

Many templates drop the thinking of earlier turns, or render a tool call otherwise once its result
is there. Then no prompt continues the one before, every turn is a root of its own, and a long
session becomes as many long rows as it has turns. TRL knows templates that keep what was said.
"""

from __future__ import annotations

import shutil
from itertools import pairwise
from pathlib import Path
from typing import Any

from harness_adapters.errors import BadInput
from harness_adapters.record.folder import write_whole

TEMPLATE = "chat_template.jinja"


def keeping_folder(model: str, folder: Path) -> Path | None:
    """A folder to serve ``model`` from, with a template that keeps thinking: links to the model's
    own files beside another tokenizer configuration. ``None`` when the model's own keeps it.

    :param folder: where to make it; made anew each time.
    :raises BadInput: the model cannot be read, or no such template is known for it.
    """
    from transformers import AutoTokenizer

    source = _local(model)
    tokenizer = AutoTokenizer.from_pretrained(source)
    template = kept_template(tokenizer, model)
    if template is None:
        return None
    served = folder.absolute() / source.name
    shutil.rmtree(served, ignore_errors=True)
    served.mkdir(parents=True)
    tokenizer.chat_template = template
    tokenizer.save_pretrained(served)
    write_whole(served / TEMPLATE, template.encode())
    for file in source.iterdir():
        if not (served / file.name).exists() and file.is_file():
            (served / file.name).symlink_to(file.resolve())
    return served


def kept_template(tokenizer: Any, model: str) -> str | None:
    """The template to use instead of the tokenizer's own, or ``None``.

    :raises BadInput: its own drops what was said, and no other is known.
    """
    from harness_adapters.train.trl_seam import training_template

    if not tokenizer.chat_template:
        raise BadInput(f"{model} has no chat template, so there is no thinking to keep")
    if keeps_prefixes(tokenizer):
        return None
    template = training_template(tokenizer)
    if template is not None:
        tokenizer.chat_template = template
        if keeps_prefixes(tokenizer):
            return template
    raise BadInput(
        f"keep_thinking: the chat template of {model} renders earlier turns anew, and no template "
        "is known that does not; give the model one whose turns only append"
    )


def keeps_prefixes(tokenizer: Any) -> bool:
    """Whether a session of thinking, calls and results renders as one growing text."""
    said = [
        {"role": "user", "content": "Look."},
        _turn("I should list the files.", "ls"),
        {"role": "tool", "tool_call_id": "call_0", "name": "bash", "content": "a.txt"},
        _turn("Now I read it.", "cat a.txt"),
        {"role": "tool", "tool_call_id": "call_0", "name": "bash", "content": "hello"},
        {"role": "assistant", "content": "It says hello.", "reasoning_content": "Done."},
        {"role": "user", "content": "Thanks."},
    ]
    texts = [
        tokenizer.apply_chat_template(said[:end], tools=[_TOOL], tokenize=False)
        for end in (2, 4, 6, 7)
    ]
    return all(later.startswith(earlier.rstrip()) for earlier, later in pairwise(texts))


_TOOL = {
    "type": "function",
    "function": {
        "name": "bash",
        "description": "Run a command.",
        "parameters": {"type": "object", "properties": {"command": {"type": "string"}}},
    },
}


def _turn(thinking: str, command: str) -> dict[str, Any]:
    call = {"name": "bash", "arguments": {"command": command}}
    return {
        "role": "assistant",
        "content": f"<think>\n{thinking}\n</think>\n\n",
        "reasoning_content": thinking,
        "tool_calls": [{"id": "call_0", "type": "function", "function": call}],
    }


def _local(model: str) -> Path:
    if Path(model).is_dir():
        return Path(model).absolute()
    from huggingface_hub import snapshot_download
    from huggingface_hub.errors import HFValidationError, LocalEntryNotFoundError

    try:
        return Path(snapshot_download(model))
    except (HFValidationError, LocalEntryNotFoundError, OSError) as error:
        raise BadInput(f"cannot get the model {model}: {str(error).splitlines()[0]}") from None
