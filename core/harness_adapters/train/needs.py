"""What a recipe would run, what that needs, and what of it is missing here."""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from harness_adapters.doctor.line import Line, Status, fail, ok, warn
from harness_adapters.errors import BadInput, HarnessAdaptersError, first_of
from harness_adapters.parts import check_tasks, make_kinds, make_parts
from harness_adapters.plugins import Plugins
from harness_adapters.tasks.mixture import Mixture, mixture
from harness_adapters.train import machine
from harness_adapters.train.deviations import deviations
from harness_adapters.train.memory import GIB, Memory, estimate, longest_row
from harness_adapters.train.model_size import ModelSize, read_model_size
from harness_adapters.train.recipe import Recipe
from harness_adapters.types import Task

_HUB_ID = re.compile(r"[\w.-]+/[\w.-]+")


@dataclass(frozen=True, kw_only=True)
class Needs:
    """:ivar lines: findings by topic.
    :ivar memory: ``None`` where the model's files are not on this machine.
    """

    recipe: Recipe
    lines: dict[str, list[Line]]
    deviations: list[str]
    mixture: Mixture | None = None
    size: ModelSize | None = None
    memory: Memory | None = None
    gpus: list[machine.Gpu] = field(default_factory=list)

    @property
    def missing(self) -> list[str]:
        return [line.text for lines in self.lines.values() for line in lines if _failed(line)]


def recipe_mixture(recipe: Recipe) -> Mixture:
    """The tasks of a recipe.

    :raises BadInput: it names none, or they cannot be mixed as it says; the message names the key.
    """
    table = recipe.tasks
    if table.path is None:
        raise BadInput("[tasks] path: missing; it says which folder of tasks is trained on")
    try:
        return mixture(
            table.path,
            weights=table.weights,
            caps=table.caps,
            difficulty=table.difficulty,
            held_out=table.held_out.model_dump(),
            self_graded=table.self_graded,
            seed=recipe.seed,
        )
    except BadInput as error:
        raise BadInput(f"[tasks] {error}") from None


def examine(recipe: Recipe, plugins: Plugins) -> Needs:
    """Look at everything a run of this recipe needs. Downloads nothing and starts nothing."""
    lines: dict[str, list[Line]] = {"run": [ok(_what_runs(recipe))]}
    lines["plugins"] = _plugins(recipe, plugins)
    mixed, lines["tasks"] = _tasks(recipe, plugins)
    size, lines["model"] = _model(recipe)
    memory = estimate(recipe, size) if size else None
    found = machine.gpus()
    lines["rows"] = list(_rows(recipe, size))
    lines["memory"] = list(_memory(recipe, size, memory))
    lines["device"] = list(_device(recipe, memory, found))
    lines["packages"] = _packages(recipe)
    return Needs(
        recipe=recipe,
        lines={name: some for name, some in lines.items() if some},
        deviations=deviations(recipe),
        mixture=mixed,
        size=size,
        memory=memory,
        gpus=found,
    )


def _failed(line: Line) -> bool:
    return line.status is Status.FAIL


def _what_runs(recipe: Recipe) -> str:
    rollouts = recipe.rollouts
    return (
        f"{recipe.steps} steps of GRPO for {recipe.model} in {recipe.harness}: groups of "
        f"{rollouts.group_size}, {rollouts.in_flight} sessions at a time, LoRA of rank "
        f"{recipe.lora.rank}, {recipe.lora_slots} adapter slots on the server"
    )


def _plugins(recipe: Recipe, plugins: Plugins) -> list[Line]:
    try:
        parts = make_parts(
            plugins,
            harness=recipe.harness,
            kinds={},
            guards=recipe.guards,
            rewards=recipe.rewards,
            options=recipe.options,
        )
    except BadInput as error:
        return [fail(str(error), "install it, or correct its name or options in the recipe")]
    used = Counter(one.kind for one in parts.provenance)
    return [
        ok(f"harness {parts.harness}, {used['guard']} guards, {used['reward']} rewards"),
        *([] if used["guard"] else [warn("no guard watches this run", "leave `guards` out")]),
    ]


def _tasks(recipe: Recipe, plugins: Plugins) -> tuple[Mixture | None, list[Line]]:
    try:
        mixed = recipe_mixture(recipe)
    except HarnessAdaptersError as error:
        return None, [fail(str(error), "correct [tasks] in the recipe")]
    everything = [*mixed.train, *mixed.dev, *mixed.held_out]
    kinds = make_kinds(plugins, {task.kind for task in everything})
    _, unfit = check_tasks(plugins, kinds, everything)
    broken = [*mixed.broken, *unfit]
    lines = [
        ok(
            f"{len(mixed.train)} to train on ({_kinds(mixed.train)}), {len(mixed.order(0, 0))} "
            f"of them per epoch; {len(mixed.held_out)} held out, {len(mixed.dev)} for development"
        )
    ]
    if mixed.left_out:
        reasons = ", ".join(f"{number} {reason}" for reason, number in mixed.left_out.items())
        lines.append(ok(f"left out: {reasons}"))
    if broken:
        lines.append(fail(first_of(broken), "mend them, or take them out of the folder"))
    return mixed, lines


