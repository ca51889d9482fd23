"""What plugins may rely on. A name that vanishes here breaks somebody's plugin: see
docs/plugin-api.md before changing this list."""

from __future__ import annotations

import importlib
import inspect
from pathlib import Path

import pytest

import harness_adapters
from harness_adapters import hookspecs, testing

NAMES = """
API_VERSION Action AgentError Attempt AuxiliaryRequest BadInput BrokenTask Comparison ConnectHost
Decision Ended Endpoint Evaluation EvaluationInterrupted EvaluationStopped ExecResult FileEntry
Finding Flag GuardRule HarnessAdaptersError HarnessDriver HarnessExit InfraError InstallPackage
Isolation JudgedCall Ledger Limits MissingPrerequisite Mixture Mount Options Outcome PluginError
Plugins Provenance ReadPath Recipe Register ResourceLimits RewardShaper RewardTerm Rollout Row
RunCommand RunInterrupted RunResult RunStopped Sampling Sandbox SandboxProcess SandboxProvider
SandboxSpec Session Severity Task TaskKind TaskMetadata TaskPolicy ToolCall Toolchain Training
TrainingInterrupted Transcript Turn Unparsed User Verdict WritePath compare evaluate hookimpl
load_recipe load_task load_tasks mixture rollout run train
"""

TESTING = """
Call Case Cut Fail GuardRuleContract HONEST_SESSIONS HarnessDriverContract HonestSession Played
PluginContract RewardShaperContract Run Say Silence Step TaskKindContract attempt
WireCheck call_for check_wire finished_attempts judge_case ledger_for play_session
"""

MODULES = {
    "harness_adapters.errors": "did_you_mean",
    "harness_adapters.harness.cache": "cache_folder install_once only_installed",
    "harness_adapters.harness.choice": "chosen_path",
    "harness_adapters.harness.events": "MIB LineSplitter read_events record_events",
    "harness_adapters.harness.headless": (
        "HOME LOG_BYTES Ran how_it_died keep_export keep_file keep_tree one_line run_headless"
    ),
    "harness_adapters.harness.native": "is_native native_version",
    "harness_adapters.harness.node": "Node find_node minimum_version",
    "harness_adapters.harness.npm": "NpmPackage check_npm_pin install_npm read_npm_package",
    "harness_adapters.harness.program": "Finished run_program",
    "harness_adapters.harness.pypi": (
        "PythonPackage check_pypi_pin install_pypi pip_install read_python_package"
    ),
    "harness_adapters.options": "check_options",
    "harness_adapters.tasks.contents": "read_text",
    "harness_adapters.tasks.policy": "task_policy",
    "harness_adapters.tasks.workspace": "original_tree put_files",
}
"""Modules that docs/plugin-api.md promises to plugins, and the names in them."""

HOOKS = """
ha_register_guards ha_register_harnesses ha_register_rewards ha_register_tasks
ha_rollout_finished
"""


def test_no_promised_name_is_gone() -> None:
    assert set(NAMES.split()) <= set(harness_adapters.__all__)
    assert set(TESTING.split()) <= set(testing.__all__)


def test_a_new_name_is_pinned() -> None:
    assert sorted(harness_adapters.__all__) == sorted(NAMES.split())
    assert sorted(testing.__all__) == sorted(TESTING.split())


@pytest.mark.parametrize("name", NAMES.split())
def test_each_name_is_there(name: str) -> None:
    assert getattr(harness_adapters, name) is not None


@pytest.mark.parametrize("module", MODULES)
def test_each_public_module_keeps_its_names(module: str) -> None:
    loaded = importlib.import_module(module)
    for name in MODULES[module].split():
        assert hasattr(loaded, name), f"{module}.{name}"


def test_the_hooks_are_these_and_each_is_documented() -> None:
    hooks = {name: hook for name, hook in vars(hookspecs).items() if name.startswith("ha_")}
    assert sorted(hooks) == HOOKS.split()
    for hook in hooks.values():
        assert inspect.getdoc(hook)


def test_the_guide_says_which_api_version_this_is() -> None:
    guide = (Path(__file__).parents[2] / "docs" / "plugin-api.md").read_text()
    assert f"`ha_api_version = {harness_adapters.API_VERSION}`" in guide
    for module in MODULES:
        assert f"`{module}`" in guide, module
