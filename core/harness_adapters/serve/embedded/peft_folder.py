"""Reading an adapter as peft's ``save_pretrained`` leaves it: all of it, or not at all."""

from __future__ import annotations

import math
import re
from collections import defaultdict
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import orjson
import torch

from harness_adapters.serve.embedded.errors import Refused
from harness_adapters.serve.embedded.lora import AdaptedExperts, AdaptedLinear, Adapter, merged

Tensor = Any
CONFIG, WEIGHTS = "adapter_config.json", "adapter_model.safetensors"

_KEY = re.compile(r"base_model\.model\.(?P<path>.+)\.lora_(?P<factor>[AB])\.weight")
_NOT_SERVED = {
    "use_dora": False,
    "lora_bias": False,
    "bias": "none",
    "modules_to_save": None,
    "fan_in_fan_out": False,
    "layer_replication": None,
    "trainable_token_indices": None,
}


def read_adapter(name: str, folder: Path, model: Any, *, max_rank: int) -> Adapter:
    """:param model: the base, its layers made adaptable.
    :raises Refused: a file is missing or broken, it does not fit this model, its rank is too large,
        or it changes what is not served. Nothing of it stays in memory then.
    """
    config, weights = _config(folder), _weights(folder)
    factors: dict[str, dict[str, Tensor]] = defaultdict(dict)
    for key, value in weights.items():
        match = _KEY.fullmatch(key)
        if match is None:
            raise Refused(f"{folder}: {key} is not served, only LoRA of linear layers and experts")
        factors[match["path"]][match["factor"]] = value
    linear: dict[str, tuple[Tensor, Tensor]] = {}
    expert: dict[str, dict[str, Tensor]] = defaultdict(dict)
    for path, pair in factors.items():
        if set(pair) != {"A", "B"}:
            raise Refused(f"{folder}: {path} has only one of its two matrices")
        a, b = pair["A"], pair["B"]
        own, depth = _module_path(path)
        module = _module(model, own)
        if isinstance(module, AdaptedLinear):
            if a.shape[1:] != module.weight.shape[1:] or b.shape[:1] != module.weight.shape[:1]:
                raise Refused(f"{folder}: {own} has another shape in this model")
            _check_rank(folder, len(a), max_rank)
            linear[own] = a, b * _scale(config, own, len(a))
        elif isinstance(module, AdaptedExperts):
            experts = module.base
            parameter = _target(folder, config, own, experts, depth)
            base = getattr(experts, parameter)
            rank = len(a) // len(base)
            _check_rank(folder, rank, max_rank)
            change = _change(folder, own, a, b, base, transposed=bool(experts.is_transposed))
            expert[own][parameter] = base + change * _scale(config, own, rank)
        else:
            raise Refused(f"{folder}: this model has no linear layer or experts {own}")
    if not factors:
        raise Refused(f"{folder}: it adapts nothing")
    return Adapter(
        name=name,
        path=str(folder),
        factors=linear,
        experts={at: merged(_module(model, at).base, new) for at, new in expert.items()},
    )


def _config(folder: Path) -> Mapping[str, Any]:
    try:
        config = orjson.loads((folder / CONFIG).read_bytes())
        kind = config["peft_type"]
    except FileNotFoundError:
        raise Refused(f"{folder}: no {CONFIG} in it", status=404) from None
    except (OSError, orjson.JSONDecodeError, KeyError, TypeError) as error:
        raise Refused(f"{folder / CONFIG} cannot be read: {error}") from None
    if kind != "LORA":
        raise Refused(f"{folder}: peft type {kind} is not served, only LORA")
    for option, served in _NOT_SERVED.items():
        if (value := config.get(option, served)) not in (served, [], {}):
            raise Refused(f"{folder}: {option} = {value!r} is not served")
    return dict(config)


def _weights(folder: Path) -> dict[str, Tensor]:
    from safetensors import SafetensorError
    from safetensors.torch import load

    try:
        # Into memory, not mapped: the files may go while the adapter is served.
        weights = load((folder / WEIGHTS).read_bytes())
    except FileNotFoundError:
        raise Refused(f"{folder}: no {WEIGHTS} in it", status=404) from None
    except (OSError, SafetensorError) as error:
        raise Refused(f"{folder / WEIGHTS} cannot be read: {error}") from None
    if any(not torch.isfinite(value).all() for value in weights.values()):
        raise Refused(f"{folder / WEIGHTS}: there are values that are not finite")
    return {key: value.to(torch.float32) for key, value in weights.items()}


def _module_path(path: str) -> tuple[str, int]:
    """peft wraps a module once for each of its adapted parameters: its path, and how deep."""
    own = path.removesuffix(".base_layer")
    depth = 0
    while own != path:
        depth, path, own = depth + 1, own, own.removesuffix(".base_layer")
    return own, depth


def _module(model: Any, path: str) -> Any:
    try:
        return model.get_submodule(path)
    except AttributeError:
        return None


def _target(folder: Path, config: Mapping[str, Any], path: str, experts: Any, depth: int) -> str:
    """Which parameter of the experts: peft wraps them in the module's own order, so the last of
    those that are targeted is outermost."""
    targets = config.get("target_parameters") or ()
    named = [
        name
        for name in experts._parameters
        if any(f".{path}.{name}".endswith(f".{target}") for target in targets)
    ]
    if depth >= len(named):
        raise Refused(f"{folder}: target_parameters does not name what it adapts in {path}")
    return str(named[-1 - depth])


def _change(
    folder: Path, path: str, a: Tensor, b: Tensor, base: Tensor, *, transposed: bool
) -> Tensor:
    """What the two matrices add to a parameter ``[experts, out, in]``, as peft lays them out."""
    experts = len(base)
    try:
        a = a.reshape(experts, -1, a.shape[-1])
        b = b.reshape(len(b), -1, experts)
        change = torch.einsum("ore,eri->eoi", b, a)
    except RuntimeError:
        change = torch.empty(0)
    if transposed:
        change = change.transpose(-1, -2)
    if change.shape != base.shape:
        raise Refused(f"{folder}: {path} has another shape in this model")
    return change


def _scale(config: Mapping[str, Any], path: str, rank: int) -> float:
    alpha = config["lora_alpha"]
    for pattern, value in (config.get("alpha_pattern") or {}).items():
        if re.fullmatch(rf"(.*\.)?({pattern})", path):
            alpha = value
            break
    return float(alpha / (math.sqrt(rank) if config.get("use_rslora") else rank))


def _check_rank(folder: Path, rank: int, most: int) -> None:
    if rank > most:
        raise Refused(f"{folder}: LoRA rank {rank} is greater than max_lora_rank {most}")
