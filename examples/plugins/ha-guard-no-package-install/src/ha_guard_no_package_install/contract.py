"""What this guard promises. ``ha plugin check no-package-install`` runs it, and so do the tests."""

from __future__ import annotations

from typing import ClassVar

from harness_adapters import Options
from harness_adapters.testing import Case, GuardRuleContract, PluginContract

SCRIPT = {"path": "setup.sh", "content": "#!/bin/sh\npip install left-pad\n"}


class TestPlugin(PluginContract):
    name = "no-package-install"


class TestGuard(GuardRuleContract):
    name = "no_package_install"
    blocked = (
        Case("bash", {"command": "pip install requests"}),
        Case("Bash", {"command": "cd /tmp && python3 -m pip install --user 'rich>=13' | tail -1"}),
        Case("exec_command", {"cmd": "bash -lc 'npm i left-pad'"}),
        Case("terminal", {"command": "apt-get install -y curl"}),
        # What the session wrote before is in the ledger.
        Case("bash", {"command": "sh setup.sh"}, earlier=(("write", SCRIPT),)),
    )
    allowed = (
        Case("bash", {"command": "pip list; pip show requests"}),
        Case("bash", {"command": "pip install -e . && pip install -r requirements.txt"}),
        Case("bash", {"command": "echo 'now run: pip install requests'"}),
        Case("write", SCRIPT),
    )


class TestGuardThatAllowsSome(GuardRuleContract):
    name = "no_package_install"
    options: ClassVar[Options] = {"allow": ["pytest*", "Rich"]}
    blocked = (Case("bash", {"command": "pip install pytest requests"}),)
    allowed = (Case("bash", {"command": "pip install pytest_cov rich"}),)
