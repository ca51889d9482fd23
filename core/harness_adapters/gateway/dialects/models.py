"""The list of models, in one shape that OpenAI's and Anthropic's clients both read."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

OWNER = "harness-adapters"


def model_card(model: str) -> dict[str, Any]:
    return {
        "id": model,
        "object": "model",
        "created": 0,
        "owned_by": OWNER,
        "type": "model",
        "display_name": model,
        "created_at": "1970-01-01T00:00:00Z",
    }


def model_list(models: Sequence[str]) -> dict[str, Any]:
    return {
        "object": "list",
        "data": [model_card(model) for model in models],
        "has_more": False,
        "first_id": models[0] if models else None,
        "last_id": models[-1] if models else None,
    }
