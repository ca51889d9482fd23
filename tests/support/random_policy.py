"""What can be trained in real pi within minutes on a busy machine: random weights that are paid for
the share of even ids in what they say."""

from __future__ import annotations

from pathlib import Path

from distributions import install
from tiny_models import CONTEXT, tiny_model
from training_runs import write_recipe

IN_FLIGHT = 3
SLOTS = 7
REWARD = """
from harness_adapters import RewardTerm, hookimpl

class EvenIds:
    def shape(self, attempt):
        ids = [id for turn in attempt.transcript.turns for id in turn.sampled_ids]
        return RewardTerm(name="even_ids", value=sum(id % 2 == 0 for id in ids) / max(1, len(ids)))

class Plugin:
    ha_api_version = 1

    @hookimpl
    def ha_register_rewards(self, register):
        register("even-ids", lambda options: EvenIds(), summary="share of even ids")

plugin = Plugin()
"""


def random_policy(
    folder: Path,
    *,
    steps: int,
    every: int = 0,
    harness: str = "pi",
    context: int = CONTEXT,
    budget: int = 2600,
) -> tuple[Path, dict[str, str]]:
    """Its recipe, and the environment variables that training needs; the model is ``folder/tiny``.

    Rows share their prompt, which is most of them: a small budget makes a step of few sessions.
    """
    model = tiny_model(folder / "tiny", context=context)
    install_reward(folder / "site")
    recipe = write_recipe(
        folder,
        model,
        steps=steps,
        harness=harness,
        more='rewards = ["even-ids"]',
        in_flight=IN_FLIGHT,
        tokens=24,
        budget=budget,
        every=every,
    )
    return recipe, {"PYTHONPATH": str(folder / "site")}


def install_reward(site: Path) -> None:
    install(site, "ha-reward-even", "ha_reward_even:plugin", REWARD, "even-ids")
