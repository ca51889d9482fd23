"""Models of a million parameters with random weights, and adapters for them that are not zero."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np

CHATML = """\
{%- if tools %}<|im_start|>system
{{ messages[0].content if messages[0].role == 'system' else '' }}

# Tools
<tools>
{% for tool in tools %}{{ tool | tojson }}
{% endfor %}</tools>
Call one with <tool_call>{"name": ..., "arguments": ...}</tool_call>.<|im_end|>
{% elif messages[0].role == 'system' %}<|im_start|>system
{{ messages[0].content }}<|im_end|>
{% endif %}
{%- for message in messages %}
{%- if message.role == 'tool' %}<|im_start|>user
<tool_response>
{{ message.content }}
</tool_response><|im_end|>
{% elif message.role == 'assistant' %}<|im_start|>assistant
{{ message.content }}
{%- for call in message.tool_calls or [] %}
{%- if message.content or not loop.first %}{{ '\\n' }}{% endif %}<tool_call>
{"name": "{{ call.function.name }}", "arguments": {{ call.function.arguments | tojson }}}
</tool_call>
{%- endfor %}<|im_end|>
{% elif message.role != 'system' %}<|im_start|>{{ message.role }}
{{ message.content }}<|im_end|>
{% endif %}
{%- endfor %}
{%- if add_generation_prompt %}<|im_start|>assistant
{% endif %}"""

ATTENTION = ["q_proj", "k_proj", "v_proj"]
ALL_LINEAR = {
    "qwen3": [*ATTENTION, "o_proj", "gate_proj", "up_proj", "down_proj"],
    "llama": [*ATTENTION, "o_proj", "gate_proj", "up_proj", "down_proj"],
    "lfm2": [*ATTENTION, "out_proj", "in_proj", "w1", "w2", "w3"],
    "lfm2_moe": [*ATTENTION, "out_proj", "in_proj", "w1", "w2", "w3"],
}
EXPERTS = ["experts.gate_up_proj", "experts.down_proj"]
CONTEXT = 4096


def one_thread() -> None:
    """Small matrices gain nothing by threads, and on a busy machine threads wait for each other."""
    import torch

    torch.set_num_threads(1)


def tiny_model(
    folder: Path,
    family: str = "qwen3",
    *,
    seed: int = 0,
    hidden: int = 64,
    layers: int = 2,
    heads: int = 4,
    std: float = 0.08,
    context: int = CONTEXT,
) -> Path:
    """A random model of a family (``qwen3``, ``llama``, ``lfm2``, ``lfm2_moe``), with our tokenizer
    and a ChatML template with tools, saved in a folder."""
    import torch
    import transformers

    tokenizer = transformers.PreTrainedTokenizerFast(
        tokenizer_file=str(files("harness_adapters.serve").joinpath("tokenizer.json")),
        eos_token="<|im_end|>",
        pad_token="<|im_end|>",
    )
    tokenizer.chat_template = CHATML
    shape: dict[str, Any] = {
        "vocab_size": len(tokenizer),
        "hidden_size": hidden,
        "intermediate_size": hidden * 5 // 2,
        "num_hidden_layers": layers,
        "num_attention_heads": heads,
        "num_key_value_heads": heads // 2,
        "head_dim": 32,
        "max_position_embeddings": context,
        "tie_word_embeddings": True,
        "eos_token_id": tokenizer.eos_token_id,
        "bos_token_id": None,
        "pad_token_id": tokenizer.eos_token_id,
    }
    if family.startswith("lfm2"):
        # Their heads share the hidden size; vLLM's attention on a CPU takes none under 32.
        shape |= {"num_attention_heads": hidden // 32, "num_key_value_heads": hidden // 64}
        shape["layer_types"] = ["conv", "full_attention"] * (layers // 2)
        shape["block_auto_adjust_ff_dim"] = False
        # Published configs have these and vLLM reads them; transformers does not add them.
        shape |= {"block_dim": hidden, "conv_dim": hidden, "conv_dim_out": hidden}
    if family == "lfm2_moe":
        shape |= {"moe_intermediate_size": 32, "num_experts": 4, "num_experts_per_tok": 2}
        shape |= {"num_dense_layers": 1}
    config_class, model_class = {
        "qwen3": (transformers.Qwen3Config, transformers.Qwen3ForCausalLM),
        "llama": (transformers.LlamaConfig, transformers.LlamaForCausalLM),
        "lfm2": (transformers.Lfm2Config, transformers.Lfm2ForCausalLM),
        "lfm2_moe": (transformers.Lfm2MoeConfig, transformers.Lfm2MoeForCausalLM),
    }[family]
    one_thread()
    torch.manual_seed(seed)
    model = model_class(config_class(**shape))
    for parameter in model.parameters():
        if parameter.dim() > 1:
            torch.nn.init.normal_(parameter, std=std)
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


def tiny_adapter(
    folder: Path,
    model: Path,
    *,
    seed: int,
    rank: int = 8,
    alpha: int | None = None,
    experts: bool = False,
    **options: Any,
) -> Path:
    """An adapter of all linear layers, as peft saves it, with nothing in it at zero.

    :param experts: also of a mixture's experts.
    :param options: of peft's ``LoraConfig``.
    """
    import peft
    import torch
    import transformers

    one_thread()
    base = transformers.AutoModelForCausalLM.from_pretrained(model, dtype=torch.float32)
    config = peft.LoraConfig(
        r=rank,
        lora_alpha=alpha or 2 * rank,
        target_modules=options.pop("target_modules", ALL_LINEAR[base.config.model_type]),
        target_parameters=EXPERTS if experts else None,
        task_type="CAUSAL_LM",
        **options,
    )
    adapted = peft.get_peft_model(base, config)
    torch.manual_seed(seed)
    for name, parameter in adapted.named_parameters():
        if "lora_" in name:
            torch.nn.init.normal_(parameter, std=0.08)
    adapted.save_pretrained(folder)
    return folder


def teach(folder: Path, prompt: list[int], answer: list[int]) -> None:
    """Train the model in a folder until it gives one answer to one prompt, at temperature 0."""
    import torch
    import transformers

    model = transformers.AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32)
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
    tokens = torch.tensor([prompt + answer])
    labels = tokens.clone()
    labels[0, : len(prompt)] = -100
    for _ in range(200):
        loss = model(input_ids=tokens, labels=labels).loss
        if loss.item() < 1e-2:
            break
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    else:
        raise AssertionError(f"the model did not learn (loss {loss.item()})")
    model.save_pretrained(folder)


def logprobs_by_peft(
    model: Path, adapter: Path | None, ids: Sequence[int], *, temperature: float = 1.0
) -> np.ndarray[Any, np.dtype[np.float32]]:
    """What transformers and peft think of each id but the first, ``float32[len(ids) - 1]``."""
    import torch

    tokens = torch.tensor([list(ids)])
    with torch.inference_mode():
        logits = _loaded(model, adapter)(input_ids=tokens).logits[0, :-1] / temperature
        found = logits.log_softmax(-1).gather(1, tokens[0, 1:, None]).squeeze(1).numpy()
    assert np.isfinite(found).all()
    return np.asarray(found, np.float32)


@lru_cache(maxsize=8)
def _loaded(model: Path, adapter: Path | None) -> Any:
    import peft
    import torch
    import transformers

    one_thread()
    loaded = transformers.AutoModelForCausalLM.from_pretrained(model, dtype=torch.float32)
    if adapter is not None:
        loaded = peft.PeftModel.from_pretrained(loaded, str(adapter))
    return loaded.eval()
