"""The calendar: bookings by day and room."""

from dataclasses import dataclass
from datetime import date, timedelta

from bookings.clock import format_time, parse_time
from bookings.interval import Interval, gaps


class Conflict(Exception):
    """The room is taken at that time."""


@dataclass(frozen=True)
class Booking:
    day: str
    room: str
    title: str
    time: Interval

    def __str__(self):
        start, end = format_time(self.time.start), format_time(self.time.end)
        return f"{self.day} {start}-{end} {self.room}: {self.title}"


class Calendar:
    """Bookings of all rooms.

    :param opens: and ``closes``: the office hours, in which free time is looked for.
    """

    def __init__(self, opens="08:00", closes="18:00"):
        self.hours = Interval(parse_time(opens), parse_time(closes))
        self._bookings = []

    def book(self, day, start, end, room, title, share=False):
        """Add a booking and give it back. With ``share`` the room may be taken already: an open
        door hour inside a longer meeting, say.

        :raises Conflict: the room is taken and ``share`` was not asked for.
        """
        date.fromisoformat(day)
        booking = Booking(day, room, title, Interval(parse_time(start), parse_time(end)))
        if not share:
            for other in self.on(day, room):
                if other.time.overlaps(booking.time):
                    raise Conflict(f"{room} is taken: {other}")
        self._bookings.append(booking)
        return booking

    def repeat(self, first_day, start, end, room, title, weeks):
        """Book the same time on the same weekday for a number of weeks; all or nothing."""
        day = date.fromisoformat(first_day)
        days = [(day + timedelta(weeks=week)).isoformat() for week in range(weeks)]
        made = []
        try:
            for each in days:
                made.append(self.book(each, start, end, room, title))
        except Conflict:
            for booking in made:
                self.cancel(booking)
            raise
        return made

    def cancel(self, booking):
        self._bookings.remove(booking)

    def on(self, day, room=None):
        """The bookings of a day, by time; of one room or of all."""
        found = [b for b in self._bookings if b.day == day and room in (None, b.room)]
        return sorted(found, key=lambda b: (b.time, b.room, b.title))

    def rooms(self):
        return sorted({booking.room for booking in self._bookings})

    def free(self, day, room, at_least=1):
        """Free slots within office hours as (start, end) texts, the longest first.

        :param at_least: minutes; shorter slots are left out.
        """
        slots = gaps(self.hours, [booking.time for booking in self.on(day, room)])
        slots = [slot for slot in slots if slot.length >= at_least]
        slots.sort(key=lambda slot: (-slot.length, slot.start))
        return [(format_time(slot.start), format_time(slot.end)) for slot in slots]
