"""Every error this package raises on purpose, and what each means for the caller.

```
HarnessAdaptersError
├── BadInput                 the input is wrong or something is missing; exit code 2
│   ├── MissingPrerequisite  a program, package or right that this machine lacks
│   ├── PluginError          a plugin, or a component it offers, cannot be used
│   └── BrokenTask           one task bundle cannot be read
├── InfraError               a fault outside the sandbox: no reward, tried again
└── AgentError               the agent left what cannot be handled: scored, never tried again
```
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Sequence


class HarnessAdaptersError(Exception):
    """Base of all errors raised on purpose; its text is fit for a person, on one or two lines."""


class BadInput(HarnessAdaptersError):
    """The caller asked for something that cannot be done as asked. Commands exit with 2."""


class MissingPrerequisite(BadInput):
    """This machine lacks something; the message names it and how to get it."""


class PluginError(BadInput):
    """A plugin, or a component it offers, cannot be used. The message names the distribution."""


class BrokenTask(BadInput):
    """A task bundle cannot be read. The message names the file and the field."""


class UnreadableTrace(BadInput):
    """A session log cannot be read. The message names the file."""


class InfraError(HarnessAdaptersError):
    """A fault that the policy did not cause. The rollout gets no reward and is tried again."""


class AgentError(HarnessAdaptersError):
    """What the agent left cannot be handled, by its own doing. It is scored, not retried."""


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """``"; did you mean 'x'?"`` for the closest known name, or an empty string."""
    near = difflib.get_close_matches(name, list(known), n=1)
    return f"; did you mean {near[0]!r}?" if near else ""


def first_of(wrong: Sequence[object]) -> str:
    """``"x (and 2 more)"``: the first of what is wrong, and how much it stands for."""
    return f"{wrong[0]} (and {len(wrong) - 1} more)" if len(wrong) > 1 else f"{wrong[0]}"
