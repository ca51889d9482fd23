"""Compares an answer file with the expected answer and prints the reward, 1 or 0.

For where only this script grades. The whole text counts: the same text without regard to letter
case, white space, quotes and full stop; one number within the tolerance, a percentage being also
its fraction; the same list in any order.
"""

import json
import math
import os
import re
import stat
import sys
from pathlib import Path

MAX_BYTES = 65536
NUMBER = re.compile(
    r"([+-]?(?:\d{1,3}(?:,\d{3})+|\d+)?(?:\.\d*)?(?:e[+-]?\d{1,3})?) ?(%?)", re.ASCII
)


def read(path: str) -> str:
    """The text of a small regular file; empty text for anything else."""
    try:
        handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    except OSError:
        return ""
    try:
        regular = stat.S_ISREG(os.fstat(handle).st_mode)
        data = os.read(handle, MAX_BYTES + 1) if regular else b""
    finally:
        os.close(handle)
    return data.decode("utf-8", "replace") if len(data) <= MAX_BYTES else ""


def label(text: str) -> str:
    plain = " ".join(text.split()).casefold().strip("\"'` ")
    return plain.removesuffix(".").strip()


def numbers(text: str) -> list[float]:
    found = NUMBER.fullmatch(label(text))
    try:
        value = float(found[1].replace(",", "")) if found else math.nan
    except ValueError:
        return []
    if not math.isfinite(value):
        return []
    return [value, value / 100] if found and found[2] else [value]


def items(text: str) -> list[str]:
    return sorted(filter(None, map(label, re.split(r"[,;\n]", text.strip().strip("[](){}")))))


def right(text: str, gold: str, abs_tol: float, rel_tol: float) -> bool:
    if label(text) == label(gold):
        return True
    wanted = numbers(gold)
    if any(
        abs(given - value) <= max(abs_tol, rel_tol * abs(value)) * (1 + 1e-9)
        for given in numbers(text)
        for value in wanted
    ):
        return True
    return not wanted and len(items(gold)) > 1 and items(text) == items(gold)


if __name__ == "__main__":
    expected = json.loads(Path(sys.argv[2]).read_text("utf-8"))
    tolerances = expected["abs_tol"], expected["rel_tol"]
    print(int(right(read(sys.argv[1]), expected["value"], *tolerances)))
