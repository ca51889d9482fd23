"""A causal language model from transformers, as the engine drives it: many sequences, their states
and adapters side by side."""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch

from harness_adapters.errors import BadInput
from harness_adapters.serve.embedded.errors import or_out_of_memory
from harness_adapters.serve.embedded.lean import Lean, NotLean
from harness_adapters.serve.embedded.lora import Adapter, Batch, make_adaptable
from harness_adapters.serve.embedded.passes import ATTENTION, Pass, attention
from harness_adapters.serve.embedded.peft_folder import read_adapter
from harness_adapters.serve.embedded.states import Ids, Shape, State, as_ids

Tensor = Any
CHECKED_TOKENS = 24
TOLERANCE = 1e-3
LEAN_TOLERANCE = 1e-4
CHUNK = 512  # tokens


class Model:
    """The base model and what is asked of it. Not for use by several threads at once.

    :ivar context: the most tokens of one sequence.
    :ivar stops: ids that end a turn.
    :ivar lean: whether it runs by the faster forward pass that not all models have.
    """

    def __init__(self, folder: str, *, context: int | None, max_rank: int) -> None:
        """:raises BadInput: there is no model there, or not one that this engine can serve."""
        config, self._lm = _load(folder)
        self.tokenizer = _load_tokenizer(folder)
        self.shape = _shape(config, folder)
        most = int(config.max_position_embeddings)
        if context is not None and context > most:
            raise BadInput(f"{folder}: its context has {most} tokens, not {context}")
        self.context = context or most
        self.stops = _stops(self._lm, self.tokenizer)
        self._max_rank = max_rank
        self._batch = Batch()
        parameters = inspect.signature(type(self._lm).forward).parameters
        self._cache_name = "cache" if "cache" in parameters else "past_key_values"
        with torch.inference_mode():
            plain = self._plainly()
            self._lm.set_attn_implementation(ATTENTION)
            make_adaptable(self._lm, self._batch)
            self.lean = False
            off = self._off(plain)
            if not off < TOLERANCE:
                raise BadInput(
                    f"{folder}: the embedded engine does not serve {config.model_type} models "
                    f"(log probabilities are off by {off:.2g}); use vllm"
                )
            self._lean = _lean(self._lm, self._batch)
            if self._lean:
                self.lean = True
                self.lean = self._off(plain) < LEAN_TOLERANCE

    @property
    def vocabulary(self) -> int:
        return int(self._lm.get_input_embeddings().weight.shape[0])

    def adapter(self, name: str, folder: Path) -> Adapter:
        """Read an adapter for this model.

        :raises Refused: it cannot be read or served.
        """
        return read_adapter(name, folder, self._lm, max_rank=self._max_rank)

    def forget(self, adapter: Adapter) -> None:
        self._batch.forget(adapter)

    def read(
        self, state: State, ids: Ids, adapter: Adapter | None, *, every: bool = False
    ) -> Tensor:
        """Read new tokens of one sequence.

        :returns: logits after the last of them ``[1, vocabulary]``, or ``every`` one.
        """
        return self._forward([state], [ids], [adapter], every=every)[0]

    def step(
        self, states: Sequence[State], ids: Sequence[int], adapters: Sequence[Adapter | None]
    ) -> Tensor:
        """Read one more token of each sequence; logits after it, ``[rows, vocabulary]``."""
        return self._forward(states, [as_ids([one]) for one in ids], adapters)[:, 0]

    def prompt_logprobs(self, ids: Ids, adapter: Adapter | None) -> list[float]:
        """Log probability of each token but the first, given those before it."""
        state = State(self.shape, None)
        found: list[float] = []
        for start in range(0, len(ids) - 1, CHUNK):
            part = ids[start : start + CHUNK]
            logits = self.read(state, part, adapter, every=True)
            after = torch.from_numpy(ids[start + 1 : start + 1 + len(part)]).long()
            logprobs = logits[: len(after)].float().log_softmax(-1)
            found += logprobs.gather(1, after[:, None]).squeeze(1).tolist()
        return found

    def _forward(
        self,
        states: Sequence[State],
        ids: Sequence[Ids],
        adapters: Sequence[Adapter | None],
        *,
        every: bool = False,
    ) -> Tensor:
        tokens = len(ids[0])
        with torch.inference_mode(), or_out_of_memory():
            for state in states:
                state.reserve(state.length + tokens)
            starts = torch.tensor([[state.length] for state in states])
            self._batch.use(adapters)
            logits = self._run(
                torch.from_numpy(np.stack(ids)).long(),
                starts + torch.arange(tokens),
                Pass(states, tokens),
                every=every,
            )
        for state, new in zip(states, ids, strict=True):
            state.append(new)
        return logits

    def _run(self, ids: Tensor, positions: Tensor, this: Pass, *, every: bool) -> Tensor:
        if self.lean and self._lean:
            return self._lean(ids, positions, this, every=every)
        return self._lm(
            input_ids=ids,
            position_ids=positions,
            use_cache=False,
            logits_to_keep=0 if every else 1,
            states=this,
            **({self._cache_name: this} if self.shape.convolution else {}),
        ).logits

    # --- at the start: is this engine right about this model? ------------------------------------

    def _sample(self) -> Ids:
        size = self.vocabulary
        return as_ids(range(size // 3, size // 3 + min(CHECKED_TOKENS, size // 2)))

    def _plainly(self) -> Tensor:
        ids = torch.from_numpy(self._sample()).long()[None]
        return self._lm(input_ids=ids, use_cache=False).logits[0].log_softmax(-1)

    def _off(self, plain: Tensor) -> float:
        """How far we are off what transformers gives without us: for the whole sample at once, and
        in two parts with its last token by a step."""
        ids = self._sample()
        whole, parts = State(self.shape, None), State(self.shape, None)
        logits = [self.read(whole, ids, None, every=True)]
        logits += [self.read(parts, part, None, every=True) for part in (ids[:5], ids[5:-1])]
        logits += [self.step([parts], [int(ids[-1])], [None])]
        off = (torch.cat(logits).log_softmax(-1) - plain.repeat(2, 1)).abs().max()
        return float(off)


def _lean(model: Any, batch: Batch) -> Lean | None:
    try:
        return Lean(model, batch)
    except (NotLean, AttributeError):
        return None


def _load(folder: str) -> tuple[Any, Any]:
    from safetensors import SafetensorError
    from transformers import AttentionInterface, AutoModelForCausalLM

    AttentionInterface.register(ATTENTION, attention)
    try:
        model = AutoModelForCausalLM.from_pretrained(
            folder, dtype=torch.float32, attn_implementation="eager"
        )
    except (OSError, ValueError, KeyError, RuntimeError, SafetensorError) as error:
        raise BadInput(f"{folder}: no model can be read from it: {_line(error)}") from None
    model.eval().requires_grad_(False)
    return model.config, model


def _load_tokenizer(folder: str) -> Any:
    from transformers import AutoTokenizer

    try:
        return AutoTokenizer.from_pretrained(folder)
    except (OSError, ValueError, KeyError) as error:
        raise BadInput(f"{folder}: no tokenizer can be read from it: {_line(error)}") from None


def _shape(config: Any, folder: str) -> Shape:
    layers = int(config.num_hidden_layers)
    kinds = list(getattr(config, "layer_types", None) or ["full_attention"] * layers)
    if unknown := set(kinds) - {"full_attention", "conv"}:
        raise BadInput(
            f"{folder}: the embedded engine has no {min(unknown)} layers; use vllm for this model"
        )
    heads = int(config.num_attention_heads)
    return Shape(
        attention=tuple(n for n, kind in enumerate(kinds) if kind == "full_attention"),
        heads=int(getattr(config, "num_key_value_heads", None) or heads),
        head_size=int(getattr(config, "head_dim", None) or config.hidden_size // heads),
        convolution=tuple(n for n, kind in enumerate(kinds) if kind == "conv"),
        hidden=int(config.hidden_size),
        window=int(getattr(config, "conv_L_cache", 1)) - 1,
    )


def _stops(model: Any, tokenizer: Any) -> frozenset[int]:
    """The ends of a turn that the generation config names, and the tokenizer's own."""
    named = model.generation_config.eos_token_id
    ids = [named] if isinstance(named, int) else list(named or ())
    return frozenset(id for id in (*ids, tokenizer.eos_token_id) if id is not None)


def _line(error: BaseException) -> str:
    return " ".join(str(error).split())[:300]
