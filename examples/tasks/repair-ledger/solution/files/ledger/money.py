"""Amounts of money as texts and as whole cents."""

import re

_AMOUNT = re.compile(r"(?P<sign>[+-]?)(?P<units>\d{1,3}(?:,\d{3})+|\d+)(?:\.(?P<cents>\d{1,2}))?")


def parse_amount(text):
    """Cents of a text such as ``12``, ``12.5``, ``-0.75`` or ``1,204.99``.

    :raises ValueError: the text is no amount.
    """
    found = _AMOUNT.fullmatch(text.strip())
    if found is None:
        raise ValueError(f"not an amount: {text!r}")
    units = int(found["units"].replace(",", ""))
    cents = int((found["cents"] or "").ljust(2, "0"))
    total = units * 100 + cents
    return -total if found["sign"] == "-" else total


def format_amount(cents, thousands=False):
    """The text of whole cents, always with two decimals."""
    sign = "-" if cents < 0 else ""
    units, rest = divmod(abs(cents), 100)
    return f"{sign}{units:,}.{rest:02d}" if thousands else f"{sign}{units}.{rest:02d}"


def split_evenly(cents, parts):
    """``parts`` shares that differ by at most one cent and add up to ``cents``; larger ones first."""
    if parts < 1:
        raise ValueError("at least one part is needed")
    share, rest = divmod(abs(cents), parts)
    sign = -1 if cents < 0 else 1
    return [sign * (share + (index < rest)) for index in range(parts)]
