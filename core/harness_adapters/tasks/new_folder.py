"""A folder that is written whole or not at all."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from harness_adapters.errors import BadInput


@contextmanager
def new_folder(out: Path) -> Iterator[Path]:
    """A draft beside ``out`` that becomes it when the context ends well, and else is removed.

    :raises BadInput: ``out`` exists and is not an empty folder, or cannot be written.
    """
    taken = out.exists() and (not out.is_dir() or any(out.iterdir()))
    if taken or out.is_symlink():
        raise BadInput(f"{out} exists and is not an empty folder; name a new one")
    try:
        out.parent.mkdir(parents=True, exist_ok=True)
        draft = Path(tempfile.mkdtemp(prefix=f".{out.name}.", dir=out.parent))
    except OSError as error:
        raise BadInput(f"cannot write {out}: {error.strerror}") from None
    try:
        yield draft
        draft.chmod(0o755)
        draft.rename(out)
    except BaseException:
        shutil.rmtree(draft, ignore_errors=True)
        raise