def _kinds(tasks: Sequence[Task]) -> str:
    return ", ".join(f"{kind} {n}" for kind, n in sorted(Counter(t.kind for t in tasks).items()))


def _model(recipe: Recipe) -> tuple[ModelSize | None, list[Line]]:
    folder = machine.model_folder(recipe.model)
    if folder is None:
        if not _HUB_ID.fullmatch(recipe.model):
            text = f"model: {recipe.model!r} is no folder here and no id on the Hub (owner/name)"
            return None, [fail(text, "set `model` to where its files are")]
        text = f"{recipe.model} is not on this machine"
        if os.environ.get("HF_HUB_OFFLINE", "").upper() in ("1", "ON", "YES", "TRUE"):
            return None, [fail(f"{text}, and HF_HUB_OFFLINE is set", "download it first")]
        return None, [warn(f"{text}: sizes are not known", "the run will download it")]
    try:
        size = read_model_size(folder)
    except BadInput as error:
        return None, [fail(str(error), "complete the model's files")]
    lines = [ok(f"{size.parameters / 1e6:,.1f} M parameters in {size.layers} layers, {folder}")]
    if not (folder / "tokenizer.json").exists():
        lines.append(fail(f"{folder}: no tokenizer.json in it", "complete the model's files"))
    if not size.lora_parameters(recipe.lora.rank, recipe.lora.target_modules):
        text = "[lora] target_modules: no linear layer of the model has such a name"
        lines.append(fail(text, f"use one of {', '.join(_modules(size))}"))
    if size.experts and not recipe.lora.target_parameters:
        share = size.experts / size.parameters
        text = f"{share:.0%} of the parameters are experts, which the LoRA does not reach"
        lines.append(warn(text, "name them in [lora] target_parameters if the server can serve it"))
    return size, lines


def _modules(size: ModelSize) -> list[str]:
    return sorted({name.rsplit(".", 1)[-1] for name in size.linear})


def _rows(recipe: Recipe, size: ModelSize | None) -> Iterator[Line]:
    budget, output = recipe.optimizer.token_budget, recipe.rollouts.max_output_tokens
    if output >= budget:
        yield fail(
            f"[rollouts] max_output_tokens: {output:,} leaves no room for a prompt in rows of "
            f"{budget:,} tokens ([optimizer] token_budget)",
            "lower one or raise the other",
        )
    elif size:
        longest = longest_row(recipe, size)
        yield ok(f"sessions of up to {longest:,} tokens: serve with --max-model-len {longest}")


def _memory(recipe: Recipe, size: ModelSize | None, memory: Memory | None) -> Iterator[Line]:
    if memory is None or size is None:
        return
    yield ok(
        f"trainer: {_gib(memory.trainer)} at least: weights {_gib(memory.weights)}, adapter with "
        f"Adam {_gib(memory.adapter)}, hidden states of a full micro-batch "
        f"{_gib(memory.activations)}; work space comes on top"
    )
    yield ok(
        f"server: {_gib(memory.server)} at least, and a KV cache of {memory.kv_token / 1024:,.1f} "
        f"KiB per token ({_gib(memory.kv_sessions)} for {recipe.rollouts.in_flight} sessions of "
        f"{longest_row(recipe, size):,} tokens; fewer wait or are computed again)"
    )


def _device(recipe: Recipe, memory: Memory | None, gpus: Sequence[machine.Gpu]) -> Iterator[Line]:
    for gpu in gpus:
        yield ok(f"{gpu.name}, {_gib(gpu.memory)}")
    if gpus:
        largest = max(gpu.memory for gpu in gpus)
        if memory and memory.trainer > largest:
            yield warn("the trainer does not fit on one GPU", "shard it, see docs/gpu.md")
        return
    if recipe.optimizer.dtype != "float32":
        yield fail(
            f"no GPU here, and the recipe trains in {recipe.optimizer.dtype}",
            'see docs/gpu.md; for a small model on a CPU set [optimizer] dtype = "float32"',
        )
        return
    available = machine.available_memory()
    if memory and available is not None and memory.trainer + memory.server > available:
        yield fail(
            f"no GPU here, and {_gib(available)} of memory are left for trainer and server",
            "see docs/gpu.md, or take a smaller model or [optimizer] token_budget",
        )
    else:
        yield ok("no GPU here; trains on the CPU")


def _packages(recipe: Recipe) -> list[Line]:
    wanted = [
        package
        for package in machine.packages("train")
        if package.name != "trackio" or recipe.trackio.enabled
    ]
    lines = []
    if fit := [f"{package.name} {package.version}" for package in wanted if package.fits]:
        lines.append(ok(", ".join(fit)))
    for package in wanted:
        if not package.fits:
            there = f"{package.version} is installed" if package.version else "not installed"
            text = f"{package.name}{package.wanted} is needed; {there}"
            lines.append(fail(text, "pip install 'harness-adapters[train]'"))
    return lines


def _gib(size: float) -> str:
    return f"{size / GIB:,.1f} GiB" if size >= GIB / 10 else f"{size / 2**20:,.1f} MiB"
