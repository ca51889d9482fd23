"""``python -m harness_adapters.serve.embedded``: the engine as a child process.

The first line of standard input is a JSON object with the options; the engine ends when standard
input does.
"""

from __future__ import annotations

import sys

import orjson

from harness_adapters.errors import BadInput
from harness_adapters.serve.child import BAD_INPUT
from harness_adapters.serve.embedded.server import Options, serve


def main() -> None:
    options = Options(**orjson.loads(sys.stdin.buffer.readline()))
    try:
        serve(options, as_child=True)
    except BadInput as error:
        print(error, file=sys.stderr)
        sys.exit(BAD_INPUT)


if __name__ == "__main__":
    main()
