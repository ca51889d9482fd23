"""An engine with a real model and real LoRA adapters, whose words are scripted.

It speaks the HTTP subset that training needs. What it says is the script's (half of the sessions
solve the task, half give up at once), so that rewards differ; how likely each id was is what the
model with the asked adapter computes, so that rows are exact. Run as a process:

    python adapter_engine.py MODEL_FOLDER TASKS_FOLDER [--requests FILE] [--port N]
"""

from __future__ import annotations

import argparse
import asyncio
import itertools
import json
import sys
import threading
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from aiohttp import web

from harness_adapters.serve.scripted.app import build_app
from harness_adapters.serve.scripted.conversation import Body, Conversation
from harness_adapters.serve.scripted.plays import Play
from harness_adapters.serve.scripted.policy import Policy
from harness_adapters.serve.scripted.sample import Sample
from harness_adapters.serve.tokens import Message
from harness_adapters.tasks.bundle import load_tasks
from harness_adapters.types import Task


class Model:
    """The model and its adapters; one forward at a time."""

    def __init__(self, folder: Path) -> None:
        import torch
        import transformers

        torch.set_num_threads(1)
        self._torch = torch
        self._base = transformers.AutoModelForCausalLM.from_pretrained(folder, dtype="float32")
        self._base.eval()
        self._peft: Any = None
        self.adapters: dict[str, str] = {}
        self._lock = threading.Lock()

    def load(self, name: str, path: str) -> None:
        from peft import PeftModel

        with self._lock:
            inside = name.replace(".", "_")
            if self._peft is None:
                self._peft = PeftModel.from_pretrained(self._base, path, adapter_name=inside)
            else:
                self._peft.load_adapter(path, adapter_name=inside)
            self._peft.eval()
            self.adapters[name] = inside

    def unload(self, name: str) -> None:
        with self._lock:
            inside = self.adapters.pop(name)
            if len(self._peft.peft_config) > 1:
                self._peft.delete_adapter(inside)

    def logprobs(
        self, ids: Sequence[int], *, adapter: str | None, temperature: float
    ) -> list[float]:
        """Of each id after the first."""
        torch = self._torch
        with self._lock, torch.no_grad():
            given = torch.tensor([list(ids)])
            if adapter is None and self._peft is None:
                logits = self._base(given).logits
            elif adapter is None:
                with self._peft.disable_adapter():
                    logits = self._peft(given).logits
            else:
                self._peft.set_adapter(self.adapters[adapter])
                logits = self._peft(given).logits
            said = (logits[0, :-1] / temperature).log_softmax(-1)
            return list(said.gather(1, given[0, 1:, None])[:, 0].tolist())


@dataclass(frozen=True, kw_only=True)
class ModelSample(Sample):
    values: list[float] = field(default_factory=list)

    def logprobs(self) -> list[dict[str, Any]]:
        return [
            {"token": f"token_id:{id}", "logprob": value, "bytes": [], "top_logprobs": []}
            for id, value in zip(self.ids, self.values, strict=True)
        ]


class HalfSolves(Policy):
    """Every other session gives up at once."""

    def __init__(self, tasks: Sequence[Task], model: Model) -> None:
        super().__init__(tasks, Play("oracle"))
        self._model = model
        self._openings = itertools.count()

    def reply(self, conversation: Conversation) -> Message:
        if conversation.step == 0 and next(self._openings) % 2:
            return Message("assistant", "I give up.")
        return super().reply(conversation)

    def sample(self, conversation: Conversation, body: Body, *, model: str) -> Sample:
        plain = super().sample(conversation, body, model=model)
        whole = [*plain.prompt, *plain.ids]
        adapter = model if model in self._model.adapters else None
        values = self._model.logprobs(whole, adapter=adapter, temperature=plain.temperature)
        fields = {name: getattr(plain, name) for name in plain.__dataclass_fields__}
        return ModelSample(**fields, values=values[len(plain.prompt) - 1 :])


class Server:
    """The application; notes every request's model."""

    def __init__(self, folder: Path, tasks: Sequence[Task], requests: Path | None) -> None:
        self.base = str(folder)
        self.model = Model(folder)
        self.policy = HalfSolves(tasks, self.model)
        self.requests = requests
        self.app = build_app(self.policy, model=self.base)
        self.app.middlewares.append(self._check)
        self.app.router.add_post("/v1/load_lora_adapter", self._load)
        self.app.router.add_post("/v1/unload_lora_adapter", self._unload)
        self.app.router.add_post("/v1/completions", self._complete)

    @web.middleware
    async def _check(self, request: web.Request, handler: Any) -> web.StreamResponse:
        if request.path == "/v1/models":
            cards = [{"id": self.base, "root": self.base, "owned_by": "test"}]
            cards += [{"id": n, "root": "", "parent": self.base} for n in self.model.adapters]
            return web.json_response({"object": "list", "data": cards})
        if request.method == "POST":
            body = await request.json()
            if self.requests is not None:
                with self.requests.open("a") as file:
                    asked = body.get("model") or body.get("lora_name")
                    file.write(json.dumps([request.path, asked]) + "\n")
            known = [self.base, *self.model.adapters]
            if "model" in body and body["model"] not in known:
                return _error(404, f"The model `{body['model']}` does not exist.")
        answer: web.StreamResponse = await handler(request)
        return answer

    async def _load(self, request: web.Request) -> web.Response:
        body = await request.json()
        if body["lora_name"] in self.model.adapters:
            return _error(400, f"{body['lora_name']} has already been loaded.")
        self.model.load(body["lora_name"], body["lora_path"])
        return web.Response(text="loaded")

    async def _unload(self, request: web.Request) -> web.Response:
        body = await request.json()
        if body["lora_name"] not in self.model.adapters:
            return _error(404, f"{body['lora_name']} cannot be found.")
        self.model.unload(body["lora_name"])
        return web.Response(text="unloaded")

    async def _complete(self, request: web.Request) -> web.Response:
        body = await request.json()
        ids = body["prompt"]
        adapter = body["model"] if body["model"] in self.model.adapters else None
        values = self.model.logprobs(ids, adapter=adapter, temperature=1.0)
        said = [
            None,
            *({str(i): {"logprob": v}} for i, v in zip(ids[1:], values, strict=True)),
        ]
        return web.json_response({"choices": [{"text": "", "prompt_logprobs": said}]})


def _error(status: int, message: str) -> web.Response:
    error = {"message": message, "type": "BadRequestError", "param": None, "code": status}
    return web.json_response({"error": error}, status=status)


async def serve(server: Server, port: int) -> None:
    runner = web.AppRunner(server.app, access_log=None, shutdown_timeout=0.5)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", port).start()
    print(f"http://127.0.0.1:{runner.addresses[0][1]}", flush=True)
    await asyncio.get_running_loop().run_in_executor(None, sys.stdin.read)
    await runner.cleanup()


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("model", type=Path)
    parser.add_argument("tasks", type=Path)
    parser.add_argument("--requests", type=Path)
    parser.add_argument("--port", type=int, default=0)
    given = parser.parse_args()
    found, _ = load_tasks(given.tasks)
    asyncio.run(serve(Server(given.model, found, given.requests), given.port))
