"""The policies that the quick start can train, and where they lie: model folders as transformers
and vLLM read them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from types import MappingProxyType

from harness_adapters.errors import BadInput, MissingPrerequisite, did_you_mean
from harness_adapters.harness.cache import cache_folder
from harness_adapters.quickstart.tasks import FEWEST_HELD_OUT, HELD_OUT

POLICY = "tiny-policy"
"""The name of the one that ships with this package, as engines list it."""
PRETRAINED = "smollm2-135m"
ENGINES = ("embedded", "vllm")


def policy_folder() -> Path:
    """The folder with the tiny policy's weights, tokenizer and chat template."""
    return Path(str(resources.files(__package__) / POLICY))


def pretrained_folder() -> Path:
    """Where ``scripts/smollm2/make`` leaves SmolLM2-135M, warm-started on synthetic sessions."""
    return cache_folder() / "policies" / PRETRAINED


@dataclass(frozen=True, slots=True, kw_only=True)
class Policy:
    """A model that the quick start trains adapters for.

    :ivar title: what a report calls it.
    :ivar recipe: the shipped recipe for its adapters.
    :ivar harnesses: those whose sessions it has been shown.
    :ivar engine: what serves it, one of ``ENGINES``.
    :ivar held_out: most tasks that its adapters are compared with it on.
    :ivar place: tells its folder.
    """

    title: str
    recipe: str
    harnesses: tuple[str, ...]
    engine: str
    held_out: int
    place: Callable[[], Path]

    def folder(self) -> Path:
        """The model's folder.

        :raises MissingPrerequisite: it has not been made.
        """
        folder = self.place()
        if not (folder / "config.json").is_file():
            raise MissingPrerequisite(
                f"{self.title} is not in {folder}: scripts/smollm2/make in a checkout makes it "
                "(about an hour on two cores)"
            )
        return folder


POLICIES: Mapping[str, Policy] = MappingProxyType(
    {
        "tiny": Policy(
            title="the tiny policy",
            recipe="cpu",
            harnesses=("pi", "opencode", "hermes"),
            engine="embedded",
            held_out=HELD_OUT,
            place=policy_folder,
        ),
        "smollm2": Policy(
            title="SmolLM2-135M",
            recipe="smollm2-135m",
            harnesses=("pi",),
            engine="vllm",
            held_out=FEWEST_HELD_OUT,
            place=pretrained_folder,
        ),
    }
)
"""By the names that ``ha quickstart --policy`` takes."""


def find_policy(name: str, harnesses: Sequence[str]) -> Policy:
    """The policy of that name.

    :raises BadInput: there is none, or it knows none of these harnesses' sessions.
    """
    if name not in POLICIES:
        raise BadInput(
            f"no policy {name!r}{did_you_mean(name, POLICIES)}; there are {', '.join(POLICIES)}"
        )
    policy = POLICIES[name]
    if unknown := [one for one in harnesses if one not in policy.harnesses]:
        raise BadInput(
            f"{policy.title} has seen no sessions in {', '.join(unknown)}; "
            f"it knows {', '.join(policy.harnesses)}"
        )
    return policy
