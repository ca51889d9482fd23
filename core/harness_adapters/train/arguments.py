"""A recipe as the arguments of TRL's config and of peft's."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from harness_adapters.train.recipe import Recipe


def trainer_config(recipe: Recipe, *, run: str, folder: Path) -> dict[str, Any]:
    """Arguments of TRL's config, other than those that depend on the device."""
    return {
        "output_dir": str(folder),
        "max_steps": recipe.steps,
        "learning_rate": recipe.optimizer.learning_rate,
        "lr_scheduler_type": "constant",
        "per_device_train_batch_size": 1,
        "gradient_accumulation_steps": recipe.optimizer.micro_batches,
        "token_budget": recipe.optimizer.token_budget,
        "dtype": recipe.optimizer.dtype,
        "gradient_checkpointing": recipe.optimizer.gradient_checkpointing,
        "num_generations": recipe.rollouts.group_size,
        "temperature": recipe.rollouts.temperature,
        "max_completion_length": recipe.rollouts.max_output_tokens,
        "max_staleness": recipe.rollouts.max_staleness,
        "weight_sync_steps": recipe.steps + 1,  # a version follows its checkpoint instead
        "seed": recipe.seed,
        "save_strategy": "steps",
        "save_steps": 1,
        "logging_steps": 1,
        "logging_nan_inf_filter": False,
        "report_to": ["trackio"] if recipe.trackio.enabled else [],
        "project": recipe.trackio.project,
        "trackio_space_id": recipe.trackio.space_id or None,
        "run_name": f"{recipe.model_slug}.{recipe.harness}.{run}",
        "disable_tqdm": True,
    }


def lora_config(recipe: Recipe) -> dict[str, Any]:
    """Arguments of ``peft.LoraConfig``."""
    modules, parameters = recipe.lora.target_modules, recipe.lora.target_parameters
    return {
        "r": recipe.lora.rank,
        "lora_alpha": recipe.lora.alpha,
        "target_modules": modules if isinstance(modules, str) else list(modules),
        "target_parameters": list(parameters) or None,
    }
