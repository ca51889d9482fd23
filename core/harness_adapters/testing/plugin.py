"""The contract of every plugin, whatever it offers."""

from __future__ import annotations

import importlib.util
import json
import subprocess
import sys
from importlib.metadata import Distribution, EntryPoint, entry_points
from pathlib import Path
from typing import ClassVar

import pytest

from harness_adapters.plugins import API_VERSION, BUILTIN, GROUP, Plugins, canonical

HEAVY = (
    "aiohttp",
    "datasets",
    "numpy",
    "pandas",
    "pyarrow",
    "pytest",
    "tokenizers",
    "torch",
    "transformers",
    "trl",
    "vllm",
)
"""Modules that a plugin may import only inside its factories."""
_PROBE = """\
import json, sys
from harness_adapters import Plugins
infos = [i for i in Plugins.load(only={only!r}).infos if i.status != "disabled"]
heavy = sorted(set({heavy!r}) & set(sys.modules))
print(json.dumps([heavy, [[i.name, i.status, i.reason, i.offers] for i in infos]]))
"""


class PluginContract:
    """Found by its entry point, light to load, typed, and complete on its own.

    Mandatory: every test.

    :cvar name: the entry point's name in the group ``harness_adapters``.
    """

    name: ClassVar[str]

    @pytest.fixture
    def entry_point(self) -> EntryPoint:
        found = [
            ep for ep in entry_points(group=GROUP) if canonical(ep.name) == canonical(self.name)
        ]
        assert found, f"no installed distribution has an entry point {self.name!r} in {GROUP!r}"
        assert len(found) == 1, [ep.dist and ep.dist.name for ep in found]
        return found[0]

    @pytest.fixture
    def distribution(self, entry_point: EntryPoint) -> Distribution:
        assert entry_point.dist is not None
        return entry_point.dist

    def test_it_speaks_this_api(self, entry_point: EntryPoint) -> None:
        assert getattr(entry_point.load(), "ha_api_version", None) == API_VERSION

    def test_it_loads_alone_lightly_and_offers_something(self) -> None:
        """In a process of its own, without any other plugin and without heavy modules."""
        probe = _PROBE.format(only={self.name}, heavy=HEAVY)
        done = subprocess.run([sys.executable, "-c", probe], capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        heavy, loaded = json.loads(done.stdout.splitlines()[-1])
        assert heavy == [], f"loading it imports {heavy}: import such modules inside the factory"
        ((_, status, reason, offers),) = loaded
        assert status == "loaded", reason
        assert offers, "it registers nothing"

    def test_it_loads_beside_all_others(self) -> None:
        infos = {canonical(info.name): info for info in Plugins.load().infos}
        info = infos[canonical(self.name)]
        assert info.status == "loaded", info.reason

    def test_each_component_says_what_it_does_in_one_line(self) -> None:
        plugins = Plugins.load(only={self.name})
        for registry in plugins.registries():
            for component in registry.components.values():
                assert component.summary.strip(), component.name
                assert "\n" not in component.summary, component.name

    def test_it_is_typed(self, entry_point: EntryPoint) -> None:
        """PEP 561: a package that holds ``py.typed``."""
        package = entry_point.module.partition(".")[0]
        spec = importlib.util.find_spec(package)
        assert spec is not None and spec.origin is not None
        assert (Path(spec.origin).parent / "py.typed").is_file(), f"{package} has no py.typed"

    def test_it_says_which_harness_adapters_it_needs(self, distribution: Distribution) -> None:
        if distribution.name == BUILTIN:
            return
        needs = [
            one
            for one in distribution.requires or ()
            if canonical(one).startswith(canonical(BUILTIN))
        ]
        assert needs, f"{distribution.name} does not depend on {BUILTIN}"
        assert any(sign in needs[0] for sign in "<>=~"), f"{needs[0]!r} names no version"
