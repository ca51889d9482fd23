"""From chat messages to token ids and back, by the model's own tokenizer and chat template."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any

import orjson

from harness_adapters.serve.embedded.errors import Refused
from harness_adapters.serve.embedded.states import Ids, as_ids
from harness_adapters.serve.embedded.tool_calls import PARSERS, Parsed
from harness_adapters.serve.model_folder import family_of

Json = Mapping[str, Any]


class Prompts:
    """:param tokenizer: of transformers."""

    def __init__(self, tokenizer: Any) -> None:
        self._tokenizer = tokenizer
        template = tokenizer.chat_template
        self._template = template if isinstance(template, str) else ""
        family = family_of(self._template)
        self._parse = PARSERS[family] if family else None
        # Templates that take text leave it as it was sampled; others want the object.
        self._arguments_as_text = "arguments is string" in self._template
        self.piece = lru_cache(maxsize=65536)(self._piece)

    def chat(self, messages: Sequence[Json], tools: Sequence[Json], options: Json) -> Ids:
        """The prompt of a conversation, up to where the model is to answer.

        :raises Refused: the template cannot render it.
        """
        if not self._template:
            raise Refused("this model has no chat template, so it cannot chat")
        try:
            text = self._tokenizer.apply_chat_template(
                [self._message(message) for message in messages],
                tools=list(tools) or None,
                add_generation_prompt=True,
                tokenize=False,
                **options,
            )
        except Exception as error:  # a template is a program; it raises what it likes
            raise Refused(f"the chat template cannot render this: {error}") from None
        return self.encode(text)

    def encode(self, text: str) -> Ids:
        return as_ids(self._tokenizer.encode(text, add_special_tokens=False))

    def text(self, ids: Sequence[int], *, special: bool = False) -> str:
        return str(
            self._tokenizer.decode(
                ids, skip_special_tokens=not special, clean_up_tokenization_spaces=False
            )
        )

    def reply(self, ids: Sequence[int], *, tools: bool) -> Parsed:
        """:param ids: without the one that ended the turn."""
        if not tools or self._parse is None:
            return Parsed(self.text(ids))
        return self._parse(self.text(ids, special=True))

    def _piece(self, id: int) -> str:
        return self.text([id], special=True)

    def _message(self, message: Json) -> dict[str, Any]:
        rendered = dict(message)
        content = message.get("content")
        if isinstance(content, list):
            content = "\n".join(_text(part) for part in content)
        rendered["content"] = "" if content is None else content
        if message.get("tool_calls"):
            rendered["tool_calls"] = [self._call(call) for call in message["tool_calls"]]
        else:
            rendered.pop("tool_calls", None)
        return rendered

    def _call(self, call: Any) -> dict[str, Any]:
        try:
            function = dict(call["function"])
            arguments = function.get("arguments") or "{}"
            if isinstance(arguments, str) and not self._arguments_as_text:
                arguments = orjson.loads(arguments)
        except (KeyError, TypeError, ValueError):
            raise Refused(
                "tool_calls: each needs a function with a name and JSON arguments"
            ) from None
        return {**call, "function": {**function, "arguments": arguments}}


def _text(part: Any) -> str:
    if (
        isinstance(part, Mapping)
        and part.get("type") == "text"
        and isinstance(part.get("text"), str)
    ):
        return str(part["text"])
    raise Refused("content: only text parts are served")
