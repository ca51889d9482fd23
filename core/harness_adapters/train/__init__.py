"""Training: recipes, the rows' arithmetic, versions of an adapter, and the wiring to TRL.

``harness_adapters.train`` is this package and, called, the function of that name: see
``harness_adapters.train.training.train``.
"""

from __future__ import annotations

import sys
from types import ModuleType
from typing import Any


class _CallablePackage(ModuleType):
    def __call__(self, *args: Any, **given: Any) -> Any:
        from harness_adapters.train.training import train

        return train(*args, **given)


sys.modules[__name__].__class__ = _CallablePackage
