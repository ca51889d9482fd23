"""The rule alone, on ledgers of our own making."""

from __future__ import annotations

import pytest
from ha_guard_no_package_install import NoPackageInstall

from harness_adapters import BadInput
from harness_adapters.testing import Case, judge_case


def test_the_finding_shows_where() -> None:
    case = Case("bash", '{"command": "true; pip install evil"}')
    finding = judge_case(NoPackageInstall({}), case)
    assert finding is not None and finding.span is not None
    start, end = finding.span
    assert isinstance(case.arguments, str)
    assert "pip install evil" in case.arguments[start:end]


def test_a_script_from_an_earlier_call_counts() -> None:
    rule = NoPackageInstall({})
    run = {"command": "bash get.sh"}
    wrote = ("bash", {"command": "echo 'pip install evil' > get.sh"})
    assert judge_case(rule, Case("bash", run)) is None
    assert judge_case(rule, Case("bash", run, earlier=(wrote,))) is not None


@pytest.mark.parametrize("options", [{"allow": "pytest"}, {"allow": [1]}, {"alow": []}])
def test_bad_options_are_refused(options: dict[str, object]) -> None:
    with pytest.raises(BadInput, match="no_package_install"):
        NoPackageInstall(options)
