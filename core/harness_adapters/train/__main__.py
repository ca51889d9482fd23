"""One training process, as the child of ``ha train``: its plan on standard input, what happens as
JSON lines on standard output, and no life beyond its parent's."""

from __future__ import annotations

import logging
import os
import signal
import sys
from typing import Any

import orjson

from harness_adapters.errors import BadInput, HarnessAdaptersError
from harness_adapters.garbage import collect_rarely
from harness_adapters.serve.child import end_with_parent
from harness_adapters.train.plan import LOG, RunPlan


def main() -> int:
    plan = RunPlan.model_validate_json(sys.stdin.buffer.readline())
    end_with_parent()
    collect_rarely()
    # What libraries print belongs to the log; events go where the parent reads them.
    events = os.fdopen(os.dup(sys.stdout.fileno()), "wb")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(name)s: %(message)s")
    signal.signal(signal.SIGTERM, signal.default_int_handler)

    def tell(event: dict[str, Any]) -> None:
        if event["event"] == "started":
            with (plan.out / LOG).open("ab") as log:
                os.dup2(log.fileno(), sys.stderr.fileno())
                os.dup2(log.fileno(), sys.stdout.fileno())
        events.write(orjson.dumps(event, default=str) + b"\n")
        events.flush()

    from harness_adapters.train.trainer import train_one

    try:
        trained = train_one(plan, tell=tell)
    except KeyboardInterrupt:
        return 130
    except HarnessAdaptersError as error:
        logging.exception("stopped")
        bad = isinstance(error, BadInput)
        tell({"event": "failed", "message": str(error), "bad_input": bad})
        return 2 if bad else 1
    except Exception as error:
        logging.exception("failed")
        tell({"event": "failed", "message": f"{type(error).__name__}: {error}", "bad_input": False})
        return 1
    tell({"event": "done", **trained.to_json()})
    return 0


if __name__ == "__main__":
    sys.exit(main())
