"""Where the tiny policy lies: a model folder as transformers and vLLM read it."""

from __future__ import annotations

from importlib import resources
from pathlib import Path

POLICY = "tiny-policy"
"""Its name, as engines list it."""


def policy_folder() -> Path:
    """The folder with its weights, tokenizer and chat template, shipped with this package."""
    return Path(str(resources.files(__package__) / POLICY))
