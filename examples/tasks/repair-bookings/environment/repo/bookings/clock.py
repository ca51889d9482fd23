"""Times of day as texts and as minutes since midnight."""

import re

DAY = 24 * 60
_TIME = re.compile(r"(\d{1,2}):(\d{2})")


def parse_time(text):
    """Minutes since midnight of an ``H:MM`` or ``HH:MM`` text; ``24:00`` is the end of the day."""
    found = _TIME.fullmatch(text.strip())
    if found is None:
        raise ValueError(f"not a time of day: {text!r}")
    hours, minutes = int(found[1]), int(found[2])
    total = hours * 60 + minutes
    if minutes > 59 or total > DAY:
        raise ValueError(f"not a time of day: {text!r}")
    return total


def format_time(minutes):
    """The ``HH:MM`` text of minutes since midnight."""
    if not 0 <= minutes <= DAY:
        raise ValueError(f"not within one day: {minutes} minutes")
    return f"{minutes // 60:02d}:{minutes % 60:02d}"


def format_length(minutes):
    """A length of time for people: ``45 min``, ``2 h`` or ``1 h 30 min``."""
    hours, rest = divmod(minutes, 60)
    parts = [f"{hours} h"] * (hours > 0) + [f"{rest} min"] * (rest > 0 or hours == 0)
    return " ".join(parts)
