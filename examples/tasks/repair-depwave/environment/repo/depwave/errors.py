class PlanError(Exception):
    """No plan can be made."""


class ManifestError(PlanError):
    """The manifest cannot be read; the message starts with the line."""


class CycleError(PlanError):
    """Packages need each other in a circle; ``path`` starts and ends with the same one."""

    def __init__(self, path):
        super().__init__(" -> ".join(path))
        self.path = path
