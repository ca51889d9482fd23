import pytest

from bookings import Calendar, format_time, parse_time
from bookings.clock import format_length
from bookings.report import agenda, first_free_room, utilisation

DAY = "2024-03-04"


def test_times_are_read_and_written():
    assert parse_time("9:05") == 545
    assert format_time(545) == "09:05"
    assert parse_time("24:00") == 1440


@pytest.mark.parametrize("text", ["", "9", "25:00", "24:01", "10:60", "ten"])
def test_other_texts_are_no_times(text):
    with pytest.raises(ValueError):
        parse_time(text)


def test_lengths_for_people():
    assert [format_length(n) for n in (0, 45, 120, 90)] == ["0 min", "45 min", "2 h", "1 h 30 min"]


def test_utilisation_counts_office_hours_only():
    calendar = Calendar(opens="09:00", closes="17:00")
    calendar.book(DAY, "07:00", "11:00", "Elm", "Early")
    calendar.book(DAY, "12:00", "14:00", "Oak", "Lunch")
    assert utilisation(calendar, DAY) == {"Elm": 25, "Oak": 25}


def test_agenda_is_ordered_by_time():
    calendar = Calendar()
    calendar.book(DAY, "11:00", "11:45", "Oak", "Call")
    calendar.book(DAY, "09:00", "10:30", "Elm", "Planning")
    assert agenda(calendar, DAY).splitlines() == [
        "09:00  Elm      Planning (1 h 30 min)",
        "11:00  Oak      Call (45 min)",
    ]
    assert agenda(calendar, "2024-03-05") == "nothing booked"


def test_first_free_room():
    calendar = Calendar(opens="09:00", closes="12:00")
    calendar.book(DAY, "09:30", "12:00", "Elm", "Training")
    calendar.book(DAY, "09:00", "10:00", "Oak", "Standup")
    assert first_free_room(calendar, DAY, 60) == ("Oak", "10:00")
    assert first_free_room(calendar, DAY, 240) is None
