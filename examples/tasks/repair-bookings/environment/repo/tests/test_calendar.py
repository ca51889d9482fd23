import pytest

from bookings import Calendar, Conflict

DAY = "2024-03-04"


@pytest.fixture
def calendar():
    calendar = Calendar(opens="08:00", closes="18:00")
    calendar.book(DAY, "09:00", "10:30", "Elm", "Planning")
    return calendar


def test_an_empty_day_is_free_from_opening_to_closing(calendar):
    assert calendar.free("2024-03-05", "Elm") == [("08:00", "18:00")]


def test_free_slots_have_the_longest_first(calendar):
    assert calendar.free(DAY, "Elm") == [("10:30", "18:00"), ("08:00", "09:00")]


def test_short_slots_are_left_out(calendar):
    assert calendar.free(DAY, "Elm", at_least=90) == [("10:30", "18:00")]


def test_a_taken_room_cannot_be_booked(calendar):
    with pytest.raises(Conflict, match="Planning"):
        calendar.book(DAY, "10:00", "11:00", "Elm", "Review")


def test_another_room_can(calendar):
    calendar.book(DAY, "10:00", "11:00", "Oak", "Review")
    assert calendar.rooms() == ["Elm", "Oak"]


def test_free_time_around_an_open_hour_inside_a_long_meeting(calendar):
    calendar.book(DAY, "13:00", "17:00", "Elm", "Workshop")
    calendar.book(DAY, "14:00", "15:00", "Elm", "Open hour", share=True)
    assert calendar.free(DAY, "Elm") == [
        ("10:30", "13:00"),
        ("08:00", "09:00"),
        ("17:00", "18:00"),
    ]


def test_repeating_is_all_or_nothing(calendar):
    calendar.book("2024-03-18", "11:00", "12:00", "Elm", "Audit")
    with pytest.raises(Conflict):
        calendar.repeat(DAY, "11:00", "12:00", "Elm", "Weekly", weeks=4)
    assert [str(b) for b in calendar.on("2024-03-11")] == []


def test_repeating_books_the_same_weekday(calendar):
    made = calendar.repeat("2024-02-26", "16:00", "16:30", "Elm", "Retro", weeks=2)
    assert [booking.day for booking in made] == ["2024-02-26", "2024-03-04"]


def test_cancelling_frees_the_room(calendar):
    calendar.cancel(calendar.on(DAY)[0])
    assert calendar.free(DAY, "Elm") == [("08:00", "18:00")]
