TABLE = "day,shop,paid\nMon,a,1.50\nMon,b,2\nTue,a,\nTue,b,0.25\n"


def rows(subject, text=TABLE):
    return subject.call("tally:read", text)


def test_rows_are_read(subject):
    assert rows(subject)[2] == {"day": "Tue", "shop": "a", "paid": ""}
    assert rows(subject, " a , b \n\n1 , 2\n") == [{"a": "1", "b": "2"}]


def test_what_is_no_table(subject):
    for text in ("", "  \n", "a,b\n1\n", "a\n1,2\n"):
        with subject.raises("TallyError"):
            rows(subject, text)


def test_a_plain_total(subject):
    assert subject.call("tally:total", rows(subject), "paid") == "3.75"
    assert subject.call("tally:total", [], "paid") == "0"


def test_a_field_that_is_no_number(subject):
    with subject.raises("ValueError"):
        subject.call("tally:total", rows(subject), "shop")


def test_a_total_of_some_rows(subject):
    found = [
        subject.call("tally:total", rows(subject), "paid", where=where)
        for where in ({"shop": "a"}, {"shop": "b", "day": "Tue"}, {"shop": "c"}, {})
    ]
    assert found == ["1.50", "0.25", "0", "3.75"]


def test_totals_by_value(subject):
    found = subject.call("tally:by", rows(subject), "shop", "paid")
    assert list(found.items()) == [("a", "1.50"), ("b", "2.25")]
    table = rows(subject, "k,n\nz,\na,1\nz,\na,2\n")
    assert list(subject.call("tally:by", table, "k", "n").items()) == [("z", "0"), ("a", "3")]


def test_totals_by_value_of_some_rows(subject):
    found = subject.call("tally:by", rows(subject), "day", "paid", where={"shop": "b"})
    assert found == {"Mon": "2", "Tue": "0.25"}
    assert subject.call("tally:by", rows(subject), "day", "paid", {"day": "Tue"}) == {"Tue": "0.25"}


def test_columns_that_are_not_there(subject):
    calls = [
        ("tally:total", ["price"], {}),
        ("tally:total", ["paid"], {"where": {"price": "1"}}),
        ("tally:by", ["price", "paid"], {}),
        ("tally:by", ["day", "price"], {}),
        ("tally:by", ["day", "paid"], {"where": {"price": "1"}}),
    ]
    for name, arguments, named in calls:
        with subject.raises("TallyError") as caught:
            subject.call(name, rows(subject), *arguments, **named)
        assert "price" in caught[0].message
