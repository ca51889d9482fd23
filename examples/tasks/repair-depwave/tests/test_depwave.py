def plan(subject, text, wanted):
    return subject.call("depwave:plan", text, wanted)


def test_a_short_and_a_long_way_down(subject):
    text = "top: low, mid\nmid: near\nnear: low\nlow\n"
    assert plan(subject, text, ["top"]) == [["low"], ["near"], ["mid"], ["top"]]


def test_ways_of_different_length_to_different_packages(subject):
    text = "a: b, z\nb: c\nc: d\nd\nz\n"
    assert plan(subject, text, ["a"]) == [["d", "z"], ["c"], ["b"], ["a"]]


def test_rebuilding_with_ways_of_different_length(subject):
    text = "all: gui, lib\ngui: net\nnet: lib\nlib: base\nbase\n"
    waves = subject.call("depwave:rebuild", text, ["lib"])
    assert waves == [["lib"], ["net"], ["gui"], ["all"]]


def test_nothing_is_built_before_what_it_needs(subject):
    needs = {
        "p0": [], "p1": ["p0"], "p2": ["p0"], "p3": ["p1", "p0"], "p4": ["p3", "p2"],
        "p5": ["p0", "p4"], "p6": ["p5", "p1"], "p7": ["p2", "p6", "p0"],
    }  # fmt: skip
    text = "\n".join(f"{name}: {', '.join(needed)}" for name, needed in needs.items())
    waves = plan(subject, text, ["p7"])
    wave_of = {name: number for number, wave in enumerate(waves) for name in wave}
    assert sorted(wave_of) == sorted(needs)
    for name, needed in needs.items():
        assert wave_of[name] == max((wave_of[n] + 1 for n in needed), default=0)


def test_equal_ways(subject):
    text = "t: l, r\nl: base\nr: base\nbase\n"
    assert plan(subject, text, ["t", "r"]) == [["base"], ["l", "r"], ["t"]]


def test_a_chain_and_a_single_package(subject):
    text = "x: y\ny: z\nz\nalone\n"
    assert plan(subject, text, ["x", "alone"]) == [["alone", "z"], ["y"], ["x"]]


def test_cycles(subject):
    with subject.raises("CycleError") as caught:
        plan(subject, "a: b\nb: c\nc: a\nd: a\n", ["d"])
    assert caught[0].message == "a -> b -> c -> a"


def test_a_package_that_needs_itself(subject):
    with subject.raises("CycleError"):
        plan(subject, "a: a\n", ["a"])


def test_unmet_versions(subject):
    text = "a: b>=1.10\nb = {}\n"
    assert plan(subject, text.format("1.10"), ["a"]) == [["b"], ["a"]]
    with subject.raises("PlanError"):
        plan(subject, text.format("1.9.9"), ["a"])


def test_unknown_packages(subject):
    with subject.raises("PlanError"):
        subject.call("depwave:rebuild", "a\n", ["b"])


def test_manifest_errors(subject):
    with subject.raises("ManifestError") as caught:
        plan(subject, "a\n\nb: c d\nc\nd\n", ["a"])
    assert caught[0].message.startswith("line 3")


def test_explaining(subject):
    text = "top: low, mid\nmid: near\nnear: low\nlow\n"
    assert subject.call("depwave:explain", text, "top", "low") == ["top", "low"]
    assert subject.call("depwave:explain", text, "mid", "low") == ["mid", "near", "low"]
    assert subject.call("depwave:explain", text, "low", "mid") is None
