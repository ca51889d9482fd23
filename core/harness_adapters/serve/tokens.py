"""A real tokenizer and a ChatML template, so that the scripted engine deals in true token ids.

Text is tokenised piece by piece between special tokens and never across them. So for a history
that only grows, the next prompt is exactly the last prompt, the sampled ids, and the new messages:
``prompt[k + 1] == prompt[k] + sampled[k] + ids(new messages)``.
"""

from __future__ import annotations

import hashlib
from array import array
from collections import OrderedDict
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from functools import cached_property
from importlib.resources import files

import numpy as np
import orjson
from tokenizers import Tokenizer, pre_tokenizers

CACHED_BYTES = 64 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class Call:
    """A tool call: ``arguments`` is JSON text, or what a model that breaks JSON would write."""

    name: str
    arguments: str
    id: str = ""


@dataclass(frozen=True, slots=True)
class Message:
    """One message as the template sees it: role ``system``, ``user``, ``assistant``, ``tool``."""

    role: str
    text: str
    calls: tuple[Call, ...] = ()


class ChatTokenizer:
    """Renders conversations to ids. Not for use by several threads at once."""

    def __init__(self) -> None:
        data = files("harness_adapters.serve").joinpath("tokenizer.json").read_bytes()
        self._tokenizer = Tokenizer.from_str(data.decode())
        # Text that spells a special token is text: nobody can forge a turn from the inside.
        self._tokenizer.encode_special_tokens = True
        self._cache: OrderedDict[Hashable, array[int]] = OrderedDict()
        self._cached = 0
        self._special = {
            token.content: array("H", [index])
            for index, token in self._tokenizer.get_added_tokens_decoder().items()
        }

    @property
    def size(self) -> int:
        """Number of ids."""
        return int(self._tokenizer.get_vocab_size())

    def prompt(self, messages: Sequence[Message], tools: Sequence[str]) -> array[int]:
        """Ids of a conversation up to where the model is to answer.

        :param tools: each declared tool as JSON text; they go into the system message.
        """
        ids: array[int] = array("H")
        rest = list(messages)
        if tools or (rest and rest[0].role == "system"):
            system = rest.pop(0).text if rest and rest[0].role == "system" else ""
            ids.extend(self._system(system, tuple(tools)))
        for message in rest:
            ids.extend(self._message(message))
        ids.extend(self._opening("assistant"))
        return ids

    def reply(self, message: Message) -> array[int]:
        """Ids a model samples to say ``message``, its arguments byte for byte, and to stop."""
        return self._body(message, canonical=False) + self._special["<|im_end|>"]

    def text(self, ids: Sequence[int]) -> str:
        """What the ids spell, special tokens included."""
        return str(self._tokenizer.decode(list(ids), skip_special_tokens=False))

    @cached_property
    def pieces(self) -> tuple[bytes, ...]:
        """The bytes each id stands for."""
        visible = {char: byte for byte, char in enumerate(_byte_alphabet())}
        spelled = [self._tokenizer.id_to_token(index) or "" for index in range(self.size)]
        return tuple(
            token.encode() if token in self._special else bytes(visible[char] for char in token)
            for token in spelled
        )

    # --- the template -----------------------------------------------------------------------

    def _opening(self, role: str) -> array[int]:
        return self._special["<|im_start|>"] + self._encode(f"{role}\n")

    def _closing(self) -> array[int]:
        return self._special["<|im_end|>"] + self._encode("\n")

    def _system(self, text: str, tools: tuple[str, ...]) -> array[int]:
        key = ("system", text, tools)
        if (known := self._known(key)) is not None:
            return known
        ids = self._opening("system") + self._encode(text)
        if tools:
            ids += self._encode("\n\nYou may call these functions:\n") + self._special["<tools>"]
            ids += self._encode("\n" + "\n".join(tools) + "\n") + self._special["</tools>"]
        return self._remember(key, ids + self._closing())

    def _message(self, message: Message) -> array[int]:
        if (known := self._known(message)) is not None:
            return known
        if message.role == "tool":
            body = self._special["<tool_response>"] + self._encode(f"\n{message.text}\n")
            ids = self._opening("user") + body + self._special["</tool_response>"]
        else:
            ids = self._opening(message.role) + self._body(message, canonical=True)
        return self._remember(message, ids + self._closing())

    def _body(self, message: Message, *, canonical: bool) -> array[int]:
        ids = self._encode(message.text)
        for number, call in enumerate(message.calls):
            if number or message.text:
                ids += self._encode("\n")
            arguments = compact(call.arguments) if canonical else call.arguments
            name = orjson.dumps(call.name).decode()
            ids += self._special["<tool_call>"]
            ids += self._encode(f'\n{{"name": {name}, "arguments": {arguments}}}\n')
            ids += self._special["</tool_call>"]
        return ids

    def _encode(self, text: str) -> array[int]:
        if not text:
            return array("H")
        return array("H", self._tokenizer.encode(text, add_special_tokens=False).ids)

    # --- ids of messages seen before: harnesses resend the whole history each turn ----------

    def _known(self, key: Hashable) -> array[int] | None:
        ids = self._cache.get(key)
        if ids is not None:
            self._cache.move_to_end(key)
        return ids

    def _remember(self, key: Hashable, ids: array[int]) -> array[int]:
        self._cache[key] = ids
        self._cached += _weight(ids)
        while self._cached > CACHED_BYTES and len(self._cache) > 1:
            _, dropped = self._cache.popitem(last=False)
            self._cached -= _weight(dropped)
        return ids


