import pytest

from verrange import RangeError, best, satisfies, sort_versions, updates


@pytest.mark.parametrize(
    ("version", "text", "expected"),
    [
        ("1.4.2", ">=1.2 <2", True),
        ("2.0.0", ">=1.2 <2", False),
        ("1.9.9", "^1.2.3", True),
        ("0.3.0", "^0.2.3", False),
        ("0.2.9", "^0.2.3", True),
        ("1.3.0", "~1.2", False),
        ("1.3.0", "~1", True),
        ("1.7.0", "1.x", True),
        ("5.0.0", "*", True),
        ("3.0.0", "1.x || >=3", True),
        ("1.3.0", ">1.2", True),
        ("1.2.9", ">1.2", False),
    ],
)
def test_ranges(version, text, expected):
    assert satisfies(version, text) is expected


@pytest.mark.parametrize("text", ["one", ">=", "1.2.3.4", "^1.2.3-"])
def test_other_texts_are_no_ranges(text):
    with pytest.raises(RangeError):
        satisfies("1.0.0", text)


def test_pre_releases_are_only_in_ranges_that_name_them():
    assert not satisfies("1.3.0-beta", "^1.2")
    assert satisfies("1.3.0-beta", ">=1.3.0-alpha")


def test_the_newest_in_the_range_is_best():
    tags = ["1.9.0", "nightly", "1.10.0", "2.0.0"]
    assert best(tags, "^1.2") == "1.10.0"
    assert best(tags, "^3") is None


def test_the_tenth_release_candidate_is_newer_than_the_ninth():
    tags = ["2.0.0-rc.8", "2.0.0-rc.9", "2.0.0-rc.10", "1.9.0"]
    assert best(tags, ">=2.0.0-rc.1") == "2.0.0-rc.10"


def test_sorting_newest_first():
    assert sort_versions(["1.2.0", "1.10.0", "1.3.0"], newest_first=True) == [
        "1.10.0",
        "1.3.0",
        "1.2.0",
    ]


def test_updates():
    available = {"a": ["1.1.0", "2.0.0"], "b": ["1.0.0"]}
    assert updates({"a": "1.0.0", "b": "1.0.0", "c": "3.0.0"}, available, "^1") == {"a": "1.1.0"}
