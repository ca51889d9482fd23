"""Figures and texts about a day."""

from bookings.clock import format_length, format_time
from bookings.interval import merged


def used_minutes(calendar, day, room):
    """Minutes within office hours in which the room is taken; shared time counts once."""
    taken = (booking.time.clipped(calendar.hours) for booking in calendar.on(day, room))
    return sum(interval.length for interval in merged(filter(None, taken)))


def utilisation(calendar, day):
    """Room -> taken share of the office hours, in whole percent."""
    return {
        room: round(100 * used_minutes(calendar, day, room) / calendar.hours.length)
        for room in calendar.rooms()
    }


def agenda(calendar, day):
    """One line per booking, all rooms, by time."""
    lines = []
    for booking in calendar.on(day):
        start, length = format_time(booking.time.start), format_length(booking.time.length)
        lines.append(f"{start}  {booking.room:<8} {booking.title} ({length})")
    return "\n".join(lines) or "nothing booked"


def first_free_room(calendar, day, minutes):
    """The first room, by name, with a free slot of that length: (room, start), or None."""
    for room in calendar.rooms():
        slots = calendar.free(day, room, at_least=minutes)
        if slots:
            return room, min(slots)[0]
    return None
