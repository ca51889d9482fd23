"""``no_package_install``: a call that installs a package which the task did not ask for.

Catches installing by name with any package manager, also from a script that the session wrote
before. Leaves alone: listing and removing packages, the project itself (``pip install -e .``) and
its own list (``-r requirements.txt``), text that only mentions it, and names that are allowed.
"""

from __future__ import annotations

from collections.abc import Sequence
from fnmatch import fnmatchcase

from harness_adapters import (
    BadInput,
    Finding,
    GuardRule,
    InstallPackage,
    Ledger,
    Options,
    Register,
    Severity,
    ToolCall,
    hookimpl,
)
from harness_adapters.options import check_options

ha_api_version = 1


@hookimpl
def ha_register_guards(register: Register[GuardRule]) -> None:
    register("no_package_install", NoPackageInstall, summary="Block installing packages by name.")


class NoPackageInstall:
    """Options: ``allow``, a list of package names that may be installed; ``*`` stands for any
    characters."""

    def __init__(self, options: Options) -> None:
        check_options("guard no_package_install", options, ("allow",))
        allow: Sequence[object] = options.get("allow", [])
        if not isinstance(allow, list) or not all(isinstance(name, str) for name in allow):
            raise BadInput(f"guard no_package_install: allow is {allow!r}, not a list of names")
        self.allow = tuple(_normal(str(name)) for name in allow)

    def judge(self, call: ToolCall, ledger: Ledger) -> Finding | None:
        for action in call.actions:
            if isinstance(action, InstallPackage) and not self._allowed(action.name):
                return Finding(
                    rule="no_package_install.by_name",
                    severity=Severity.BLOCK,
                    message=f"installs {action.name[:80]!r}",
                    span=action.span,
                )
        return None

    def _allowed(self, name: str) -> bool:
        return any(fnmatchcase(_normal(name), pattern) for pattern in self.allow)


def _normal(name: str) -> str:
    return name.lower().replace("_", "-")
