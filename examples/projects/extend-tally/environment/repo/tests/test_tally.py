import pytest

import tally

TABLE = "name,n\nx,1\n\ny,2.5\n"


def test_read():
    assert tally.read(TABLE) == [{"name": "x", "n": "1"}, {"name": "y", "n": "2.5"}]


def test_total():
    assert tally.total(tally.read(TABLE), "n") == "3.5"


def test_no_number():
    with pytest.raises(tally.TallyError):
        tally.total(tally.read(TABLE), "name")
