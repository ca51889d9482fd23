from __future__ import annotations

import subprocess
import sys
import textwrap
import types
from collections.abc import Callable
from pathlib import Path

import pytest
from distributions import install

from harness_adapters import Options, PluginError, Plugins, Register, Rollout, hookimpl

BUILT_IN_GUARDS = [
    "atif_scan",
    "credentials",
    "declared_tools",
    "lookup",
    "seen_hosts",
    "smoldataenvs",
    "tamper",
    "traj2envs",
]


def plugin(**members: object) -> types.ModuleType:
    module = types.ModuleType("made_up")
    module.__dict__.update({"ha_api_version": 1, **members})
    return module


def guards(*names: str) -> Callable[..., None]:
    @hookimpl
    def ha_register_guards(register: Register[object]) -> None:
        for name in names:
            register(name, lambda options: object(), summary=name)

    return ha_register_guards


def test_built_ins_are_found_by_their_entry_points() -> None:
    plugins = Plugins.load()
    assert plugins.default_guards() == BUILT_IN_GUARDS
    assert sorted(plugins.tasks.components) == ["build", "extend", "qa", "repair"]
    assert {info.status for info in plugins.infos if info.builtin} == {"loaded"}


def test_a_refused_plugin_leaves_nothing_behind() -> None:
    plugins = Plugins()
    with pytest.raises(PluginError, match="twice"):
        plugins.add("bad", plugin(ha_register_guards=guards("fine", "twice", "twice")))
    assert plugins.guards.components == {}
    plugins.add("bad", plugin(ha_register_guards=guards("fine")))
    assert list(plugins.guards.components) == ["fine"]


def test_a_misspelled_hook_is_refused() -> None:
    @hookimpl
    def ha_register_gaurds(register: Register[object]) -> None: ...

    plugins = Plugins()
    with pytest.raises(PluginError, match="ha_register_gaurds"):
        plugins.add("bad", plugin(ha_register_gaurds=ha_register_gaurds))
    plugins.add("good", plugin())


def test_an_async_hook_is_refused() -> None:
    @hookimpl
    async def ha_register_guards(register: Register[object]) -> None: ...

    with pytest.raises(PluginError, match="plain function"):
        Plugins().add("bad", plugin(ha_register_guards=ha_register_guards))


def test_another_api_version_is_refused() -> None:
    with pytest.raises(PluginError, match="ha_api_version 2"):
        Plugins().add("bad", plugin(ha_api_version=2))


def test_a_hook_may_leave_out_arguments() -> None:
    """RF48: a plugin written for an earlier shape of a hook still loads."""
    seen = []

    @hookimpl
    def ha_rollout_finished() -> None:
        seen.append("called")

    plugins = Plugins()
    plugins.add("old", plugin(ha_rollout_finished=ha_rollout_finished))
    assert plugins.observe(rollout=None) == []  # type: ignore[arg-type]
    assert seen == ["called"]


def test_an_observer_that_raises_is_reported_and_the_others_still_hear() -> None:
    heard: list[object] = []

    @hookimpl(specname="ha_rollout_finished")
    def broken(rollout: Rollout) -> None:
        raise RuntimeError("no disk")

    @hookimpl(specname="ha_rollout_finished")
    def listening(rollout: object) -> None:
        heard.append(rollout)

    plugins = Plugins()
    plugins.add("a", plugin(broken=broken))
    plugins.add("b", plugin(listening=listening))
    assert plugins.observe("it") == ["observer 'a': RuntimeError: no disk"]  # type: ignore[arg-type]
    assert heard == ["it"]


@pytest.mark.parametrize("name", ["Tool-Efficiency", "tool_efficiency", "TOOL_EFFICIENCY"])
def test_names_differ_in_more_than_case_and_dashes(name: str) -> None:
    """RF46"""
    assert Plugins.load().rewards.get(name).name == "tool_efficiency"


def test_an_unknown_name_gets_near_and_installed_ones() -> None:
    """RF46"""
    with pytest.raises(PluginError, match=r"no guard 'acme/tamper'; did you mean 'tamper'\?"):
        Plugins.load().guards.create("acme/tamper")


