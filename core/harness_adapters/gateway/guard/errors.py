"""Why a call cannot be judged, and the fixed limits beyond which nothing is.

The limits count characters, levels and steps, never seconds: a clock must not decide a verdict.
"""

from __future__ import annotations

from harness_adapters.errors import HarnessAdaptersError

MAX_RAW = 1024 * 1024  # characters of a call's arguments
MAX_NESTING = 64  # levels of JSON, and of statements inside statements
MAX_MEMBERS = 2500  # of all objects and lists of a call's arguments, each but the first
MAX_MALFORMED = 256 * 1024  # of arguments that are no strict JSON, since each repair is read
MAX_SHELL = 64 * 1024  # characters of one shell program, bodies of here-documents not counted
MAX_PYTHON = 128 * 1024  # characters of one Python program
MAX_PYTHON_TOKENS = 16_000  # of one that may reach a file, process or host; an upper bound counts
MAX_VALUES = 40_000  # values worked out in one call; long ones count once per 64 characters
MAX_SHELL_TOKENS = 10_000  # of one shell program, plain strings count as one
MAX_MENDING = 4096  # characters of a shell program, each time its grammar is seen to be lost in it
MAX_MENDED = 32  # places in the shell programs of one call that the grammar had to mend
MAX_GRAMMAR_READS = 4500  # times that the grammar asks for 256 characters, in one call
MAX_GRAMMAR_STEPS = 90_000  # of the grammar in one call; 64 KB of honest program take two thirds
MAX_STARTED_DEEP = 64  # programs that do nothing but start another, inside each other
MAX_BLOCKS = 2000  # functions and classes of one Python program
MAX_SHELL_MENDED = 4096  # words of one shell program put as its grammar reads them
MAX_HEREDOCS = 64  # announced on one line
MAX_ALL_HEREDOCS = 256  # of one shell program
MAX_WORDS = 4096  # of one command
MAX_PROGRAMS_DEEP = 12  # a program that starts a program that starts a program ...
MAX_STEPS = 600  # commands of one call, loops unrolled
MAX_ACTIONS = 20_000


class Unjudgeable(HarnessAdaptersError):
    """The call is beyond a fixed limit of size or nesting: blocked, scored 0, and trained on."""
