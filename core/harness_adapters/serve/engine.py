"""Finding or starting the model server that a run talks to."""

from __future__ import annotations

import asyncio
import logging
import os
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import asdict, dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import aiohttp
import orjson

from harness_adapters.errors import BadInput, MissingPrerequisite, did_you_mean
from harness_adapters.serve.child import Child, Progress, started
from harness_adapters.serve.model_folder import check_folder, served_name, template_hash
from harness_adapters.types import Task

START_SECONDS = 30.0
LOAD_SECONDS = 1800.0
VLLM_STOP_SECONDS = 10.0
CONNECT_SECONDS = 10.0

KEY_VARIABLE = "HA_ENGINE_API_KEY"
"""Where the key of an engine is looked for: never on a command line, never in a record."""

_WITH_MODEL = ("embedded", "vllm")

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class EngineSpec:
    """A parsed ``--engine`` value.

    :param kind: ``url``, ``scripted``, ``embedded`` or ``vllm``.
    :param value: the URL, without ``/v1`` at its end, the play, or the model.
    """

    kind: str
    value: str

    def __str__(self) -> str:
        return self.value if self.kind == "url" else f"{self.kind}:{self.value}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Hosting:
    """What an engine that we start is to make room for; engines of somebody else have their own.

    :param adapters: adapters loaded at once: over all runs, the versions in use.
    :param rank: the greatest LoRA rank.
    :param requests: requests that run at once; more wait.
    :param context: most tokens of a sequence; by default what the model was made for.
    :param cores: that vLLM computes on where it has no GPU; by default all.
    :param vllm_flags: further ones of vLLM's own, where that is the engine.
    """

    adapters: int = 8
    rank: int = 64
    requests: int = 48
    context: int | None = None
    cores: int | None = None
    vllm_flags: tuple[str, ...] = ()


class RunningEngine:
    """An engine that answers.

    :ivar url: without ``/v1`` at its end.
    :ivar model: the model or adapter name to ask for.
    :ivar flags: what the manifest records of it.
    :ivar api_key: what the engine wants to be told, if anything; no part of any record.
    :ivar template: hash of the tokenizer and chat template where known, else empty.
    """

    def __init__(
        self,
        *,
        url: str,
        model: str,
        flags: Mapping[str, Any],
        template: str = "",
        api_key: str | None = None,
        child: Child | None = None,
        serving: Callable[[str], RunningEngine] | None = None,
    ) -> None:
        self.url = url
        self.model = model
        self.flags = flags
        self.template = template
        self.api_key = api_key
        self._child = child
        self._serving = serving

    def serving(self, model: str) -> RunningEngine:
        """The same engine, asked for another of its models or adapters.

        :raises BadInput: it has no such model.
        """
        if model == self.model:
            return self
        if self._serving is None:
            raise BadInput(f"this engine serves no model but {self.model!r}, so not {model!r}")
        return self._serving(model)

    @property
    def pid(self) -> int | None:
        """The process of an engine that we started."""
        return self._child.process.pid if self._child else None

    def alive(self) -> bool:
        """Whether the process runs; an engine of somebody else counts as alive."""
        return self._child is None or self._child.alive()

    async def wait_dead(self) -> str:
        """Wait until the engine's process ends; returns in one line how it did. Never returns
        for an engine of somebody else."""
        if self._child is None:
            await asyncio.Event().wait()
            raise AssertionError("unreachable")
        return await self._child.wait()


def parse_engine(text: str) -> EngineSpec:
    """Read ``URL | scripted:PLAY | embedded:MODEL | vllm:MODEL``.

    :raises BadInput: it is none of these.
    """
    if text.startswith(("http://", "https://")):
        try:
            parts = urlsplit(text)
        except ValueError as error:
            raise BadInput(f"engine {text!r}: {error}") from None
        if not parts.hostname:
            raise BadInput(f"engine {text!r}: a URL needs a host")
        if parts.username is not None or parts.query or parts.fragment:
            raise BadInput(
                f"engine on {parts.hostname}: give the URL without user, query or fragment, "
                f"and its key in the environment variable {KEY_VARIABLE}"
            )
        return EngineSpec(kind="url", value=text.rstrip("/").removesuffix("/v1"))
    kind, colon, value = text.partition(":")
    if kind == "scripted":
        from harness_adapters.serve.scripted.plays import parse_play

        return EngineSpec(kind="scripted", value=str(parse_play(value if colon else "oracle")))
    if kind in _WITH_MODEL:
        if not value:
            raise BadInput(f"engine {text!r}: name a model, {kind}:FOLDER")
        return EngineSpec(kind=kind, value=value)
    raise BadInput(
        f"no engine {text!r}{did_you_mean(kind, ('scripted', *_WITH_MODEL))} "
        "(an http(s) URL, scripted:PLAY, embedded:MODEL or vllm:MODEL)"
    )


def open_engine(
    spec: EngineSpec,
    *,
    tasks: Sequence[Task],
    model: str | None = None,
    hosting: Hosting | None = None,
    progress: Progress = _log.info,
) -> AbstractAsyncContextManager[RunningEngine]:
    """An engine that answers while the context is open; one we started ends with it, and with
    this process, however that ends.

    :param tasks: what a scripted engine is to know how to play.
    :param model: the name to ask for; by default the engine's first.
    :param hosting: what one that hosts adapters is to make room for.
    :param progress: told, line by line, what takes long at the start.
    :raises BadInput: nothing answers at the URL, it has no such model, or there is no such model.
    :raises MissingPrerequisite: what the engine needs is not installed.
    :raises InfraError: the engine does not start.
    """
    if spec.kind == "url":
        return _remote(spec.value, model)
    if spec.kind == "embedded":
        return _embedded(spec.value, model, hosting or Hosting(), progress)
    if spec.kind == "vllm":
        return _vllm(spec.value, model, hosting or Hosting(), progress)
    return _scripted(spec, tasks, model or "scripted")


