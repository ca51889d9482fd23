import pytest

from verrange import Version, VersionError


def test_parsing_and_writing():
    version = Version.parse("v1.20.3-rc.1+build.5")
    assert (version.release, version.pre, version.build) == ((1, 20, 3), ("rc", "1"), "build.5")
    assert str(version) == "1.20.3-rc.1+build.5"


@pytest.mark.parametrize("text", ["1.2", "1.2.3.4", "01.2.3", "1.2.3-", "1.2.3-a..b", "1.2.3-01"])
def test_other_texts_are_no_versions(text):
    with pytest.raises(VersionError):
        Version.parse(text)


def test_numbers_are_compared_as_numbers():
    assert Version.parse("1.9.0") < Version.parse("1.10.0") < Version.parse("2.0.0")


def test_a_pre_release_comes_before_its_release():
    assert Version.parse("1.0.0-rc.1") < Version.parse("1.0.0")
    assert Version.parse("1.0.0") < Version.parse("1.0.1-alpha")


def test_pre_releases_are_compared_part_by_part():
    order = ["1.0.0-1", "1.0.0-alpha", "1.0.0-alpha.1", "1.0.0-alpha.beta", "1.0.0-beta"]
    assert sorted(order[::-1], key=Version.parse) == order


def test_the_build_does_not_count():
    assert Version.parse("1.0.0+a") == Version.parse("1.0.0+b")


def test_bumping():
    version = Version.parse("1.2.3")
    assert [str(version.bumped(p)) for p in ("major", "minor", "patch")] == [
        "2.0.0",
        "1.3.0",
        "1.2.4",
    ]
    assert str(Version.parse("2.0.0-rc.1").bumped("patch")) == "2.0.0"
