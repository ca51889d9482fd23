"""The file that a claim leaves behind. In a folder: each module beside the claims is one."""

from __future__ import annotations

import json
import os
import platform
import time
from collections.abc import Mapping, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

from harness_adapters.record.folder import write_whole


def write_evidence(
    out: Path,
    script: str,
    told: str | None,
    /,
    *,
    holds: bool | None,
    versions: Sequence[str] = (),
    tell: Mapping[str, Any] | None = None,
    **figures: Any,
) -> int:
    """Write what was found, with where and when; the exit code.

    :param script: the claim's ``__file__``; its name is the command's.
    :param told: its docstring, whose first paragraph is the claim.
    :param holds: ``None`` where figures are stated and no bound is set.
    :param versions: of these distributions too.
    :param tell: printed beside ``holds``, for who waits.
    """
    verdict = {} if holds is None else {"holds": holds}
    content = {
        "claim": first_paragraph(told),
        **verdict,
        "date": time.strftime("%Y-%m-%d", time.gmtime()),
        "command": f"scripts/evidence {Path(script).stem}",
        "versions": {
            "python": platform.python_version(),
            **{name: version(name) for name in ("harness-adapters", *versions)},
        },
        "cores": os.cpu_count(),
        "load_at_the_end": round(os.getloadavg()[0], 1),
        **figures,
    }
    write_json(out, content)
    print(json.dumps({**verdict, **(tell or {})}))
    return int(holds is False)


def first_paragraph(told: str | None) -> str:
    return " ".join((told or "").split("\n\n")[0].split())


def write_json(path: Path, content: Any) -> None:
    """Whole or not at all: a part that is there counts as finished, and earlier evidence stays
    until there is new."""
    write_whole(path, json.dumps(content, indent=1).encode() + b"\n")
