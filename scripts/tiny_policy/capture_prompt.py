#!/usr/bin/env python3
"""Capture what a real harness puts around a task, into prompts/HARNESS.json.

    scripts/tiny_policy/capture_prompt.py pi opencode hermes

Runs one generated task in each harness against a model server that says "Done." and keeps the first
request. Run it again when a harness's pinned version changes, then train the policy anew.
"""

from __future__ import annotations

import argparse
import datetime
import json
import platform
import re
import tempfile
from pathlib import Path
from typing import Any

from aiohttp import web
from harness_prompts import FOLDER, HARNESSES

import harness_adapters as ha
from harness_adapters.quickstart.tasks import write_tasks
from harness_adapters.train.loop_thread import LoopThread

MODEL = "captured-model"


class Recorder:
    """A model server that keeps what it is asked."""

    def __init__(self) -> None:
        self.requests: list[dict[str, Any]] = []

    async def chat(self, request: web.Request) -> web.Response:
        self.requests.append(await request.json())
        message = {"role": "assistant", "content": "Done."}
        choice = {"index": 0, "message": message, "finish_reason": "stop"}
        usage = {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}
        return web.json_response(
            {"id": "0", "object": "chat.completion", "created": 0, "model": MODEL}
            | {"choices": [choice], "usage": usage}
        )

    async def models(self, request: web.Request) -> web.Response:
        card = {"id": MODEL, "object": "model", "created": 0, "owned_by": "nobody"}
        return web.json_response({"object": "list", "data": [card]})

    async def health(self, request: web.Request) -> web.Response:
        return web.Response()

    async def serve(self) -> tuple[web.AppRunner, str]:
        app = web.Application(client_max_size=1 << 26)
        app.router.add_post("/v1/chat/completions", self.chat)
        app.router.add_get("/v1/models", self.models)
        app.router.add_get("/health", self.health)
        runner = web.AppRunner(app)
        await runner.setup()
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        host, port = runner.addresses[0][:2]
        return runner, f"http://{host}:{port}"


def capture(harness: str) -> dict[str, Any]:
    """The system message, with placeholders, and the tools of one session."""
    recorder = Recorder()
    with tempfile.TemporaryDirectory() as folder, LoopThread("recorder") as thread:
        runner, url = thread.call(recorder.serve())
        tasks = Path(folder, "tasks")
        write_tasks(tasks, seed=0, trained=1, held_out=1)
        ha.run(tasks, harness=harness, engine=url, out=Path(folder, "run"), limit=1)
        thread.call(runner.cleanup())
    request = next(request for request in recorder.requests if request.get("tools"))
    system = request["messages"][0]["content"]
    if not isinstance(system, str):
        system = "".join(part["text"] for part in system)
    return {"system": with_places(system), "tools": request["tools"]}


def with_places(system: str) -> str:
    """``system`` with placeholders where sessions differ."""
    day = datetime.datetime.now(datetime.UTC).date()
    days = (day.strftime(form) for form in ("%Y-%m-%d", "%a %b %d %Y", "%A, %B %d, %Y"))
    for text in days:
        system = system.replace(text, "{day}")
    system = system.replace(MODEL, "{model}").replace(platform.release(), "{kernel}")
    if str(day.year) in re.sub(r"\{\w+\}", "", system):
        raise SystemExit(f"a day is left in the system message:\n{system}")
    return system


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("harness", nargs="+", choices=HARNESSES)
    for harness in parser.parse_args().harness:
        text = json.dumps(capture(harness), indent=1, ensure_ascii=False)
        (FOLDER / f"{harness}.json").write_text(f"{text}\n", "utf-8")


if __name__ == "__main__":
    main()
