"""Python source to syntax trees, from any thread.

Some CPythons (3.11 before 3.11.8, 3.12 before 3.12.2) keep the depth of the tree that they build in
one place for all threads: when another thread parses meanwhile, both may end in ``SystemError: AST
constructor recursion depth mismatch``, with nothing wrong in either source.
"""

from __future__ import annotations

import ast
import gc
import threading
import warnings
from typing import Literal

_TRIES = 16  # parsers that are not ours do not wait for us
_one_at_a_time = threading.Lock()


def parse_python(source: str, *, mode: Literal["exec", "eval"] = "exec") -> ast.AST:
    """The tree of ``source``; its warnings (odd escapes) are nobody's here.

    :raises SyntaxError: it is no Python.
    :raises ValueError: it holds null characters (by CPython's version).
    :raises RecursionError, MemoryError: it is nested too deep.
    """
    with _one_at_a_time, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        # Tens of thousands of new objects, none of them garbage: collecting meanwhile only costs.
        collecting = gc.isenabled()
        gc.disable()
        try:
            for left in reversed(range(_TRIES)):
                try:
                    return ast.parse(source, mode=mode)
                except SystemError as error:
                    if not left or "recursion depth mismatch" not in str(error):
                        raise
        finally:
            if collecting:
                gc.enable()
    raise AssertionError("the last try returns or raises")
