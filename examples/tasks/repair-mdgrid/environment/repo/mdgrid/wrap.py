"""Breaking text into lines."""


def wrap(text, width):
    """Lines of at most ``width`` characters; line breaks in the text stay.

    :raises ValueError: the width is less than 1.
    """
    if width < 1:
        raise ValueError("lines need a width of at least 1")
    lines = []
    for paragraph in text.split("\n"):
        lines += _wrap_words(paragraph.split(), width)
    return lines


def _wrap_words(words, width):
    lines = []
    current = ""
    for word in words:
        if current and len(current) + 1 + len(word) <= width:
            current = f"{current} {word}"
            continue
        *pieces, rest = _pieces(word, width)
        lines += pieces
        if current:
            lines.append(current)
        current = rest
    return [*lines, current]


def _pieces(word, width):
    """A word cut into pieces of the full width; the last one may be shorter."""
    return [word[start : start + width] for start in range(0, len(word), width)]
