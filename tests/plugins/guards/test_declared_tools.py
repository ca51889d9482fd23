from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from ha_guard_declared_tools.rule import DeclaredTools
from harness_adapters import BadInput, Finding, Plugins, Severity

Judge = Callable[..., Finding | None]
PI = ("read", "write", "edit", "bash")


@pytest.mark.parametrize(
    ("tools", "name"),
    [
        (PI, "Bash"),
        (PI, "bash "),
        (PI, "invalid"),
        (("bash", "read"), "write"),
        (("terminal", "read_file"), "read_files"),
        (("Bash", "Read"), "bash"),
        ((), "bash"),
    ],
)
def test_undeclared_tools_are_blocked(judge: Judge, tools: tuple[str, ...], name: str) -> None:
    found = judge(DeclaredTools({}), "repair", name, {}, tools=tools)
    assert found is not None
    assert found.rule == "declared_tools.undeclared"
    assert found.severity is Severity.BLOCK


@pytest.mark.parametrize(
    ("tools", "name"),
    [(PI, "bash"), (("terminal",), "terminal"), (("Bash",), "Bash"), (None, "anything")],
)
def test_declared_tools_and_logs_without_declarations_pass(
    judge: Judge, tools: tuple[str, ...] | None, name: str
) -> None:
    assert judge(DeclaredTools({}), "repair", name, "{broken", tools=tools) is None


def test_severity_can_be_turned_down(judge: Judge) -> None:
    found = judge(DeclaredTools({"severity": "flag"}), "repair", "bsh", {}, tools=PI)
    assert found is not None and found.severity is Severity.FLAG
    assert "did you mean 'bash'" in found.message


@pytest.mark.parametrize(
    ("options", "hint"),
    [
        ({"severty": "flag"}, "did you mean 'severity'"),
        ({"severity": "flags"}, "did you mean 'flag'"),
        ({"severity": 3}, "not one of flag, block"),
    ],
)
def test_bad_options_are_refused(options: dict[str, Any], hint: str) -> None:
    with pytest.raises(BadInput, match=hint):
        DeclaredTools(options)


def test_it_is_a_plugin() -> None:
    assert isinstance(Plugins.load().guards.create("declared_tools"), DeclaredTools)
