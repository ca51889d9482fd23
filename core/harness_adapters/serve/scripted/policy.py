"""The model itself: a conversation in, a sampled reply out."""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

from harness_adapters.errors import BadInput
from harness_adapters.serve.scripted.conversation import Body, Conversation, Refused
from harness_adapters.serve.scripted.material import Material
from harness_adapters.serve.scripted.plays import BY_MODEL, Play, Script, play_of
from harness_adapters.serve.scripted.sample import Sample
from harness_adapters.serve.scripted.vocabulary import Vocabulary
from harness_adapters.serve.tokens import Call, ChatTokenizer, Message
from harness_adapters.types import Task

UNKNOWN = Message(
    "assistant", "I do not know this task: no instruction of mine stands in what you wrote."
)


class Policy:
    """Plays one play on any of the given tasks."""

    def __init__(self, tasks: Sequence[Task], play: Play) -> None:
        self.play = play
        self.tokenizer = ChatTokenizer()
        self._tasks = tasks
        self._by_model: dict[str, Policy] = {}
        # Longest first: an instruction may contain a shorter one.
        self._materials = sorted(
            (Material(task) for task in tasks), key=lambda m: -len(m.task.instruction.strip())
        )
        self._material = lru_cache(maxsize=512)(self._find)
        self._scripts: dict[object, Script] = {}

    def sample(self, conversation: Conversation, body: Body, *, model: str) -> Sample:
        """The reply to a conversation.

        :param body: the request; what it says of ids, logprobs and temperature counts.
        :raises Refused: a field has a value that makes no sense.
        """
        if self.play.name == BY_MODEL:
            return self._playing(model).sample(conversation, body, model=model)
        message = self.reply(conversation)
        # Each call gets an id of its own, as an engine's parser gives it; ids are no tokens.
        calls = tuple(
            Call(call.name, call.arguments, f"call_{secrets.token_hex(12)}")
            for call in message.calls
        )
        return Sample(
            model=model,
            text=message.text,
            calls=calls,
            prompt=self.tokenizer.prompt(
                conversation.messages, [tool.rendered for tool in conversation.tools]
            ),
            ids=self.tokenizer.reply(message),
            tokenizer=self.tokenizer,
            temperature=_number(body, "temperature"),
            return_ids=bool(body.get("return_token_ids")),
            return_logprobs=bool(body.get("logprobs")),
            tokens_as_ids=bool(body.get("return_tokens_as_token_ids")),
        )

    def reply(self, conversation: Conversation) -> Message:
        material = self._material(conversation.said_by_user)
        return self._script(material, conversation).at(conversation.step) if material else UNKNOWN

    def _playing(self, model: str) -> Policy:
        if model not in self._by_model:
            try:
                self._by_model[model] = Policy(self._tasks, play_of(self.play, model))
            except BadInput as error:
                raise Refused(f"the model's name is to say the play: {error}") from None
        return self._by_model[model]

    def _find(self, said: str) -> Material | None:
        return next((m for m in self._materials if m.task.instruction.strip() in said), None)

    def _script(self, material: Material, conversation: Conversation) -> Script:
        cwd = conversation.working_folder or material.task.workdir
        key = (material.task.id, cwd, tuple(tool.rendered for tool in conversation.tools))
        if key not in self._scripts:
            if len(self._scripts) > 2_000:
                self._scripts.clear()
            vocabulary = Vocabulary(conversation.tools, cwd)
            self._scripts[key] = self.play.script(material, vocabulary)
        return self._scripts[key]


def _number(body: Body, field: str) -> float:
    value: Any = body.get(field)
    if value is None:
        return 1.0
    if not isinstance(value, int | float) or not 0 <= value <= 2:
        raise Refused(f"{field}: expected a number from 0 to 2")
    return float(value)
