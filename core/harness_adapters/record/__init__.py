"""The run folder: an append-only checksummed log, and what is derived from it."""

from harness_adapters.record.folder import RunFolder
from harness_adapters.record.manifest import Manifest

__all__ = ["Manifest", "RunFolder"]
