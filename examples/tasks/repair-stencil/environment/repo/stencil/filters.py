"""What can follow a value after ``|``."""


def _join(value, separator=", "):
    return separator.join(str(item) for item in value)


def _truncate(value, length):
    text, length = str(value), int(length)
    return text if len(text) <= length else text[: max(length - 3, 0)] + "..."


FILTERS = {
    "default": lambda value, other="": value if value not in (None, "") else other,
    "join": _join,
    "length": len,
    "lower": lambda value: str(value).lower(),
    "replace": lambda value, pair: str(value).replace(*pair.split("=", 1)),
    "title": lambda value: str(value).title(),
    "truncate": _truncate,
    "upper": lambda value: str(value).upper(),
}
