def wrap(subject, text, width):
    return subject.call("mdgrid:wrap", text, width)


def test_a_long_word_after_a_short_one(subject):
    assert wrap(subject, "id 0123456789abcdef end", 6) == ["id", "012345", "6789ab", "cdef", "end"]


def test_long_words_after_each_other(subject):
    assert wrap(subject, "aaaaabb ccccccd e", 5) == ["aaaaa", "bb", "ccccc", "cd e"]


def test_no_character_changes_its_place(subject):
    text = "to antidisestablishmentarianism or not to floccinaucinihilipilificate a b"
    for width in (1, 2, 7, 13):
        lines = wrap(subject, text, width)
        assert "".join(lines).replace(" ", "") == text.replace(" ", "")
        assert max(map(len, lines)) <= width


def test_a_box_with_a_long_word(subject):
    box = subject.call("mdgrid:boxed", ["k", "path"], [["x", "in /usr/share/doc"]], width=8)
    assert box.splitlines()[3:-1] == ["| x | in       |", "|   | /usr/sha |", "|   | re/doc   |"]


def test_words_are_kept_whole_where_they_fit(subject):
    assert wrap(subject, "a bb  ccc dddd", 4) == ["a bb", "ccc", "dddd"]


def test_a_first_long_word(subject):
    assert wrap(subject, "abcdefg h", 3) == ["abc", "def", "g h"]


def test_a_word_of_exactly_twice_the_width(subject):
    assert wrap(subject, "abcdef", 3) == ["abc", "def"]


def test_line_breaks_stay(subject):
    assert wrap(subject, "\na b\n", 9) == ["", "a b", ""]


def test_markdown(subject):
    text = subject.call("mdgrid:markdown", ["a|b", "c"], [["1", "2\n3"]], align="rc")
    assert text.splitlines() == ["| a\\|b |   c    |", "| ---: | :----: |", "|    1 | 2<br>3 |"]


def test_reading_back(subject):
    rows = [["x|y|", "1"], ["", "a\nb"]]
    table = subject.call("mdgrid:markdown", ["h", "i"], rows)
    assert subject.call("mdgrid:read_markdown", f"text\n{table}\n") == [["h", "i"], rows, "ll"]


def test_boxes_of_several_columns(subject):
    box = subject.call("mdgrid:boxed", ["n", "word"], [[1, "alpha beta"], [22]], width=5, align="r")
    assert box.splitlines() == [
        "+----+-------+",
        "|  n | word  |",
        "+----+-------+",
        "|  1 | alpha |",
        "|    | beta  |",
        "| 22 |       |",
        "+----+-------+",
    ]


def test_wrong_input(subject):
    with subject.raises("ValueError"):
        wrap(subject, "x", 0)
    with subject.raises("ValueError"):
        subject.call("mdgrid:markdown", ["a"], [["1", "2"]])
    with subject.raises("ValueError"):
        subject.call("mdgrid:read_markdown", "nothing here")
