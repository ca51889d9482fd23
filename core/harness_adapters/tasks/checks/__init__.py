"""The six checks that make a task worth training on, each with evidence.

``oracle`` and ``stability`` (solving.py), ``baseline``, ``tamper``, ``discrimination`` (with
mutants.py) and ``leak`` (with secrets.py and lint.py) look at one task; ``attempts.py`` grades what
they make up. ``check.py`` makes them, ``run.py`` for a set; ``evidence.py`` is what they leave.
"""

from __future__ import annotations

from harness_adapters.tasks.checks.check import CHECKS, check_task, check_tasks
from harness_adapters.tasks.checks.evidence import Evidence, Finding, Status, Trial

__all__ = ["CHECKS", "Evidence", "Finding", "Status", "Trial", "check_task", "check_tasks"]
