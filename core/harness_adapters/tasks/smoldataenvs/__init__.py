"""SmolDataEnvs suites as our own ``qa`` bundles.

``suite.py`` reads a suite's layout, ``data.py`` brings the input files of a task, and
``importer.py`` writes bundles in which an agent sees neither gold nor bucket nor token.
"""

from __future__ import annotations

from harness_adapters.tasks.smoldataenvs.importer import Imported, import_suite

__all__ = ["Imported", "import_suite"]
