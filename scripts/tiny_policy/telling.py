"""What a training script measured: one JSON object a line, on stdout and beside what it makes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any


def tell(out: Path, **facts: Any) -> None:
    """Print the facts, and add them to ``OUT.log.jsonl``."""
    line = json.dumps(
        {name: round(fact, 4) if isinstance(fact, float) else fact for name, fact in facts.items()}
    )
    print(line, flush=True)
    with out.with_name(f"{out.name}.log.jsonl").open("a", encoding="utf-8") as file:
        file.write(f"{line}\n")
