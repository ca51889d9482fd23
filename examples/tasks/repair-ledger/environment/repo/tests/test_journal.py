import pytest

from ledger import Entry, LedgerError, read_csv, write_csv

TEXT = """\
# household
date,payer,payee,amount,note
2024-01-07,bank,groceries,61.35,"milk, bread"

2024-01-05,salary,bank,2400.00,January
"""


def test_entries_are_in_the_order_of_their_dates():
    assert read_csv(TEXT) == [
        Entry("2024-01-05", "salary", "bank", 240000, "January"),
        Entry("2024-01-07", "bank", "groceries", 6135, "milk, bread"),
    ]


def test_an_empty_text_has_no_entries():
    assert read_csv("\n# nothing\n") == []


def test_a_missing_column_is_named():
    with pytest.raises(LedgerError, match="line 1: no column 'note'"):
        read_csv("date,payer,payee,amount\n")


def test_a_bad_line_is_named():
    with pytest.raises(LedgerError, match="line 3"):
        read_csv("date,payer,payee,amount,note\n2024-01-01,a,b,1,\n2024-01-02,a,b,one,\n")


def test_an_account_cannot_pay_itself():
    with pytest.raises(LedgerError, match="two accounts"):
        read_csv("date,payer,payee,amount,note\n2024-01-01,a,a,1,\n")


def test_what_is_written_is_read_again():
    entries = read_csv(TEXT)
    assert read_csv(write_csv(entries)) == entries
