"""Compares an answer file with the expected answer and prints the reward, 1 or 0.

The whole text counts: a number among other words is no number. Text and list entries are compared
without regard to letter case and runs of white space, lists without regard to order.
"""

import json
import math
import os
import re
import stat
import sys
from pathlib import Path
from typing import Any

MAX_BYTES = 65536
NUMBER = re.compile(r"[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d{1,3})?", re.ASCII)


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


def plain(text: str) -> str:
    return " ".join(text.split()).casefold()


def right(text: str, expected: dict[str, Any]) -> bool:
    value = expected["value"]
    if expected["type"] == "number":
        if not NUMBER.fullmatch(text.strip()):
            return False
        # The hair on top keeps an error of exactly the tolerance from failing by binary rounding.
        slack = max(expected["abs_tol"], expected["rel_tol"] * abs(value)) * (1 + 1e-6)
        return math.isclose(float(text), value, rel_tol=1e-12, abs_tol=slack)
    if expected["type"] == "list":
        given = [plain(line) for line in text.splitlines() if line.strip()]
        return sorted(given) == sorted(map(plain, value))
    return plain(text) == plain(value)


if __name__ == "__main__":
    expected = json.loads(Path(sys.argv[2]).read_text("utf-8"))
    print(int(right(read(sys.argv[1]), expected)))
