"""``python -m harness_adapters.serve.scripted``: the engine as a child process.

The first line of standard input is a JSON list of task folders; the engine ends when standard
input does.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import orjson

from harness_adapters.errors import BadInput
from harness_adapters.serve.scripted.plays import parse_play
from harness_adapters.serve.scripted.server import serve


def main() -> None:
    parser = argparse.ArgumentParser(prog="harness_adapters.serve.scripted", description=__doc__)
    parser.add_argument("--play", required=True)
    parser.add_argument("--model", required=True)
    options = parser.parse_args()
    bundles = [Path(path) for path in orjson.loads(sys.stdin.buffer.readline())]
    try:
        serve(parse_play(options.play), bundles, port=0, model=options.model, child=True)
    except BadInput as error:
        sys.exit(str(error))


if __name__ == "__main__":
    main()
