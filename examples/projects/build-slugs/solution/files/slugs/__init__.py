"""Texts as parts of addresses."""

import re
import unicodedata

_SLUG = re.compile(r"[a-z0-9]+(?:-[a-z0-9]+)*")


def make(text, max_length=None):
    """The slug of a text. See INTERFACE.md."""
    plain = unicodedata.normalize("NFKD", text)
    plain = "".join(char for char in plain if not unicodedata.combining(char))
    plain = plain.lower().replace("'", "").replace("\u2019", "")
    words = re.findall(r"[a-z0-9]+", plain)
    if not words:
        raise ValueError(f"nothing to keep of {text!r}")
    if max_length is None:
        return "-".join(words)
    slug = words[0][:max_length]
    for word in words[1:]:
        longer = f"{slug}-{word}"
        if len(longer) > max_length:
            break
        slug = longer
    return slug


def is_slug(text):
    """Whether a text is a slug."""
    return _SLUG.fullmatch(text) is not None


def unique(text, taken):
    """A slug that is not taken."""
    slug = make(text)
    free, number = slug, 1
    while free in taken:
        number += 1
        free = f"{slug}-{number}"
    return free
