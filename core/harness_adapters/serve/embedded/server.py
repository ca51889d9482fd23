"""Serving the embedded engine from a process: alone, or as somebody's child."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Any

import uvloop
from aiohttp import web

from harness_adapters.errors import BadInput, MissingPrerequisite
from harness_adapters.serve import child
from harness_adapters.serve.embedded.errors import OutOfMemory
from harness_adapters.serve.model_folder import check_folder

NEEDS = "the embedded engine needs torch and transformers: pip install 'harness-adapters[serve]'"


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """:param model: a folder as ``save_pretrained`` leaves it, or a name on the Hugging Face Hub.
    :param name: what the base model is called.
    :param context: most tokens of a sequence; by default what the model was made for.
    :param slots: requests that run at once; more wait.
    :param adapters: adapters loaded at once.
    :param rank: the greatest LoRA rank.
    :param memory: bytes for what is remembered of sequences.
    :param threads: of one matrix product. One is fastest for small models, and by far where other
        processes want the machine too.
    """

    model: str
    name: str
    context: int | None = None
    slots: int = 48
    adapters: int = 8
    rank: int = 64
    memory: int = 2 * 2**30
    threads: int = 1


def serve(options: Options, *, port: int = 0, as_child: bool = False) -> None:
    """Serve until interrupted. Prints JSON lines on standard output: ``progress``, and once it
    answers ``url``, ``port`` and what is served.

    :param port: 0 for any free one; always on the loopback interface.
    :param as_child: end when standard input does, as it does with the parent's life.
    :raises BadInput: there is no such model, it cannot be served, or the port is taken.
    """
    if as_child:
        child.end_with_parent()
    # Before transformers is imported: what it says is for its own users.
    os.environ.setdefault("TRANSFORMERS_VERBOSITY", "error")
    os.environ.setdefault("HF_HUB_DISABLE_PROGRESS_BARS", "1")
    check_folder(options.model)
    child.say(progress="importing torch and transformers")
    try:
        import torch
        import transformers

        from harness_adapters.serve.embedded.model import Model
    except ImportError as error:
        raise MissingPrerequisite(f"{NEEDS} ({error})") from None
    transformers.utils.logging.disable_progress_bar()
    torch.set_num_threads(options.threads)
    child.say(progress=f"loading {options.model}")
    try:
        model = Model(options.model, context=options.context, max_rank=options.rank)
    except (MemoryError, OutOfMemory):
        raise BadInput(f"{options.model}: this machine has no memory for it") from None
    versions = {"torch": torch.__version__, "transformers": transformers.__version__}
    try:
        uvloop.run(_serve(model, options, port, versions))
    except KeyboardInterrupt:
        pass


async def _serve(model: Any, options: Options, port: int, versions: dict[str, str]) -> None:
    from harness_adapters.serve.embedded.app import build_app
    from harness_adapters.serve.embedded.scheduler import Scheduler

    scheduler = Scheduler(model, slots=options.slots, memory=options.memory)
    app = build_app(
        model, scheduler, name=options.name, root=options.model, most_adapters=options.adapters
    )
    # A client that goes away cancels its handler, and that its request.
    runner = web.AppRunner(
        app, access_log=None, handle_signals=False, handler_cancellation=True, shutdown_timeout=1
    )
    await runner.setup()
    try:
        await web.TCPSite(runner, "127.0.0.1", port).start()
    except OSError as error:
        raise BadInput(f"port {port} cannot be used: {error.strerror}") from None
    port = runner.addresses[0][1]
    child.say(
        url=f"http://127.0.0.1:{port}",
        port=port,
        model=options.name,
        context=model.context,
        **versions,
    )
    try:
        await scheduler.run()
    finally:
        await runner.cleanup()
