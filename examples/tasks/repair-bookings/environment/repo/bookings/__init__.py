"""Room bookings for a small office."""

from bookings.calendar import Booking, Calendar, Conflict
from bookings.clock import format_time, parse_time
from bookings.interval import Interval

__all__ = ["Booking", "Calendar", "Conflict", "Interval", "format_time", "parse_time"]
