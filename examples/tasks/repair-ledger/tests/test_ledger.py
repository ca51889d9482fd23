HEAD = "date,payer,payee,amount,note\n"


def balances(subject, lines, until=None):
    text = HEAD + "".join(f"{line}\n" for line in lines)
    return subject.eval(
        f"from ledger import balances, read_csv\n"
        f"result = balances(read_csv({text!r}), until={until!r})"
    )


def test_a_correction_below_one_unit(subject):
    lines = ["2023-05-01,cash,books,12.00,", "2023-05-02,cash,books,-0.05,"]
    assert balances(subject, lines) == {"books": "11.95", "cash": "-11.95"}


def test_corrections_below_one_unit_in_a_budget(subject):
    text = HEAD + "2023-05-01,cash,tea,10.10,\n2023-05-20,cash,tea,-0.6,\n2023-06-01,cash,tea,9,\n"
    above = subject.eval(
        "from ledger import read_csv\nfrom ledger.budget import over_budget\n"
        f"result = over_budget(read_csv({text!r}), {{'tea': '9.25'}}, '2023-05')"
    )
    assert above == {"tea": "0.25"}


def test_small_negative_amounts_are_read(subject):
    read = [subject.call("ledger.money:parse_amount", text) for text in ("-0.99", " -0.3", "-00.01")]
    assert read == [-99, -30, -1]


def test_larger_negative_amounts_are_read(subject):
    assert subject.call("ledger.money:parse_amount", "-1,000.01") == -100001
    assert subject.call("ledger.money:parse_amount", "-12") == -1200


def test_zero_and_positive_amounts_are_read(subject):
    read = [subject.call("ledger.money:parse_amount", text) for text in ("-0", "0.07", "+8.1")]
    assert read == [0, 7, 810]


def test_texts_that_are_no_amounts(subject):
    for text in ("1,0000", "5.", "-", "- 3"):
        with subject.raises("ValueError"):
            subject.call("ledger.money:parse_amount", text)


def test_amounts_are_written(subject):
    assert subject.call("ledger.money:format_amount", -9) == "-0.09"
    assert subject.call("ledger.money:format_amount", -1234500, thousands=True) == "-12,345.00"


def test_balances_up_to_a_day(subject):
    lines = ["2023-01-03,a,b,5,", "2023-01-01,b,c,1.5,", "2023-01-02,c,a,-2.25,"]
    assert balances(subject, lines, "2023-01-02") == {"a": "-2.25", "b": "-1.50", "c": "3.75"}


def test_a_statement(subject):
    text = HEAD + "2023-01-01,a,b,5,\n2023-01-02,b,c,1.5,\n"
    lines = subject.eval(
        f"from ledger import read_csv, statement\nresult = statement(read_csv({text!r}), 'b')"
    )
    assert lines == [["2023-01-01", "a", "5.00", "5.00"], ["2023-01-02", "c", "-1.50", "3.50"]]


def test_bad_lines_are_named(subject):
    text = HEAD + "\n# note\n2023-01-01,a,b,5,\n2023-13-01,a,b,5,\n"
    with subject.raises("LedgerError") as caught:
        subject.eval(f"from ledger import read_csv\nread_csv({text!r})")
    assert "line 5" in caught[0].message


def test_writing_and_reading_again(subject):
    same = subject.eval("""
from ledger import Entry, read_csv, write_csv
entries = [Entry("2023-01-01", "a", "b", -1250, 'say "hi", twice'), Entry("2023-01-02", "b", "a", 3)]
result = read_csv(write_csv(entries)) == entries
""")
    assert same is True


def test_shares(subject):
    assert subject.call("ledger.budget:shares", "0.05", ["x", "y"]) == {"x": "0.03", "y": "0.02"}
