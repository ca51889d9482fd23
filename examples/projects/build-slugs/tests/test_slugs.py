import pytest


@pytest.mark.parametrize(
    ("text", "slug"),
    [
        ("Hello, World!", "hello-world"),
        ("  two   blanks  ", "two-blanks"),
        ("Crème Brûlée 2", "creme-brulee-2"),
        ("don't stop", "dont-stop"),
        ("a_b--c", "a-b-c"),
    ],
)
def test_make(subject, text, slug):
    assert subject.call("slugs:make", text) == slug


def test_typographic_apostrophe(subject):
    assert subject.call("slugs:make", "it\u2019s here") == "its-here"


def test_max_length_ends_with_a_whole_word(subject):
    made = [subject.call("slugs:make", "one two three", max_length=n) for n in (13, 12, 7, 6, 3)]
    assert made == ["one-two-three", "one-two", "one-two", "one", "one"]


def test_a_long_first_word_is_cut(subject):
    assert subject.call("slugs:make", "Constantinople was here", max_length=5) == "const"


def test_nothing_to_keep(subject):
    for text in ("", "  ", "!?", "'"):
        with subject.raises("ValueError"):
            subject.call("slugs:make", text)


def test_is_slug(subject):
    told = [
        subject.call("slugs:is_slug", text)
        for text in ("a", "a-1", "", "-a", "a-", "a--b", "A", "a b", "\u00e9", "a\n")
    ]
    assert told == [True, True, False, False, False, False, False, False, False, False]


def test_unique(subject):
    assert subject.call("slugs:unique", "A b", []) == "a-b"
    assert subject.call("slugs:unique", "A b", ["a-b"]) == "a-b-2"
    assert subject.call("slugs:unique", "A b", ["a-b-2", "a-b", "a-b-4"]) == "a-b-3"
