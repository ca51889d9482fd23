"""Hidden tests and the code that they test, in separate sandboxes, joined by a relay.

``runner.py`` runs pytest where the agent's code never is; ``worker.py`` runs the agent's code where
no test result ever is; ``relay.py`` carries one JSON request and reply between them; ``verify.py``
sets both up, ``report.py`` judges what came back, and ``named.py`` knows which tests there are.
"""

from __future__ import annotations

from harness_adapters.tasks.subject.named import check_named, hidden_tests, plain_id
from harness_adapters.tasks.subject.report import TestReport
from harness_adapters.tasks.subject.verify import verify_tests

__all__ = ["TestReport", "check_named", "hidden_tests", "plain_id", "verify_tests"]
