"""Finding plugins: which distributions offer what, what was refused, and why.

A plugin is code: installing one lets it run in this process. The loader is our own and small,
since bare pluggy aborts at the first broken distribution, lets a later plugin replace an earlier
one silently, and follows directory order. Here built-ins come first, then third parties by (name,
distribution); a bad plugin is refused as a whole, with its reason, and the others stay.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Set
from dataclasses import dataclass, field
from importlib.metadata import Distribution, EntryPoint, entry_points
from typing import Any, Generic, TypeVar

import pluggy

from harness_adapters import hookspecs
from harness_adapters.errors import BadInput, PluginError, did_you_mean
from harness_adapters.protocols import GuardRule, HarnessDriver, Options, RewardShaper, TaskKind
from harness_adapters.types import Provenance, Rollout

T = TypeVar("T")
GROUP = "harness_adapters"
API_VERSION = 1
BUILTIN = "harness-adapters"
INLINE = "(inline)"


def canonical(name: str) -> str:
    """Names differ in more than case and dashes: ``Tool-Efficiency`` is ``tool_efficiency``."""
    return name.lower().replace("-", "_")


@dataclass(frozen=True, slots=True, kw_only=True)
class PluginInfo:
    """One discovered plugin. ``status`` is ``loaded``, ``disabled`` or ``refused``."""

    name: str
    module: str
    distribution: str
    version: str
    status: str
    reason: str = ""
    offers: tuple[str, ...] = ()  # "guard tamper", "harness pi" ...

    @property
    def builtin(self) -> bool:
        return self.distribution == BUILTIN


@dataclass(frozen=True, slots=True, kw_only=True)
class Component(Generic[T]):
    """Something a plugin offers, not yet created."""

    kind: str
    name: str
    summary: str
    factory: Callable[[Options], T]
    distribution: str
    version: str

    @property
    def provenance(self) -> Provenance:
        return Provenance(
            kind=self.kind, name=self.name, distribution=self.distribution, version=self.version
        )


@dataclass(slots=True)
class Registry(Generic[T]):
    """The components of one kind, by canonical name."""

    kind: str
    components: dict[str, Component[T]] = field(default_factory=dict[str, "Component[T]"])
    plugins: list[PluginInfo] = field(default_factory=list[PluginInfo])
    """All that were found: one that was refused may have offered what is asked for."""

    def registrar(self, distribution: str, version: str) -> Callable[..., None]:
        """What one plugin's registration hook is handed."""

        def register(name: str, factory: Callable[[Options], T], *, summary: str) -> None:
            key = canonical(name)
            if not re.fullmatch(r"[a-z][a-z0-9_]*", key):
                raise PluginError(f"{self.kind} name {name!r}: use letters, digits, dashes")
            if taken := self.components.get(key):
                raise PluginError(
                    f"{self.kind} {key!r} is offered by both {taken.distribution!r} and "
                    f"{distribution!r}; disable one of them"
                )
            self.components[key] = Component(
                kind=self.kind,
                name=key,
                summary=summary,
                factory=factory,
                distribution=distribution,
                version=version,
            )

        return register

    def get(self, name: str) -> Component[T]:
        """:raises PluginError: there is none; the message names near and installed ones."""
        try:
            return self.components[canonical(name)]
        except KeyError:
            known = ", ".join(sorted(self.components)) or "none"
            why = self._why_missing(canonical(name))
            raise PluginError(f"no {self.kind} {name!r}{why} (installed: {known})") from None

    def _why_missing(self, name: str) -> str:
        """A refused plugin of this name with its reason; else a near name and what was refused."""
        refused = [info for info in self.plugins if info.status == "refused"]
        for info in refused:
            if name in (canonical(info.name), canonical(info.distribution)):
                return f"; {info.distribution!r} was refused: {info.reason}"
        others = ", ".join(sorted({repr(info.distribution) for info in refused}))
        hint = did_you_mean(name, self.components)
        return f"{hint}; refused, as `ha plugins` tells: {others}" if others else hint

    def create(self, name: str, options: Options | None = None) -> T:
        """:raises PluginError: there is no such component, or its factory raised."""
        component = self.get(name)
        try:
            return component.factory(options or {})
        except BadInput:
            raise
        except Exception as error:
            raise PluginError(
                f"{self.kind} {component.name!r} from {component.distribution!r} did not start: "
                f"{type(error).__name__}: {error}"
            ) from error


