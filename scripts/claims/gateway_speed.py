"""The gateway keeps its speed goals P1 to P8, P11 and P12, guard and capture on.

What ``ha bench gateway`` measures, with both peers beside it. Best on a machine that does nothing
else: goals are scaled by how fast direct calls are in the same run, but a busy machine is slow in
other ways too.

Usage: scripts/claims/gateway_speed.py OUT.json
"""

from __future__ import annotations

import sys
import time
from pathlib import Path

from evidence import write_evidence

from harness_adapters.bench.peers import PEERS
from harness_adapters.bench.suite import run


def main(out: Path) -> int:
    started = time.monotonic()
    report = run(peers=list(PEERS), progress=lambda line: print(line, file=sys.stderr))
    missed = {name: result.missed for name, result in report.results.items() if result.missed}
    return write_evidence(
        out,
        __file__,
        __doc__,
        holds=report.ok,
        versions=("aiohttp", "orjson", "uvloop"),
        tell={"missed": missed},
        missed=missed,
        seconds=round(time.monotonic() - started, 1),
        **report.as_json(),
    )


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("usage: scripts/claims/gateway_speed.py OUT.json")
    sys.exit(main(Path(sys.argv[1])))
