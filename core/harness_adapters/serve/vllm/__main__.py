"""``python -m harness_adapters.serve.vllm``: vLLM as a child process.

The first line of standard input is a JSON object with the options; vLLM ends when standard input
does.
"""

from __future__ import annotations

import sys

import orjson

from harness_adapters.errors import BadInput, InfraError
from harness_adapters.serve.child import BAD_INPUT
from harness_adapters.serve.vllm.flags import Options
from harness_adapters.serve.vllm.supervise import supervise


def main() -> None:
    options = Options(**orjson.loads(sys.stdin.buffer.readline()))
    try:
        supervise(options, as_child=True)
    except (BadInput, InfraError) as error:
        print(error, file=sys.stderr)
        sys.exit(BAD_INPUT if isinstance(error, BadInput) else 1)


if __name__ == "__main__":
    main()