class Plugins:
    """The plugins of one run. Hold your own; there is no global one.

    >>> plugins = Plugins.load(only={"tamper"})
    >>> sorted(plugins.guards.components)
    ['tamper']
    """

    def __init__(self) -> None:
        self._manager = pluggy.PluginManager(GROUP)
        self._manager.add_hookspecs(hookspecs)
        self.infos: list[PluginInfo] = []
        self.harnesses: Registry[HarnessDriver] = Registry("harness", plugins=self.infos)
        self.tasks: Registry[TaskKind] = Registry("task kind", plugins=self.infos)
        self.guards: Registry[GuardRule] = Registry("guard", plugins=self.infos)
        self.rewards: Registry[RewardShaper] = Registry("reward", plugins=self.infos)

    @classmethod
    def load(
        cls,
        *,
        only: Set[str] | None = None,
        disable: Set[str] = frozenset(),
        require: Set[str] = frozenset(),
    ) -> Plugins:
        """Load installed plugins by entry point. A bad one is refused, not fatal.

        :param only: names of plugins or distributions; all others are disabled.
        :param disable: names of plugins or distributions to leave out.
        :param require: names of plugins or distributions that must have loaded.
        :raises PluginError: a required plugin did not load, or a name is not installed.
        """
        plugins = cls()
        found = sorted(_discover(), key=lambda one: (not one.builtin, one.name, one.distribution))
        known = {name for one in found for name in one.names}
        for wanted in [*(only or ()), *disable, *require]:
            if canonical(wanted) not in known:
                hint = did_you_mean(canonical(wanted), known)
                raise PluginError(f"no plugin {wanted!r} is installed{hint}")
        first: dict[str, str] = {}
        for one in found:
            if one.selected_by(disable) or (only is not None and not one.selected_by(only)):
                plugins.infos.append(one.info("disabled", "by option"))
            elif owner := first.get(canonical(one.name)):
                reason = f"the name is claimed by both {owner!r} and {one.distribution!r}"
                plugins.infos.append(one.info("refused", reason))
            else:
                first[canonical(one.name)] = one.distribution
                plugins.infos.append(plugins._load(one))
            if (info := plugins.infos[-1]).status != "loaded" and one.selected_by(require):
                raise PluginError(
                    f"plugin {info.name!r} of {info.distribution!r} is required but "
                    f"{info.status}: {info.reason}"
                )
        return plugins

    def add(
        self, name: str, plugin: object, *, distribution: str = INLINE, version: str = ""
    ) -> None:
        """Register one plugin object and collect what it offers; all or nothing.

        An object of your own script needs no ``ha_api_version``.

        :raises PluginError: wrong API version, a hook we do not know, or a name already taken.
        """
        if (api := getattr(plugin, "ha_api_version", API_VERSION)) != API_VERSION:
            raise PluginError(
                f"it speaks ha_api_version {api!r}, this harness-adapters {API_VERSION}"
            )
        before = [(registry, dict(registry.components)) for registry in self.registries()]
        try:
            self._manager.register(plugin, name=name)
            self._manager.check_pending()
            self._collect(plugin, distribution, version)
        except Exception as error:
            if self._manager.has_plugin(name):
                self._manager.unregister(name=name)
            for registry, components in before:
                registry.components = components
            if isinstance(error, PluginError):
                raise
            raise PluginError(f"{type(error).__name__}: {error}") from error

    def registries(self) -> tuple[Registry[Any], ...]:
        return (self.harnesses, self.tasks, self.guards, self.rewards)

    def default_guards(self) -> list[str]:
        """The built-in guards: what runs when nobody names guards.

        :raises PluginError: a built-in plugin was refused, so this would be fewer than expected.
        """
        for info in self.infos:
            if info.builtin and info.status == "refused":
                raise PluginError(
                    f"built-in plugin {info.name!r} did not load ({info.reason}); "
                    "refusing to run with fewer guards than expected"
                )
        return sorted(n for n, c in self.guards.components.items() if c.distribution == BUILTIN)

    def observe(self, rollout: Rollout) -> list[str]:
        """Tell every observer; returns one line per observer that raised."""
        problems = []
        for impl in self._manager.hook.ha_rollout_finished.get_hookimpls():
            try:
                impl.function(*([rollout] if "rollout" in impl.argnames else []))
            except Exception as error:
                problems.append(f"observer {impl.plugin_name!r}: {type(error).__name__}: {error}")
        return problems

    def _load(self, one: _Found) -> PluginInfo:
        before = self._offered()
        try:
            plugin = one.entry_point.load()
            if not hasattr(plugin, "ha_api_version"):
                raise PluginError(f"it has no ha_api_version (this one is {API_VERSION})")
            self.add(one.name, plugin, distribution=one.distribution, version=one.version)
        except PluginError as error:
            return one.info("refused", str(error))
        except (Exception, SystemExit) as error:  # a script that ends when it is imported
            return one.info("refused", f"{type(error).__name__}: {error}")
        return one.info("loaded", offers=tuple(sorted(self._offered() - before)))

    def _offered(self) -> set[str]:
        return {f"{reg.kind} {name}" for reg in self.registries() for name in reg.components}

    def _collect(self, plugin: object, distribution: str, version: str) -> None:
        """Call this plugin's registration hooks, and no other plugin's."""
        others = [other for other in self._manager.get_plugins() if other is not plugin]
        for registry, hook in zip(
            self.registries(), ("harnesses", "tasks", "guards", "rewards"), strict=True
        ):
            caller = self._manager.subset_hook_caller(f"ha_register_{hook}", others)
            for result in caller(register=registry.registrar(distribution, version)):
                if hasattr(result, "close"):  # an ``async def`` hook: nobody would await it
                    result.close()
                raise PluginError(
                    f"ha_register_{hook} must be a plain function that returns nothing"
                )


@dataclass(frozen=True, slots=True)
class _Found:
    entry_point: EntryPoint
    distribution: str
    version: str

    @property
    def name(self) -> str:
        return self.entry_point.name

    @property
    def module(self) -> str:
        return self.entry_point.value

    @property
    def names(self) -> tuple[str, str]:
        return canonical(self.name), canonical(self.distribution)

    @property
    def builtin(self) -> bool:
        return self.distribution == BUILTIN

    def selected_by(self, wanted: Set[str]) -> bool:
        return not {canonical(name) for name in wanted}.isdisjoint(self.names)

    def info(self, status: str, reason: str = "", offers: tuple[str, ...] = ()) -> PluginInfo:
        return PluginInfo(
            name=self.name,
            module=self.module,
            distribution=self.distribution,
            version=self.version,
            status=status,
            reason=reason,
            offers=offers,
        )


def _discover() -> Iterator[_Found]:
    # Asking a distribution for its name parses its METADATA, so ask each one once.
    seen: dict[Distribution, tuple[str, str]] = {}
    for entry_point in entry_points(group=GROUP):
        dist = entry_point.dist
        if dist is None:
            continue
        if dist not in seen:
            metadata = dist.metadata
            seen[dist] = metadata["Name"], metadata["Version"]
        yield _Found(entry_point, *seen[dist])