# --- an engine of somebody else -------------------------------------------------------------------


@asynccontextmanager
async def _remote(url: str, model: str | None) -> AsyncGenerator[RunningEngine]:
    api_key = os.environ.get(KEY_VARIABLE) or None
    cards = await _models(url, api_key)
    names = [str(card["id"]) for card in cards]
    if not names:
        raise BadInput(f"{url}/v1/models lists no model")
    known = ("owned_by", "root", "parent", "max_model_len")

    def serving(chosen: str) -> RunningEngine:
        if chosen not in names:
            raise BadInput(f"{url} has no model {chosen!r}{did_you_mean(chosen, names)}")
        card = cards[names.index(chosen)]
        flags = {"url": url} | {name: card[name] for name in known if card.get(name) is not None}
        return RunningEngine(url=url, model=chosen, flags=flags, api_key=api_key, serving=serving)

    yield serving(model or names[0])


async def _models(url: str, api_key: str | None) -> list[dict[str, Any]]:
    timeout = aiohttp.ClientTimeout(total=CONNECT_SECONDS)
    headers = {"Authorization": f"Bearer {api_key}"} if api_key else {}
    try:
        async with (
            aiohttp.ClientSession(timeout=timeout) as http,
            http.get(f"{url}/v1/models", headers=headers) as response,
        ):
            body = await response.read()
    except (aiohttp.ClientError, OSError, TimeoutError) as error:
        raise BadInput(f"no engine answers at {url} ({error or type(error).__name__})") from None
    if response.status in (401, 403):
        raise BadInput(f"{url} wants a key: put it into the environment variable {KEY_VARIABLE}")
    if response.status != 200:
        raise BadInput(f"{url}/v1/models answers with status {response.status}: no engine")
    try:
        cards = orjson.loads(body)["data"]
        if all(isinstance(card["id"], str) for card in cards):
            return list(cards)
    except (orjson.JSONDecodeError, KeyError, TypeError):
        pass
    raise BadInput(f"{url}/v1/models answers no list of models: no OpenAI-compatible engine")


# --- engines of our own, as children --------------------------------------------------------------


@asynccontextmanager
async def _scripted(
    spec: EngineSpec, tasks: Sequence[Task], model: str
) -> AsyncGenerator[RunningEngine]:
    from harness_adapters.serve.scripted.plays import parse_play, play_of
    from harness_adapters.serve.tokens import template_hash as scripted_template

    play = parse_play(spec.value)
    play_of(play, model)
    arguments = ["-m", "harness_adapters.serve.scripted", "--play", spec.value, "--model", model]
    bundles = orjson.dumps([str(task.path.absolute()) for task in tasks]) + b"\n"
    async with started(arguments, first_line=bundles, start_seconds=START_SECONDS) as child:

        def serving(name: str) -> RunningEngine:
            play_of(play, name)
            return RunningEngine(
                url=child.url,
                model=name,
                flags={"play": spec.value, "version": _version()},
                template=scripted_template(),
                child=child,
                serving=serving,
            )

        yield serving(model)


@asynccontextmanager
async def _embedded(
    folder: str, model: str | None, hosting: Hosting, progress: Progress
) -> AsyncGenerator[RunningEngine]:
    from harness_adapters.serve.embedded.server import NEEDS, Options

    if any(find_spec(package) is None for package in ("torch", "transformers")):
        raise MissingPrerequisite(NEEDS)
    check_folder(folder)
    options = Options(
        model=folder,
        name=served_name(folder),
        context=hosting.context,
        slots=hosting.requests,
        adapters=hosting.adapters,
        rank=hosting.rank,
    )
    line = orjson.dumps(options) + b"\n"
    async with started(
        ["-m", "harness_adapters.serve.embedded"],
        first_line=line,
        start_seconds=LOAD_SECONDS,
        progress=progress,
    ) as child:
        told = {name: child.ready[name] for name in ("context", "torch", "transformers")}
        yield _hosting(child, model, options.name, folder, {**asdict(options), **told})


@asynccontextmanager
async def _vllm(
    folder: str, model: str | None, hosting: Hosting, progress: Progress
) -> AsyncGenerator[RunningEngine]:
    from harness_adapters.serve.vllm.flags import Options, vllm_python

    check_folder(folder)
    vllm_python()
    options = Options(
        model=folder,
        name=served_name(folder),
        adapters=hosting.adapters,
        rank=hosting.rank,
        requests=hosting.requests,
        context=hosting.context,
        cores=hosting.cores,
        more=hosting.vllm_flags,
    )
    line = orjson.dumps(options) + b"\n"
    async with started(
        ["-m", "harness_adapters.serve.vllm"],
        first_line=line,
        start_seconds=LOAD_SECONDS,
        stop_seconds=VLLM_STOP_SECONDS,
        progress=progress,
    ) as child:
        yield _hosting(child, model, options.name, folder, {"flags": child.ready["flags"]})


def _hosting(
    child: Child, model: str | None, base: str, folder: str, flags: Mapping[str, Any]
) -> RunningEngine:
    """An engine of ours that hosts adapters. At its start it has none, so it serves its base."""

    def serving(name: str) -> RunningEngine:
        if name != base:
            raise BadInput(f"the engine has no model {name!r}{did_you_mean(name, [base])}")
        return RunningEngine(
            url=child.url,
            model=base,
            flags=flags,
            template=template_hash(Path(folder)),
            child=child,
            serving=serving,
        )

    return serving(model or base)


def _version() -> str:
    from harness_adapters import __version__

    return __version__
