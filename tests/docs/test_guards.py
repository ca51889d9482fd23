"""docs/guards.md is made from the rules: this keeps the two together."""

from pathlib import Path

from harness_adapters import Plugins
from harness_adapters.gateway.guard.checks import describe
from harness_adapters.gateway.guard.reference import guard_reference, with_reference

PAGE = Path(__file__).parents[2] / "docs" / "guards.md"


def test_the_page_says_what_the_rules_say() -> None:
    page = PAGE.read_text()
    assert page == with_reference(page, guard_reference(Plugins.load())), "run scripts/guard_docs"


def test_every_built_in_guard_describes_itself() -> None:
    plugins = Plugins.load()
    for name in plugins.default_guards():
        told = describe(plugins.guards.create(name))
        assert told.text.startswith(f"``{name}``: ") and "Leaves alone" in " ".join(
            told.text.split()
        ), name
        assert told.checks and told.options.startswith("Options:"), name
