def satisfied(subject, *cases):
    """What ``satisfies`` says of each (version, range), in one process."""
    told = "from verrange import satisfies\nresult = [satisfies(*case) for case in "
    return subject.eval(f"{told}{cases!r}]")


def test_numeric_parts_are_numbers(subject):
    versions = ["1.0.0-beta.11", "1.0.0-beta.2", "1.0.0-beta.100", "1.0.0-beta.3"]
    ordered = subject.call("verrange:sort_versions", versions)
    assert ordered == ["1.0.0-beta.2", "1.0.0-beta.3", "1.0.0-beta.11", "1.0.0-beta.100"]


def test_a_pre_release_of_one_number(subject):
    assert subject.call("verrange:best", ["3.1.0-20", "3.1.0-7", "3.1.0-100"], ">3.1.0-1") == (
        "3.1.0-100"
    )


def test_updates_to_a_later_pre_release(subject):
    found = subject.call(
        "verrange:updates", {"lib": "4.0.0-dev.99"}, {"lib": ["4.0.0-dev.100"]}, ">=4.0.0-dev.1"
    )
    assert found == {"lib": "4.0.0-dev.100"}


def test_a_range_bound_by_a_pre_release(subject):
    versions = ("2.0.0-rc.4", "2.0.0-rc.9", "2.0.0-rc.11", "2.0.0-rc.12")
    inside = satisfied(subject, *((one, ">=2.0.0-rc.5 <2.0.0-rc.12") for one in versions))
    assert inside == [False, True, True, False]


def test_numeric_before_other_parts_and_fewer_before_more(subject):
    ordered = ["1.0.0-2", "1.0.0-2.a", "1.0.0-a", "1.0.0-a.1", "1.0.0-a.b", "1.0.0-b", "1.0.0"]
    assert subject.call("verrange:sort_versions", ordered[::-1]) == ordered


def test_texts_with_digits_stay_texts(subject):
    ordered = ["1.0.0-rc1", "1.0.0-rc10", "1.0.0-rc2"]
    assert subject.call("verrange:sort_versions", ordered[::-1]) == ordered


def test_release_order(subject):
    versions = ["2.0.0", "1.10.0", "1.9.11", "1.9.2"]
    assert subject.call("verrange:sort_versions", versions[::-1], newest_first=True) == versions


def test_builds_do_not_count(subject):
    same = "from verrange import Version\nresult = Version.parse('1.0.0-a+x') == Version.parse('1.0.0-a+y')"
    assert subject.eval(same) is True


def test_caret_and_tilde(subject):
    cases = {
        ("0.0.4", "^0.0.3"): False, ("0.0.3", "^0.0.3"): True, ("0.9.0", "^0"): True,
        ("1.0.0", "^0"): False, ("2.9.9", "^2.4"): True, ("2.4.9", "~2.4.1"): True,
        ("2.5.0", "~2.4.1"): False,
    }  # fmt: skip
    assert satisfied(subject, *cases) == list(cases.values())


def test_partial_comparisons(subject):
    cases = {
        ("1.2.9", "<=1.2"): True, ("1.3.0", "<=1.2"): False, ("1.3.0", ">1.2"): True,
        ("1.1.9", "<1.2"): True, ("2.1.0", "2.X"): True, ("3.0.0", "1 || 2.x"): False,
    }  # fmt: skip
    assert satisfied(subject, *cases) == list(cases.values())


def test_pre_releases_need_a_range_that_names_them(subject):
    cases = {
        ("2.0.0-rc.1", ">=1"): False, ("2.0.0-rc.2", "^2.0.0-rc.1"): True,
        ("2.0.1-rc.2", "^2.0.0-rc.1"): False, ("2.3.0", "^2.0.0-rc.1"): True,
    }  # fmt: skip
    assert satisfied(subject, *cases) == list(cases.values())


def test_what_is_no_version(subject):
    texts = ["1.0", "1.0.0-007", "1.0.0-a..b", "x.1.0"]
    refused = f"""
from verrange import VersionError, sort_versions
result = []
for text in {texts!r}:
    try:
        sort_versions([text])
    except VersionError:
        result.append(text)
"""
    assert subject.eval(refused) == texts


def test_best_passes_over_other_tags(subject):
    assert subject.call("verrange:best", ["latest", "v1.0.1", "1.0.0"], "~1.0") == "v1.0.1"
