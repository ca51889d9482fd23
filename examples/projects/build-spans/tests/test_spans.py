import pytest


def test_merge_sorts_and_joins(subject):
    assert subject.call("spans:merge", [[7, 9], [1, 2], [2, 5], [8, 12]]) == [[1, 5], [7, 12]]
    assert subject.call("spans:merge", []) == []


def test_merge_one_inside_another(subject):
    assert subject.call("spans:merge", [[0, 10], [3, 4], [9, 11]]) == [[0, 11]]


def test_merge_leaves_its_argument(subject):
    assert subject.eval("""
import spans
given = [[3, 5], [1, 4]]
result = [spans.merge(given), given]
""") == [[[1, 5]], [[3, 5], [1, 4]]]


def test_gaps(subject):
    assert subject.call("spans:gaps", [[2, 3], [5, 7]], [0, 10]) == [[0, 2], [3, 5], [7, 10]]
    assert subject.call("spans:gaps", [], [4, 6]) == [[4, 6]]


def test_gaps_of_spans_that_reach_out(subject):
    assert subject.call("spans:gaps", [[-5, 1], [8, 20]], [0, 9]) == [[1, 8]]
    assert subject.call("spans:gaps", [[-5, 20], [30, 40]], [0, 9]) == []
    assert subject.call("spans:gaps", [[-5, -1], [30, 40]], [0, 9]) == [[0, 9]]


def test_overlap(subject):
    assert subject.call("spans:overlap", [[0, 5], [8, 12]], [[3, 9], [11, 15]]) == [
        [3, 5],
        [8, 9],
        [11, 12],
    ]
    assert subject.call("spans:overlap", [[0, 5]], [[5, 6], [1, 2]]) == [[1, 2]]


def test_overlap_joins_what_touches(subject):
    assert subject.call("spans:overlap", [[0, 3], [3, 6]], [[1, 2], [2, 9]]) == [[1, 6]]


def test_length(subject):
    assert subject.call("spans:length", [[0, 5], [3, 7], [-2, -1]]) == 8
    assert subject.call("spans:length", []) == 0


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("merge", [[[1, 1]]]),
        ("gaps", [[[1, 2]], [5, 4]]),
        ("gaps", [[[2, 1]], [0, 4]]),
        ("overlap", [[[1, 2]], [[4, 3]]]),
        ("length", [[[0, 2], [3, 3]]]),
    ],
)
def test_empty_spans_are_refused(subject, name, arguments):
    with subject.raises("ValueError"):
        subject.call(f"spans:{name}", *arguments)
