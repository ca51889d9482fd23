"""A claim that measures one harness after the other, and can go on after it was stopped."""

from __future__ import annotations

import argparse
import asyncio
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

from evidence import write_evidence, write_json

from harnesses.environment import BUILT_IN, HARNESSES, make_environment


def claim(
    script: str, told: str | None, measure: Callable[[str], Awaitable[dict[str, Any]]]
) -> int:
    """Write what ``measure`` says of each harness, in an environment where all are installed.

    :param told: the script's docstring.
    :param measure: of a harness's name; its ``right`` says whether the claim holds for it.
    """
    parser = argparse.ArgumentParser(description=told)
    parser.add_argument("out", type=Path)
    parser.add_argument("--harness", action="append", choices=HARNESSES, help="instead of all")
    parser.add_argument("--parts", type=Path, help="keep finished parts here, and go on with them")
    parser.add_argument("--inside", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    harnesses = options.harness or list(HARNESSES)
    if options.inside:
        write_json(options.out, asyncio.run(measure(harnesses[0])))
        return 0
    started = time.time()
    with tempfile.TemporaryDirectory(prefix="ha-claim-") as name:
        parts = (options.parts or Path(name) / "parts").resolve()
        found = {one: _part(script, one, parts, Path(name)) for one in harnesses}
    return write_evidence(
        options.out,
        script,
        told,
        holds=all(part["right"] for part in found.values()),
        tell={one: part["right"] for one, part in found.items()},
        seconds=round(time.time() - started),
        harnesses=found,
    )


def _part(script: str, harness: str, parts: Path, folder: Path) -> dict[str, Any]:
    part = parts / f"{harness}.json"
    if not part.exists():
        parts.mkdir(parents=True, exist_ok=True)
        print(f"{time.strftime('%H:%M:%S')} {harness}", file=sys.stderr, flush=True)
        python: Path | str = sys.executable
        if harness not in BUILT_IN:
            if not (folder / "env").exists():
                make_environment(folder)
            python = folder / "env" / "bin" / "python"
        words = [str(Path(script).resolve()), str(part), "--harness", harness, "--inside"]
        done = subprocess.run([python, *words], cwd=folder, capture_output=True, text=True)
        if done.returncode:
            sys.exit(done.stderr[-4000:])
    found = json.loads(part.read_text())
    assert isinstance(found, dict)
    return found
