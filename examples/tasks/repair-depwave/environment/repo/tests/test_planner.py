import pytest

from depwave import CycleError, PlanError, explain, plan, rebuild

SITE = """\
app: web, db>=2
web: core
db = 2.1: core
core
extra: core
"""


def test_waves_of_a_diamond():
    assert plan(SITE, ["app"]) == [["core"], ["db", "web"], ["app"]]


def test_only_what_is_wanted_is_planned():
    assert plan(SITE, ["db"]) == [["core"], ["db"]]
    assert plan(SITE, []) == []


def test_a_chain_has_one_package_per_wave():
    assert plan("a: b\nb: c\nc\n", ["a"]) == [["c"], ["b"], ["a"]]


def test_independent_packages_share_a_wave():
    assert plan("a\nb\nc\n", ["c", "a"]) == [["a", "c"]]


def test_a_package_waits_for_all_that_it_needs():
    text = "shop: cart, money\ncart: store\nstore: money\nmoney\n"
    assert plan(text, ["shop"]) == [["money"], ["store"], ["cart"], ["shop"]]


def test_a_cycle_is_named():
    with pytest.raises(CycleError) as caught:
        plan("a: b\nb: c\nc: b\n", ["a"])
    assert caught.value.path == ["b", "c", "b"]


def test_unknown_packages_are_named():
    with pytest.raises(PlanError, match="a needs b, which is unknown"):
        plan("a: b\n", ["a"])
    with pytest.raises(PlanError, match="z is unknown"):
        plan("a\n", ["z"])


def test_versions_must_be_met():
    with pytest.raises(PlanError, match=r"app needs db 2 or later, there is 1\.9"):
        plan(SITE.replace("2.1", "1.9"), ["app"])


def test_rebuilding_what_needs_a_changed_package():
    assert rebuild(SITE, ["db"]) == [["db"], ["app"]]
    assert rebuild(SITE, ["web", "extra"]) == [["extra", "web"], ["app"]]


def test_explaining_a_need():
    assert explain(SITE, "app", "core") == ["app", "db", "core"]
    assert explain(SITE, "core", "app") is None
