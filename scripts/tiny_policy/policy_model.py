"""The policy's shape, and its folder on disk."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import torch
from rendering import TEMPLATE
from tokenizers import Tokenizer
from transformers import PreTrainedTokenizerFast, Qwen3Config, Qwen3ForCausalLM
from vocabulary import END, PAD

HIDDEN, LAYERS, HEAD, FEED_FORWARD = 128, 4, 32, 384
CONTEXT = 16_384
"""Sessions take hundreds of tokens; harnesses ask for thousands to be left for a reply."""


def new_model(tokenizer: Tokenizer) -> Any:
    """A model with random weights, in float32."""
    config = Qwen3Config(
        vocab_size=tokenizer.get_vocab_size(),
        hidden_size=HIDDEN,
        intermediate_size=FEED_FORWARD,
        num_hidden_layers=LAYERS,
        num_attention_heads=HIDDEN // HEAD,
        num_key_value_heads=HIDDEN // HEAD,
        head_dim=HEAD,
        max_position_embeddings=CONTEXT,
        tie_word_embeddings=True,
        bos_token_id=None,
        eos_token_id=tokenizer.token_to_id(END),
        pad_token_id=tokenizer.token_to_id(PAD),
    )
    return Qwen3ForCausalLM(config).float()


def load(folder: Path) -> Any:
    """A model that was saved here, in float32."""
    return Qwen3ForCausalLM.from_pretrained(folder, dtype=torch.float32)


def save(model: Any, tokenizer: Tokenizer, folder: Path) -> None:
    """Write weights (bfloat16), tokenizer and chat template; ``folder`` is replaced as a whole."""
    staged = folder.with_name(f".{folder.name}.staged")
    shutil.rmtree(staged, ignore_errors=True)
    wrapped = PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        eos_token=END,
        pad_token=PAD,
        model_max_length=CONTEXT,
        clean_up_tokenization_spaces=False,
    )
    wrapped.chat_template = TEMPLATE.read_text("utf-8")
    wrapped.save_pretrained(staged)
    weights = {name: value.to(torch.bfloat16) for name, value in model.state_dict().items()}
    del weights["lm_head.weight"]  # tied to the embedding
    before, model.config.dtype = model.config.dtype, torch.bfloat16
    model.save_pretrained(staged, state_dict=weights)
    model.config.dtype = before
    for file in staged.iterdir():
        file.chmod(0o644)
    shutil.rmtree(folder, ignore_errors=True)
    staged.rename(folder)
