"""Finding or starting the model server that a run talks to."""

from __future__ import annotations

import asyncio
import os
import sys
import tempfile
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass, field
from typing import IO, Any
from urllib.parse import urlsplit

import aiohttp
import orjson

from harness_adapters.errors import BadInput, InfraError, did_you_mean
from harness_adapters.types import Task

START_SECONDS = 30.0
CONNECT_SECONDS = 10.0
STOP_SECONDS = 5.0

KEY_VARIABLE = "HA_ENGINE_API_KEY"
"""Where the key of an engine is looked for: never on a command line, never in a record."""

_LATER = ("embedded", "vllm")


@dataclass(frozen=True, slots=True, kw_only=True)
class EngineSpec:
    """A parsed ``--engine`` value.

    :param kind: ``url`` or ``scripted``.
    :param value: the URL, without ``/v1`` at its end, or the play.
    """

    kind: str
    value: str

    def __str__(self) -> str:
        return self.value if self.kind == "url" else f"{self.kind}:{self.value}"


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
        child: _Child | None = None,
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

    def alive(self) -> bool:
        """Whether the process runs; an engine of somebody else counts as alive."""
        return self._child is None or self._child.process.returncode is None

    async def wait_dead(self) -> str:
        """Wait until the engine's process ends; returns in one line how it did. Never returns
        for an engine of somebody else."""
        if self._child is None:
            await asyncio.Event().wait()
            raise AssertionError("unreachable")
        await self._child.process.wait()
        return self._child.how_it_ended()


def parse_engine(text: str) -> EngineSpec:
    """Read ``URL | scripted:PLAY | embedded:MODEL | vllm:MODEL``.

    :raises BadInput: it is none of these, or an engine this version cannot start.
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
    if kind in _LATER:
        raise BadInput(
            f"engine {kind!r} cannot be started by this version yet; start the server yourself "
            "and give its URL"
        )
    raise BadInput(
        f"no engine {text!r}{did_you_mean(kind, ('scripted', *_LATER))} "
        "(an http(s) URL, or scripted:PLAY)"
    )


def open_engine(
    spec: EngineSpec, *, tasks: Sequence[Task], model: str | None = None
) -> AbstractAsyncContextManager[RunningEngine]:
    """An engine that answers while the context is open; one we started ends with it, and with
    this process, however that ends.

    :param tasks: what a scripted engine is to know how to play.
    :param model: the name to ask for; by default the engine's first.
    :raises BadInput: nothing answers at the URL, or it has no such model.
    :raises InfraError: the engine does not start.
    """
    if spec.kind == "url":
        return _remote(spec.value, model)
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


# --- the scripted engine, as our child ------------------------------------------------------------


@dataclass(frozen=True)
class _Child:
    process: asyncio.subprocess.Process
    errors: IO[bytes] = field(repr=False)

    def how_it_ended(self) -> str:
        code = self.process.returncode
        how = f"signal {-code}" if code and code < 0 else f"exit code {code}"
        self.errors.seek(0)
        lines = self.errors.read()[-4096:].decode("utf-8", "replace").split("\n")
        last = next((line for line in reversed(lines) if line.strip()), "")
        return f"{how}: {last}" if last else how


@asynccontextmanager
async def _scripted(
    spec: EngineSpec, tasks: Sequence[Task], model: str
) -> AsyncGenerator[RunningEngine]:
    from harness_adapters.serve.scripted.plays import parse_play, play_of

    play = parse_play(spec.value)
    play_of(play, model)
    arguments = ["--play", spec.value, "--model", model]
    with tempfile.TemporaryFile() as errors:
        # Its standard input stays open as long as we live: that is how it notices our end.
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "harness_adapters.serve.scripted", *arguments),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=errors,
            # Ctrl-C in a terminal goes to the whole group; sessions still need their engine then.
            start_new_session=True,
        )
        child = _Child(process, errors)
        try:
            url = await _ready(child, [str(task.path.absolute()) for task in tasks])

            def serving(name: str) -> RunningEngine:
                play_of(play, name)
                return RunningEngine(
                    url=url,
                    model=name,
                    flags={"play": spec.value, "version": _version()},
                    template=_template(),
                    child=child,
                    serving=serving,
                )

            yield serving(model)
        finally:
            await _stop(process)


async def _ready(child: _Child, bundles: Sequence[str]) -> str:
    """Tell the engine its tasks; its URL, once it answers."""
    stdin, stdout = child.process.stdin, child.process.stdout
    assert stdin is not None
    assert stdout is not None
    stdin.write(orjson.dumps(bundles) + b"\n")
    try:
        async with asyncio.timeout(START_SECONDS):
            line = await stdout.readline()
    except TimeoutError:
        raise InfraError(f"the engine did not start within {START_SECONDS:.0f} s") from None
    if not line:
        await child.process.wait()
        raise InfraError(f"the engine did not start ({child.how_it_ended()})")
    return str(orjson.loads(line)["url"])


async def _stop(process: asyncio.subprocess.Process) -> None:
    if process.returncode is None:
        process.terminate()
        try:
            async with asyncio.timeout(STOP_SECONDS):
                await process.wait()
        except TimeoutError:
            process.kill()
    await process.wait()


def _version() -> str:
    from harness_adapters import __version__

    return __version__


def _template() -> str:
    from harness_adapters.serve.tokens import template_hash

    return template_hash()
