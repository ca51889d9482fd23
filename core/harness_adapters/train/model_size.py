"""How large a model on this machine is, read from its files' headers; no weight is loaded."""

from __future__ import annotations

import json
import math
import struct
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from harness_adapters.errors import BadInput

MAX_CONFIG = 4 << 20
MAX_HEADER = 100 << 20
_NOT_ADAPTED = ("embed", "lm_head", "router", ".gate.weight", "conv.conv", "norm")
_ATTENTION = ("attention", "full_attention", "sliding_attention")


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelSize:
    """:ivar parameters: of the whole model, each weight once.
    :ivar linear: ``(in, out)`` of each linear layer that ``all-linear`` adapts, by its name.
    :ivar experts: parameters of mixture-of-experts layers, which ``all-linear`` leaves out.
    :ivar layers: of the decoder. ``hidden``: numbers per token between two of them.
    :ivar kv_numbers: numbers that the cache keeps per token, keys and values of all layers.
    :ivar context: most positions, where the config says.
    """

    parameters: int
    linear: Mapping[str, tuple[int, int]]
    experts: int
    layers: int
    hidden: int
    kv_numbers: int
    context: int | None

    def lora_parameters(self, rank: int, modules: str | tuple[str, ...] = "all-linear") -> int:
        """Of a LoRA on these modules, ``"all-linear"`` or names as in peft."""
        return sum(
            rank * (ins + outs)
            for name, (ins, outs) in self.linear.items()
            if modules == "all-linear" or name.rsplit(".", 1)[-1] in modules
        )


def read_model_size(folder: Path) -> ModelSize:
    """Of a model folder as ``save_pretrained`` writes it.

    :raises BadInput: no ``config.json`` or no safetensors there, or one that cannot be read.
    """
    config = _json(folder / "config.json")
    text = config.get("text_config", config)
    files = sorted(folder.glob("*.safetensors"))
    if not files:
        raise BadInput(f"{folder}: no weights in it (*.safetensors)")
    linear: dict[str, tuple[int, int]] = {}
    parameters = experts = 0
    for file in files:
        for name, shape in _shapes(file):
            size = math.prod(shape)
            parameters += size
            if ".experts." in name:
                experts += size
            elif len(shape) == 2 and name.endswith(".weight") and not _left_out(name):
                linear[name.removesuffix(".weight")] = (shape[1], shape[0])
    try:
        return ModelSize(
            parameters=parameters,
            linear=linear,
            experts=experts,
            layers=int(text["num_hidden_layers"]),
            hidden=int(text["hidden_size"]),
            kv_numbers=_kv_numbers(text),
            context=int(text["max_position_embeddings"])
            if "max_position_embeddings" in text
            else None,
        )
    except (KeyError, TypeError, ValueError) as error:
        raise BadInput(f"{folder / 'config.json'}: {error} is missing or no number") from None


def _kv_numbers(config: Mapping[str, Any]) -> int:
    """Keys and values per token; layers without attention (convolutions) keep none."""
    heads = int(config["num_attention_heads"])
    kv_heads = int(config.get("num_key_value_heads") or heads)
    head = int(config.get("head_dim") or int(config["hidden_size"]) // heads)
    kinds = config.get("layer_types")
    layers = int(config["num_hidden_layers"])
    if isinstance(kinds, list):
        layers = sum(kind in _ATTENTION for kind in kinds)
    return 2 * layers * kv_heads * head


def _left_out(name: str) -> bool:
    return any(part in name for part in _NOT_ADAPTED)


def _shapes(file: Path) -> Iterator[tuple[str, list[int]]]:
    """Names and shapes from a safetensors header: 8 bytes of length, then JSON."""
    try:
        with file.open("rb") as opened:
            (length,) = struct.unpack("<Q", opened.read(8))
            if length > MAX_HEADER:
                raise ValueError("its header is too long")
            header = json.loads(opened.read(length))
        for name, entry in header.items():
            if name != "__metadata__":
                yield name, [int(size) for size in entry["shape"]]
    except OSError as error:
        raise BadInput(f"{file}: cannot be read ({error.strerror})") from None
    except (struct.error, ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise BadInput(f"{file}: not a safetensors file ({error})") from None


def _json(file: Path) -> dict[str, Any]:
    try:
        with file.open("rb") as opened:
            content = opened.read(MAX_CONFIG + 1)
        if len(content) > MAX_CONFIG:
            raise BadInput(f"{file}: larger than {MAX_CONFIG >> 20} MiB")
        config = json.loads(content)
    except FileNotFoundError:
        raise BadInput(f"{file}: there is no such file") from None
    except OSError as error:
        raise BadInput(f"{file}: cannot be read ({error.strerror})") from None
    except (ValueError, RecursionError) as error:
        raise BadInput(f"{file}: not valid JSON ({error})") from None
    if not isinstance(config, dict) or not isinstance(config.get("text_config", {}), dict):
        raise BadInput(f"{file}: not a model's config")
    return config