def template_hash() -> str:
    """SHA-256 over the tokenizer and over what a small conversation renders to."""
    data = files("harness_adapters.serve").joinpath("tokenizer.json").read_bytes()
    call = Call("f", "{}")
    sample = [Message(role, role) for role in ("system", "user", "tool")]
    ids = ChatTokenizer().prompt([*sample, Message("assistant", "a", (call, call))], ["{}"])
    return hashlib.sha256(data + ids.tobytes()).hexdigest()


def compact(arguments: str) -> str:
    """Arguments as every harness that re-serialises them would write them (``JSON.stringify``);
    text that is no JSON stays as it is."""
    try:
        return orjson.dumps(orjson.loads(arguments)).decode()
    except (orjson.JSONDecodeError, orjson.JSONEncodeError):
        return arguments


def logprobs(ids: Sequence[int], *, temperature: float = 1.0) -> list[float]:
    """Made-up log probabilities of sampled ids: the same for the same ids, unlike one another.

    Each id gets a probability from a hash of itself and its place, as if one other choice had
    held the rest; temperature sharpens or flattens the two, as engines do in processed mode.
    The values are exact in ``float32``.
    """
    place = np.arange(len(ids), dtype=np.uint64)
    mixed = np.asarray(ids, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    mixed ^= (place + np.uint64(1)) * np.uint64(0xC2B2AE3D27D4EB4F)
    mixed ^= mixed >> np.uint64(29)
    mixed *= np.uint64(0xBF58476D1CE4E5B9)
    uniform = (mixed >> np.uint64(40)).astype(np.float64) / 2**24
    chosen = 1.0 - 0.48 * uniform**3 - 1e-4
    # At temperature 0 engines report the unscaled values.
    scaled = np.log(chosen / (1.0 - chosen)) / (temperature or 1.0)
    return [float(value) for value in (-np.logaddexp(0.0, -scaled)).astype(np.float32)]


def _weight(ids: array[int]) -> int:
    # The key holds the text: about four bytes for each id's two.
    return 6 * len(ids) + 200


def _byte_alphabet() -> list[str]:
    """The visible character that stands for each byte in a byte-level vocabulary."""
    printable = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    hidden = [byte for byte in range(256) if byte not in printable]
    table = {byte: chr(byte) for byte in printable}
    table.update({byte: chr(256 + place) for place, byte in enumerate(hidden)})
    assert set(table.values()) == set(pre_tokenizers.ByteLevel.alphabet())
    return [table[byte] for byte in range(256)]
