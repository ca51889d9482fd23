"""A model's folder, as ``save_pretrained`` leaves it: is it one, and how does the model chat?"""

from __future__ import annotations

import hashlib
from enum import StrEnum
from pathlib import Path

import orjson

from harness_adapters.errors import BadInput


class Family(StrEnum):
    """How a chat template writes tool calls; the values are vLLM's names of its parsers."""

    HERMES = "hermes"
    """``<tool_call>{"name": ..., "arguments": {...}}</tool_call>``"""
    LFM2 = "lfm2"
    """``<|tool_call_start|>[name(key="value")]<|tool_call_end|>``"""
    LLAMA_JSON = "llama3_json"
    """``{"name": ..., "parameters": {...}}``"""


def family_of(template: str) -> Family | None:
    """``None`` for a template that writes no calls, or in a way we do not know."""
    if "<|tool_call_start|>" in template:
        return Family.LFM2
    if "<tool_call>" in template:
        return Family.HERMES
    if "<|python_tag|>" in template or ('{"name": ' in template and '"parameters": ' in template):
        return Family.LLAMA_JSON
    return None


def check_folder(model: str) -> None:
    """Anything that cannot be a name on the Hugging Face Hub must be a model's folder.

    :raises BadInput: no model lies there.
    """
    folder = Path(model)
    if folder.is_dir():
        if not (folder / "config.json").is_file():
            raise BadInput(f"{model}: no config.json in this folder, so no model")
    elif folder.exists() or model.count("/") != 1 or model[0] in "./~":
        raise BadInput(f"{model}: no such model folder")


def served_name(model: str) -> str:
    """What an engine that we start calls its base model: the last part of where it lies."""
    return Path(model).absolute().name


def chat_template(folder: Path) -> str:
    """The chat template, or an empty string if none lies there.

    :raises BadInput: the tokenizer's configuration is broken.
    """
    try:
        return (folder / "chat_template.jinja").read_text()
    except FileNotFoundError:
        pass
    path = folder / "tokenizer_config.json"
    try:
        template = orjson.loads(path.read_bytes()).get("chat_template")
    except FileNotFoundError:
        return ""
    except (orjson.JSONDecodeError, AttributeError) as error:
        raise BadInput(f"{path}: {error}") from None
    return template if isinstance(template, str) else ""


def template_hash(folder: Path) -> str:
    """SHA-256 over tokenizer and chat template, or an empty string if they do not lie there."""
    try:
        tokenizer = (folder / "tokenizer.json").read_bytes()
    except FileNotFoundError:
        return ""
    return hashlib.sha256(tokenizer + chat_template(folder).encode()).hexdigest()