def test_a_factory_that_raises_is_named() -> None:
    @hookimpl
    def ha_register_guards(register: Register[object]) -> None:
        def broken(options: Options) -> object:
            raise OSError("no model file")

        register("heavy", broken, summary="")

    plugins = Plugins()
    plugins.add("mine", plugin(ha_register_guards=ha_register_guards))
    with pytest.raises(PluginError, match=r"guard 'heavy' from '\(inline\)'.*no model file"):
        plugins.guards.create("heavy")


def test_selecting_a_plugin_that_is_not_installed_is_an_error() -> None:
    with pytest.raises(PluginError, match=r"no plugin 'tampr' is installed; did you mean 'tamper'"):
        Plugins.load(only={"tampr"})


def loaded_with(folder: Path, code: str) -> str:
    script = f"import sys; sys.path.insert(0, {str(folder)!r})\n" + textwrap.dedent(code)
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


STATUS = """
from harness_adapters import Plugins
for info in Plugins.load().infos:
    if info.distribution != "harness-adapters":
        print(info.distribution, info.status, info.reason)
"""

GUARD = """
from harness_adapters import hookimpl
ha_api_version = 1
@hookimpl
def ha_register_guards(register):
    register("{name}", lambda options: object(), summary="")
"""


def test_two_distributions_with_one_component_name_conflict_by_name(tmp_path: Path) -> None:
    """RF47: the later plugin is refused as a whole, and both distributions are named."""
    install(tmp_path, "acme-guards", "acme_guards", GUARD.format(name="tamper"), "acme")
    out = loaded_with(tmp_path, STATUS)
    assert out.startswith("acme-guards refused guard 'tamper' is offered by both")
    assert "'harness-adapters' and 'acme-guards'" in out


def test_two_distributions_with_one_plugin_name_conflict_by_name(tmp_path: Path) -> None:
    """RF47"""
    install(tmp_path, "one-guard", "one_guard", GUARD.format(name="one"), "extra")
    install(tmp_path, "two-guard", "two_guard", GUARD.format(name="two"), "extra")
    out = loaded_with(tmp_path, STATUS).splitlines()
    assert out[0].startswith("one-guard loaded")
    assert out[1] == "two-guard refused the name is claimed by both 'one-guard' and 'two-guard'"


@pytest.mark.parametrize(
    ("code", "reason"),
    [
        ("import no_such_module", "ModuleNotFoundError"),
        ("raise SystemError('boom')", "boom"),
        ("raise SystemExit('a script')", "SystemExit: a script"),
        ("x = 1", "no ha_api_version"),
        ("ha_api_version = 7", "ha_api_version 7"),
    ],
)
def test_a_broken_distribution_is_refused_and_the_rest_stays(
    tmp_path: Path, code: str, reason: str
) -> None:
    install(tmp_path, "acme-guards", "acme_guards", code, "acme")
    out = loaded_with(tmp_path, STATUS + "print(*Plugins.load().default_guards())")
    assert out.startswith("acme-guards refused") and reason in out
    assert out.endswith(" ".join(BUILT_IN_GUARDS))


def test_a_required_plugin_that_does_not_load_is_an_error(tmp_path: Path) -> None:
    install(tmp_path, "acme-guards", "acme_guards", "import no_such_module", "acme")
    out = loaded_with(
        tmp_path,
        """
        from harness_adapters import PluginError, Plugins
        try:
            Plugins.load(require={"acme"})
        except PluginError as error:
            print(error)
        """,
    )
    assert "plugin 'acme' of 'acme-guards' is required but refused: ModuleNotFoundError" in out


def test_third_party_guards_run_only_by_name(tmp_path: Path) -> None:
    install(tmp_path, "acme-guards", "acme_guards", GUARD.format(name="extra"), "acme")
    out = loaded_with(
        tmp_path,
        """
        from harness_adapters import Plugins
        plugins = Plugins.load()
        print(*plugins.default_guards(), *sorted(plugins.guards.components))
        """,
    )
    assert out.split() == [*BUILT_IN_GUARDS, *sorted([*BUILT_IN_GUARDS, "extra"])]
