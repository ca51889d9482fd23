"""What of a model a LoRA adapts, by name and share: "all linear layers" leaves some out, such as
the experts of a mixture, which are no linear layers but parameters of three dimensions."""

from __future__ import annotations

import re
from collections import Counter
from typing import Any

_LAYER = re.compile(r"\.\d+\.")


def adapted(model: Any) -> dict[str, Any]:
    """Of a PEFT model.

    :returns: ``modules``: name without layer numbers -> how many carry a LoRA; ``not_adapted``:
        the same for weights of two dimensions or more that carry none; ``parameters``: of the
        base, ``adapted_parameters``: of those below a LoRA, ``lora_parameters``: of the LoRA.
    """
    below: Counter[str] = Counter()
    beside: Counter[str] = Counter()
    counts = dict.fromkeys(("parameters", "adapted_parameters", "lora_parameters"), 0)
    lora_of = {
        name.split(".lora_A.")[0] for name, _ in model.named_parameters() if ".lora_A." in name
    }
    for name, value in model.named_parameters():
        if ".lora_" in name:
            counts["lora_parameters"] += value.numel()
            continue
        counts["parameters"] += value.numel()
        if value.dim() < 2:
            continue
        plain = _plain(name)
        if any(name.startswith(f"{owner}.base_layer.") for owner in lora_of):
            below[plain] += 1
            counts["adapted_parameters"] += value.numel()
        else:
            beside[plain] += 1
    share = counts["adapted_parameters"] / counts["parameters"]
    return {
        "modules": dict(sorted(below.items())),
        "not_adapted": dict(sorted(beside.items())),
        **counts,
        "adapted_share": round(share, 6),
    }


def _plain(name: str) -> str:
    name = name.removeprefix("base_model.model.").replace(".base_layer", "").removesuffix(".weight")
    return _LAYER.sub(".*.", name)
