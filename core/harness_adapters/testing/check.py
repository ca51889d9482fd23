"""Running the contract kit on an installed plugin: ``ha plugin check``.

A plugin that ships a module ``contract`` in its package (``ha_guard_x.contract``) is held to the
contract classes there, which know its examples; any other one to the mandatory part of the
contracts of all that it offers.
"""

from __future__ import annotations

import importlib.util
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from xml.etree import ElementTree

from harness_adapters.errors import BadInput, did_you_mean
from harness_adapters.plugins import PluginInfo, Plugins, canonical

CONTRACTS = {
    "harness": "HarnessDriverContract",
    "task kind": "TaskKindContract",
    "guard": "GuardRuleContract",
    "reward": "RewardShaperContract",
}
_MODULE = "test_contracts"


@dataclass(frozen=True, slots=True, kw_only=True)
class Checked:
    """One test of a contract.

    :param contract: the class it belongs to, such as ``TestGuard``.
    :param result: ``passed``, ``failed`` or ``skipped``.
    :param detail: one line: why it failed or was skipped.
    """

    contract: str
    test: str
    result: str
    detail: str = ""
    seconds: float = 0.0


def find_plugin(name: str) -> PluginInfo:
    """The plugin of that entry point or distribution name.

    :raises BadInput: none is installed.
    """
    infos = Plugins.load().infos
    for info in infos:
        if canonical(name) == canonical(info.name):
            return info
    of_distribution = [i for i in infos if canonical(name) == canonical(i.distribution)]
    if len(of_distribution) == 1:
        return of_distribution[0]
    if of_distribution:
        named = ", ".join(info.name for info in of_distribution)
        raise BadInput(f"distribution {name!r} has several plugins: name one of {named}")
    hint = did_you_mean(name, [info.name for info in infos])
    raise BadInput(f"no plugin {name!r} is installed{hint}; `pip install` it first")


def check_plugin(info: PluginInfo) -> list[Checked]:
    """Run the contracts of a plugin in a process of their own, with no pytest plugins but pytest's.

    :raises BadInput: the contracts cannot even be collected; the message says why.
    """
    with tempfile.TemporaryDirectory(prefix="ha-check-") as name:
        folder = Path(name)
        (folder / f"{_MODULE}.py").write_text(_contracts(info))
        (folder / "pytest.ini").write_text("[pytest]\n")
        report = folder / "report.xml"
        done = subprocess.run(
            [
                sys.executable, "-m", "pytest", f"{_MODULE}.py", "-c", "pytest.ini", "-q",
                "--import-mode=importlib", "-p", "no:cacheprovider", f"--junitxml={report}",
            ],
            cwd=folder,
            env=_environment(),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
        )  # fmt: skip
        if done.returncode not in (0, 1) or not report.is_file():
            raise BadInput(f"the contracts of {info.name!r} do not run: {_last(done.stdout)}")
        return [_read(case) for case in ElementTree.parse(report).iter("testcase")]


def _contracts(info: PluginInfo) -> str:
    """A test module for the plugin."""
    if info.status == "loaded" and _has_contract(info):
        return f"from {info.module}.contract import *\n"
    lines = [
        "from harness_adapters.testing import *",
        "class TestPlugin(PluginContract):",
        f"    name = {info.name!r}",
    ]
    for number, offer in enumerate(info.offers):
        kind, _, component = offer.rpartition(" ")
        title = "".join(word.capitalize() for word in re.findall(r"[a-z0-9]+", offer))
        lines += [
            f"class Test{title or number}({CONTRACTS[kind]}):",
            f"    name = {component!r}",
        ]
    return "\n".join(lines) + "\n"


def _has_contract(info: PluginInfo) -> bool:
    try:
        return importlib.util.find_spec(f"{info.module}.contract") is not None
    except ModuleNotFoundError:  # it is a module and no package, or an object in one
        return False


def _environment() -> dict[str, str]:
    kept = {key: value for key, value in os.environ.items() if key != "PYTEST_ADDOPTS"}
    return {**kept, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}


def _read(case: ElementTree.Element) -> Checked:
    result, detail = "passed", ""
    for child in case:
        if child.tag in ("failure", "error"):
            result, detail = "failed", _one_line(child.get("message") or child.text or "")
        elif child.tag == "skipped":
            result, detail = "skipped", _one_line(child.get("message") or "")
    return Checked(
        contract=(case.get("classname") or "").rpartition(".")[2],
        test=(case.get("name") or "").removeprefix("test_").replace("_", " "),
        result=result,
        detail=detail,
        seconds=round(float(case.get("time") or 0), 2),
    )


def _one_line(text: str) -> str:
    return " ".join(text.split())[:500]


def _last(output: str) -> str:
    """The line that says why nothing was collected."""
    lines = [line for line in output.splitlines() if line.strip()]
    errors: Sequence[str] = [line for line in lines if line.startswith("E ")]
    return _one_line((errors or lines or ["no output"])[-1].removeprefix("E "))
