import pytest

from depwave import ManifestError
from depwave.manifest import Need, Package, read_manifest


def test_packages_with_and_without_needs():
    assert read_manifest("core\nweb: core  # pages\n") == {
        "core": Package("core", (0,), ()),
        "web": Package("web", (0,), (Need("core"),)),
    }


def test_versions():
    packages = read_manifest("db = 2.10: core>=1.4, log >= 3\n")
    assert packages["db"].version == (2, 10)
    assert packages["db"].needs == (Need("core", (1, 4)), Need("log", (3,)))


def test_blank_lines_and_comments_are_skipped():
    assert read_manifest("\n# nothing\n   \n") == {}


@pytest.mark.parametrize("line", ["1st", "a: b c", "a: b>=x", ": b", "a = one"])
def test_other_lines_are_errors(line):
    with pytest.raises(ManifestError, match="line 2"):
        read_manifest(f"ok\n{line}\n")


def test_a_package_cannot_stand_twice():
    with pytest.raises(ManifestError, match="line 2: 'a' stands twice"):
        read_manifest("a\na: b\n")
