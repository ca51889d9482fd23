"""Request bodies as vLLM takes them, as far as this engine serves them.

A field that would change what is sampled and is not served is refused; others are not read.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from harness_adapters.serve.embedded.errors import Refused
from harness_adapters.serve.embedded.sampling import Sampling

Id = Annotated[int, Field(ge=0, lt=2**31)]
Neutral = Literal[0] | None
MOST_STOPS = 16
GREEDY_BELOW = 1e-5
LEAST_HEAT = 0.01


class _Body(BaseModel):
    model_config = ConfigDict(extra="ignore", strict=True)


class Completion(_Body):
    """What chat and plain completions have in common."""

    model: str | None = None
    temperature: float | None = Field(None, ge=0, le=100)
    top_p: float | None = Field(None, gt=0, le=1)
    top_k: int | None = Field(None, ge=-1)
    min_p: float | None = Field(None, ge=0, le=1)
    seed: int | None = None
    max_tokens: int | None = Field(None, ge=1)
    stop: str | Annotated[list[str], Field(max_length=MOST_STOPS)] | None = None
    ignore_eos: bool = False
    return_token_ids: bool | None = None
    # Not served, so only what changes nothing:
    n: Literal[1] | None = None
    stream: Literal[False] | None = None
    frequency_penalty: Neutral = None
    presence_penalty: Neutral = None
    repetition_penalty: Literal[1] | None = None
    logit_bias: None = None
    response_format: None = None
    structured_outputs: None = None
    echo: Literal[False] | None = None

    @property
    def sampling(self) -> Sampling:
        heat = 1.0 if self.temperature is None else self.temperature
        return Sampling(
            # As vLLM has it: next to nothing is nothing, and the rest keeps floats finite.
            temperature=max(heat, LEAST_HEAT) if heat >= GREEDY_BELOW else 0.0,
            top_p=self.top_p or 1.0,
            top_k=max(self.top_k or 0, 0),
            min_p=self.min_p or 0.0,
        )

    @property
    def stop_texts(self) -> tuple[str, ...]:
        stop = [self.stop] if isinstance(self.stop, str) else self.stop or []
        return tuple(text for text in stop if text)


class Chat(Completion):
    """``POST /v1/chat/completions``."""

    messages: list[dict[str, Any]] = Field(min_length=1)
    tools: list[dict[str, Any]] | None = None
    tool_choice: Literal["auto", "none"] | None = None
    max_completion_tokens: int | None = Field(None, ge=1)
    logprobs: bool | None = None
    top_logprobs: Neutral = None
    chat_template_kwargs: dict[str, Any] = Field(default_factory=dict[str, Any])

    @property
    def limit(self) -> int | None:
        return self.max_completion_tokens or self.max_tokens

    @property
    def offered_tools(self) -> list[dict[str, Any]]:
        return [] if self.tool_choice == "none" else self.tools or []


class Text(Completion):
    """``POST /v1/completions``: of one prompt, a text or ids."""

    prompt: str | Annotated[list[Id], Field(min_length=1)]
    logprobs: Annotated[int, Field(ge=0, le=1)] | None = None
    prompt_logprobs: Annotated[int, Field(ge=0, le=1)] | None = None

    @property
    def limit(self) -> int | None:
        return 16 if self.max_tokens is None else self.max_tokens


class Load(_Body):
    """``POST /v1/load_lora_adapter``."""

    lora_name: str = Field(min_length=1, max_length=256)
    lora_path: str = Field(min_length=1)


class Unload(_Body):
    """``POST /v1/unload_lora_adapter``."""

    lora_name: str


Kind = TypeVar("Kind", bound=_Body)


def read(kind: type[Kind], body: object) -> Kind:
    """:raises Refused: it has another shape, or asks for what this engine does not serve."""
    if not isinstance(body, Mapping):
        raise Refused("the body is no JSON object")
    try:
        return kind.model_validate(body)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        place = ".".join(str(part) for part in first["loc"][:2])
        raise Refused(f"{place}: {first['msg']}") from None
