import pytest


def test_plain_parts(subject):
    assert subject.call("routes:match", "/a/b", "/a/b/") == {}
    assert subject.call("routes:match", "/", "/") == {}
    assert [subject.call("routes:match", "/a/b", path) for path in ("/a", "/a/c", "/a/b/c")] == [
        None,
        None,
        None,
    ]


def test_named_parts(subject):
    assert subject.call("routes:match", "/:a/x/:b", "/1/x//2") == {"a": "1", "b": "2"}
    assert subject.call("routes:match", "/:a/x/:b", "/1/y/2") is None


@pytest.mark.parametrize("pattern", ["a/b", "/:1", "/:", "/:a/:a"])
def test_patterns_that_are_none(subject, pattern):
    with subject.raises("PatternError"):
        subject.call("routes:match", pattern, "/1/2")


def test_the_rest(subject):
    found = [
        subject.call("routes:match", "/files/:who/*rest", path)
        for path in ("/files/me/a/b.txt", "/files/me//a//", "/files/me", "/files")
    ]
    assert found == [
        {"who": "me", "rest": "a/b.txt"},
        {"who": "me", "rest": "a"},
        {"who": "me", "rest": ""},
        None,
    ]
    assert subject.call("routes:match", "/*all", "/x/y") == {"all": "x/y"}


@pytest.mark.parametrize("pattern", ["/*rest/a", "/*", "/*1", "/:a/*a"])
def test_a_rest_that_is_none(subject, pattern):
    assert subject.call("routes:match", "/*rest", "/x") == {"rest": "x"}
    with subject.raises("PatternError"):
        subject.call("routes:match", pattern, "/x/a")


def test_a_path_is_built(subject):
    assert subject.call("routes:build", "/users/:id/posts", {"id": "7"}) == "/users/7/posts"
    assert subject.call("routes:build", "/", {}) == "/"
    assert subject.call("routes:build", "/f/*rest", {"rest": "/a/b/"}) == "/f/a/b"
    assert subject.call("routes:build", "/f/*rest", {"rest": ""}) == "/f"


@pytest.mark.parametrize(
    ("pattern", "values"),
    [
        ("/:a", {}),
        ("/:a", {"a": "1", "b": "2"}),
        ("/:a", {"a": "1/2"}),
        ("/:a", {"a": ""}),
        ("/*rest/x", {"rest": "1"}),
    ],
)
def test_a_path_that_cannot_be_built(subject, pattern, values):
    with subject.raises("PatternError"):
        subject.call("routes:build", pattern, values)
