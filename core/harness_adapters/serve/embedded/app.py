"""The HTTP side of the embedded engine: a subset of vLLM's own, shape for shape."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from pathlib import Path

import numpy as np
import orjson
from aiohttp import web

from harness_adapters.serve.embedded import bodies, replies
from harness_adapters.serve.embedded.errors import Refused
from harness_adapters.serve.embedded.lora import Adapter
from harness_adapters.serve.embedded.model import Model
from harness_adapters.serve.embedded.prompts import Prompts
from harness_adapters.serve.embedded.scheduler import Request, Scheduler
from harness_adapters.serve.embedded.states import Ids, as_ids
from harness_adapters.serve.embedded.tool_calls import Parsed

MAX_BODY_BYTES = 64 * 1024 * 1024


def build_app(
    model: Model, scheduler: Scheduler, *, name: str, root: str, most_adapters: int
) -> web.Application:
    """The engine as an aiohttp application. Somebody else runs the scheduler.

    :param name: what the base model is called.
    :param root: where it was read from.
    :param most_adapters: loaded at once; more are refused.
    """
    engine = _Engine(model, scheduler, name, root, most_adapters)
    app = web.Application(client_max_size=MAX_BODY_BYTES)
    app.router.add_get("/health", engine.health)
    app.router.add_get("/v1/models", engine.models)
    app.router.add_post("/v1/chat/completions", _answered(engine.chat))
    app.router.add_post("/v1/completions", _answered(engine.text))
    app.router.add_post("/v1/load_lora_adapter", _answered(engine.load))
    app.router.add_post("/v1/unload_lora_adapter", _answered(engine.unload))
    return app


class _Engine:
    def __init__(
        self, model: Model, scheduler: Scheduler, name: str, root: str, most_adapters: int
    ) -> None:
        self._model = model
        self._scheduler = scheduler
        self._name = name
        self._root = root
        self._most_adapters = most_adapters
        self._adapters: dict[str, Adapter] = {}
        self._prompts = Prompts(model.tokenizer)

    async def health(self, request: web.Request) -> web.Response:
        return web.Response()

    async def models(self, request: web.Request) -> web.Response:
        listed = replies.models(self._name, self._root, self._model.context, self._adapters)
        return web.json_response(listed)

    async def chat(self, body: object) -> replies.Json:
        asked = bodies.read(bodies.Chat, body)
        adapter = self._adapter(asked.model)
        tools = asked.offered_tools
        prompt = self._prompts.chat(asked.messages, tools, asked.chat_template_kwargs)
        request, stop = await self._complete(asked, prompt, asked.limit, adapter)
        ids = request.ids[:-1] if request.ids[-1] in request.stops else request.ids
        reply = self._prompts.reply(ids, tools=bool(tools)) if stop is None else None
        return replies.chat(
            request,
            reply or Parsed(self._before(request, stop)),
            self._prompts,
            model=asked.model or self._name,
            logprobs=bool(asked.logprobs),
            ids=bool(asked.return_token_ids),
            stop=stop,
        )

    async def text(self, body: object) -> replies.Json:
        asked = bodies.read(bodies.Text, body)
        adapter = self._adapter(asked.model)
        given = asked.prompt
        prompt = self._prompts.encode(given) if isinstance(given, str) else as_ids(given)
        if prompt.max(initial=-1) >= self._model.vocabulary:
            raise Refused(f"Token id {prompt.max()} is out of vocabulary")
        request, stop = await self._complete(asked, prompt, asked.limit, adapter)
        known = None
        if asked.prompt_logprobs is not None:
            known = self._model.prompt_logprobs(prompt, adapter)
        return replies.text(
            request,
            self._before(request, stop),
            self._prompts,
            model=asked.model or self._name,
            logprobs=asked.logprobs is not None,
            ids=bool(asked.return_token_ids),
            stop=stop,
            prompt_logprobs=known,
        )

    async def load(self, body: object) -> str:
        asked = bodies.read(bodies.Load, body)
        name = asked.lora_name
        if name == self._name:
            raise Refused(f"The lora adapter '{name}' conflicts with a served base model.")
        if name in self._adapters:
            raise Refused(f"The lora adapter '{name}' has already been loaded.")
        if len(self._adapters) >= self._most_adapters:
            raise Refused(f"all {self._most_adapters} adapter slots are taken: unload one first")
        self._adapters[name] = self._model.adapter(name, Path(asked.lora_path))
        return f"Success: LoRA adapter '{name}' added successfully."

    async def unload(self, body: object) -> str:
        asked = bodies.read(bodies.Unload, body)
        adapter = self._adapters.pop(asked.lora_name, None)
        if adapter is None:
            raise Refused(f"The lora adapter '{asked.lora_name}' cannot be found.", status=404)
        self._scheduler.states.forget(adapter)
        self._model.forget(adapter)
        return f"Success: LoRA adapter '{asked.lora_name}' removed successfully."

    def _adapter(self, model: str | None) -> Adapter | None:
        if model is None or model == self._name:
            return None
        try:
            return self._adapters[model]
        except KeyError:
            raise Refused(f"The model `{model}` does not exist.", status=404) from None

    async def _complete(
        self, asked: bodies.Completion, prompt: Ids, limit: int | None, adapter: Adapter | None
    ) -> tuple[Request, str | None]:
        """A completed request, and which of the stop texts ended it."""
        context = self._model.context
        room = context - len(prompt)
        if not len(prompt):
            raise Refused("the prompt has no tokens")
        if room < 1:
            raise Refused(
                f"This model's maximum context length is {context} tokens. However, your prompt "
                f"contains {len(prompt)} input tokens. Please reduce its length."
            )
        ending = _Ending(asked.stop_texts, self._prompts) if asked.stop_texts else None
        request = Request(
            prompt=np.ascontiguousarray(prompt),
            adapter=adapter,
            sampling=asked.sampling,
            max_tokens=min(limit or room, room),  # as vLLM does
            stops=frozenset() if asked.ignore_eos else self._model.stops,
            seed=asked.seed,
            said=ending,
        )
        await self._scheduler.complete(request)
        return request, ending.found if ending else None

    def _before(self, request: Request, stop: str | None) -> str:
        text = self._prompts.text(request.ids)
        return text.partition(stop)[0] if stop else text


class _Ending:
    """Looks for stop texts in what is sampled.

    :ivar found: the one that was met.
    """

    def __init__(self, texts: tuple[str, ...], prompts: Prompts) -> None:
        self.found: str | None = None
        self._texts = texts
        self._prompts = prompts
        # Each token spells at least a byte, so a stop text cannot begin before these.
        self._tail = max(len(text.encode()) for text in texts) + 4

    def __call__(self, ids: list[int]) -> bool:
        tail = self._prompts.text(ids[-self._tail :])
        self.found = next((text for text in self._texts if text in tail), None)
        return self.found is not None


def _answered(
    serve: Callable[[object], Awaitable[replies.Json | str]],
) -> Callable[[web.Request], Awaitable[web.Response]]:
    async def handler(request: web.Request) -> web.Response:
        try:
            answer = await serve(_parsed(await request.read()))
        except Refused as refused:
            return web.json_response(
                replies.error(str(refused), refused.status), status=refused.status
            )
        if isinstance(answer, str):
            return web.Response(text=answer)
        return web.Response(body=orjson.dumps(answer), content_type="application/json")

    return handler


def _parsed(body: bytes) -> object:
    try:
        return orjson.loads(body)
    except orjson.JSONDecodeError as error:
        raise Refused(f"the body is no JSON: {error}") from None
