def free(subject, bookings, room="Elm", at_least=1):
    return subject.eval(f"""
from bookings import Calendar
calendar = Calendar(opens="07:30", closes="19:00")
for start, end in {bookings!r}:
    calendar.book("2023-11-06", start, end, "Elm", "x", share=True)
result = calendar.free("2023-11-06", {room!r}, {at_least!r})
""")


def test_free_time_with_one_booking_inside_another(subject):
    slots = free(subject, [("08:15", "12:00"), ("09:00", "09:20")])
    assert slots == [["12:00", "19:00"], ["07:30", "08:15"]]


def test_free_time_with_several_nested_bookings(subject):
    nested = [("10:00", "18:30"), ("10:00", "11:00"), ("12:00", "13:00"), ("12:10", "12:20")]
    assert free(subject, nested) == [["07:30", "10:00"], ["18:30", "19:00"]]


def test_used_time_counts_nested_bookings_once(subject):
    used = subject.eval("""
from bookings import Calendar
from bookings.report import used_minutes
calendar = Calendar(opens="08:00", closes="16:00")
calendar.book("2023-11-06", "06:00", "12:30", "Fir", "long")
calendar.book("2023-11-06", "09:00", "09:45", "Fir", "short", share=True)
result = used_minutes(calendar, "2023-11-06", "Fir")
""")
    assert used == 270


def test_merging_keeps_the_later_end(subject):
    ends = subject.eval("""
from bookings.interval import Interval, merged
result = [[i.start, i.end] for i in merged([Interval(5, 90), Interval(7, 8), Interval(95, 99)])]
""")
    assert ends == [[5, 90], [95, 99]]


def test_free_time_with_separate_bookings(subject):
    slots = free(subject, [("09:00", "10:00"), ("11:00", "17:00")])
    assert slots == [["17:00", "19:00"], ["07:30", "09:00"], ["10:00", "11:00"]]


def test_free_time_with_chained_bookings(subject):
    slots = free(subject, [("09:00", "10:30"), ("10:00", "11:00"), ("11:00", "12:00")], at_least=100)
    assert slots == [["12:00", "19:00"]]


def test_an_unknown_room_is_free_all_day(subject):
    assert free(subject, [("09:00", "10:00")], room="Yew") == [["07:30", "19:00"]]


def test_nothing_is_free_when_all_is_taken(subject):
    assert free(subject, [("07:00", "20:00")]) == []


def test_conflicts_are_refused(subject):
    with subject.raises("Conflict"):
        subject.eval("""
from bookings import Calendar
calendar = Calendar()
calendar.book("2023-11-06", "09:00", "10:00", "Elm", "a")
calendar.book("2023-11-06", "09:59", "11:00", "Elm", "b")
""")


def test_a_failed_repetition_leaves_nothing(subject):
    left = subject.eval("""
from bookings import Calendar, Conflict
calendar = Calendar()
calendar.book("2023-11-20", "09:00", "10:00", "Elm", "a")
try:
    calendar.repeat("2023-11-06", "09:30", "10:30", "Elm", "b", weeks=3)
except Conflict:
    pass
result = [str(b) for day in ("2023-11-06", "2023-11-13", "2023-11-20") for b in calendar.on(day)]
""")
    assert left == ["2023-11-20 09:00-10:00 Elm: a"]


def test_times_of_day(subject):
    assert subject.call("bookings.clock:parse_time", " 7:09 ") == 429
    assert subject.call("bookings.clock:format_time", 1439) == "23:59"
    with subject.raises("ValueError"):
        subject.call("bookings.clock:parse_time", "12:61")


def test_utilisation_and_first_free_room(subject):
    found = subject.eval("""
from bookings import Calendar
from bookings.report import first_free_room, utilisation
calendar = Calendar(opens="08:00", closes="12:00")
calendar.book("2023-11-06", "08:00", "11:00", "Ash", "a")
calendar.book("2023-11-06", "08:30", "09:30", "Fir", "b")
day = "2023-11-06"
result = [utilisation(calendar, day), first_free_room(calendar, day, 61)]
""")
    assert found == [{"Ash": 75, "Fir": 25}, ["Fir", "09:30"]]
