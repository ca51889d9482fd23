"""From names to objects: which components a run uses, and where each came from."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from harness_adapters.errors import BadInput, BrokenTask, did_you_mean
from harness_adapters.gateway.guard.judge import Guard, LoadedRule
from harness_adapters.gateway.log_only import LogOnlyGuard
from harness_adapters.plugins import BUILTIN, Component, Plugins, canonical
from harness_adapters.protocols import HarnessDriver, Options, RewardShaper, TaskKind
from harness_adapters.tasks.self_graded import SELF_GRADED, SelfGraded
from harness_adapters.types import Provenance, Task

ComponentOptions = Mapping[str, Mapping[str, Options]]
"""``{"guards": {"tamper": {...}}, "rewards": {...}, "harness": {...}}``: a recipe's tables."""


@dataclass(frozen=True, kw_only=True)
class Parts:
    """The components of one run, created."""

    harness: str
    driver: HarnessDriver
    kinds: Mapping[str, TaskKind]
    guard: Guard
    rewards: Mapping[str, RewardShaper]
    provenance: tuple[Provenance, ...]
    options: dict[str, dict[str, object]]


def make_parts(
    plugins: Plugins,
    *,
    harness: str,
    kinds: Mapping[str, TaskKind],
    guards: Sequence[str] | None = None,
    rewards: Sequence[str] | None = None,
    options: ComponentOptions | None = None,
    log_only: bool = False,
) -> Parts:
    """Create what a run needs.

    :param kinds: the task kinds of the selected tasks, from ``make_kinds``.
    :param guards: names; ``None`` for every built-in one, empty for none at all.
    :param rewards: names; ``None`` for every built-in one.
    :param log_only: judge and record, block nothing.
    :raises PluginError: one of them is not there or does not start. A run never goes on with
        fewer guards than asked for.
    :raises BadInput: options for a component that the run does not use.
    """
    options = {kind: _by_canonical_name(kind, tables) for kind, tables in (options or {}).items()}
    guard_names = plugins.default_guards() if guards is None else _unique("guard", guards)
    if rewards is None:
        built_in = plugins.rewards.components.items()
        reward_names = sorted(name for name, c in built_in if c.distribution == BUILTIN)
    else:
        reward_names = _unique("reward", rewards)
    used = {"harness": [canonical(harness)], "guards": guard_names, "rewards": reward_names}
    _check_options(options, used)
    used_components: list[Component[Any]] = [
        plugins.harnesses.get(harness),
        *(plugins.tasks.get(name) for name in kinds if name != SELF_GRADED),
        *(plugins.guards.get(name) for name in guard_names),
        *(plugins.rewards.get(name) for name in reward_names),
    ]
    harness_options = options.get("harness", {}).get(canonical(harness))
    return Parts(
        harness=canonical(harness),
        driver=plugins.harnesses.create(harness, harness_options),
        kinds=kinds,
        guard=_guard(plugins, guard_names, options.get("guards", {}), log_only=log_only),
        rewards={
            name: plugins.rewards.create(name, options.get("rewards", {}).get(name))
            for name in reward_names
        },
        provenance=tuple(component.provenance for component in used_components),
        options={
            f"{kind}.{name}": dict(given)
            for kind, tables in options.items()
            for name, given in tables.items()
        },
    )


def make_guard(
    plugins: Plugins,
    guards: Sequence[str] | None = None,
    options: Mapping[str, Options] | None = None,
) -> Guard:
    """The guard alone, made as for a run.

    :param guards: names; ``None`` for every built-in one, empty for none at all.
    :param options: by guard name.
    :raises PluginError: one of them is not there or does not start.
    :raises BadInput: options for a guard that is not used.
    """
    names = plugins.default_guards() if guards is None else _unique("guard", guards)
    options = _by_canonical_name("guards", options or {})
    _check_options({"guards": options}, {"guards": names})
    return _guard(plugins, names, options)


def _guard(
    plugins: Plugins,
    names: Sequence[str],
    options: Mapping[str, Options],
    *,
    log_only: bool = False,
) -> Guard:
    rules = []
    for name in names:
        component = plugins.guards.get(name)
        given = dict(options.get(name, {}))
        rules.append(
            LoadedRule(
                name=name,
                rule=plugins.guards.create(name, given),
                distribution=component.distribution,
                version=component.version,
                options=given,
            )
        )
    return LogOnlyGuard(rules) if log_only else Guard(rules)


def make_kinds(plugins: Plugins, names: Iterable[str]) -> dict[str, TaskKind]:
    """The installed kinds among ``names``; a kind that is not installed is left out.

    :raises PluginError: one does not start.
    """
    kinds: dict[str, TaskKind] = {SELF_GRADED: SelfGraded()}
    for name in sorted(set(names) - {SELF_GRADED}):
        if canonical(name) in plugins.tasks.components:
            kinds[name] = plugins.tasks.create(name)
    return kinds


def check_tasks(
    plugins: Plugins, kinds: Mapping[str, TaskKind], tasks: Sequence[Task]
) -> tuple[list[Task], list[BrokenTask]]:
    """The tasks that can be run, and one error for each that cannot."""
    good: list[Task] = []
    broken: list[BrokenTask] = []
    for task in tasks:
        try:
            if task.kind not in kinds:
                hint = did_you_mean(task.kind, plugins.tasks.components)
                raise BrokenTask(
                    f"{task.path / 'task.toml'}: metadata.harness_adapters.kind: "
                    f"no task kind {task.kind!r} is installed{hint}"
                )
            kinds[task.kind].check(task)
            good.append(task)
        except BrokenTask as error:
            broken.append(error)
    return good, broken


def _unique(kind: str, names: Sequence[str]) -> list[str]:
    unique = sorted({canonical(name) for name in names})
    if len(unique) < len(names):
        raise BadInput(f"a {kind} is named twice: {', '.join(names)}")
    return unique


def _by_canonical_name(kind: str, tables: Mapping[str, Options]) -> dict[str, Options]:
    """``no-package-install`` and ``no_package_install`` are one name, for options too."""
    named: dict[str, Options] = {}
    for name, given in tables.items():
        if canonical(name) in named:
            raise BadInput(f"options [{kind}.{name}]: given twice")
        named[canonical(name)] = given
    return named


def _check_options(options: ComponentOptions, used: Mapping[str, Sequence[str]]) -> None:
    for kind, tables in options.items():
        if kind not in used:
            hint = did_you_mean(kind, used)
            raise BadInput(f"options [{kind}...]: no such kind of component{hint}")
        for name in tables:
            if name not in used[kind]:
                hint = did_you_mean(name, used[kind])
                raise BadInput(f"options [{kind}.{name}]: this run does not use it{hint}")
