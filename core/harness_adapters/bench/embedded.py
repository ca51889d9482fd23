"""How fast the embedded engine is: tokens a second, and CPU time a token, by concurrency.

The load is what sessions of coding agents send: prompts of a few hundred tokens with a system
prompt in common, a base and two adapters mixed, sampled at temperature 1.
"""

from __future__ import annotations

import asyncio
import json
import os
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from importlib.resources import files
from pathlib import Path
from typing import Any

import aiohttp
import orjson

from harness_adapters.errors import InfraError
from harness_adapters.serve.adapter_client import AdapterClient
from harness_adapters.serve.engine import RunningEngine, open_engine, parse_engine

CONCURRENCY = (1, 8, 16, 48)
COMMON, OWN, ANSWER = 400, 200, 96  # tokens: of the shared system prompt, of a session, sampled
HIDDEN, LAYERS, HEADS, HEAD, FEED = 192, 4, 6, 32, 480
RANK = 32


@dataclass(frozen=True, slots=True, kw_only=True)
class Speed:
    """:param tokens_per_s: sampled, over all sessions.
    :param cpu_ms_per_token: of the engine's process, prompts included.
    :param request_s: median time of a request.
    """

    sessions: int
    tokens_per_s: float
    cpu_ms_per_token: float
    request_s: float


def run(progress: Callable[[str], None] = lambda line: None) -> dict[str, Any]:
    """Measure a random model of two million parameters with adapters of rank 32.

    :raises InfraError: the engine broke.
    """
    with tempfile.TemporaryDirectory(prefix="ha-bench-") as folder:
        progress("making a model of 2M parameters")
        parameters = _make_model(Path(folder) / "model")
        adapters = [_make_adapter(Path(folder) / f"adapter{seed}", seed) for seed in (1, 2)]
        speeds = asyncio.run(_measure(Path(folder) / "model", adapters, progress))
    return {
        "parameters": parameters,
        "prompt_tokens": COMMON + OWN,
        "answer_tokens": ANSWER,
        "load": round(os.getloadavg()[0], 2),
        "speeds": [asdict(speed) for speed in speeds],
    }


async def _measure(
    model: Path, adapters: Sequence[Path], progress: Callable[[str], None]
) -> list[Speed]:
    speeds = []
    async with (
        open_engine(parse_engine(f"embedded:{model}"), tasks=[], progress=progress) as engine,
        AdapterClient(engine.url) as client,
        aiohttp.ClientSession(engine.url) as http,
    ):
        for path in adapters:
            await client.load(path.name, path)
        models = [engine.model, *(path.name for path in adapters)]
        await _batch(http, models, 2, 0)
        for sessions in CONCURRENCY:
            progress(f"measuring {sessions} sessions at once")
            before, start = _cpu_seconds(engine), time.perf_counter()
            times = await _batch(http, models, sessions, sessions)
            seconds, used = time.perf_counter() - start, _cpu_seconds(engine) - before
            tokens = sessions * ANSWER
            speeds.append(
                Speed(
                    sessions=sessions,
                    tokens_per_s=round(tokens / seconds, 1),
                    cpu_ms_per_token=round(1e3 * used / tokens, 3),
                    request_s=round(sorted(times)[len(times) // 2], 3),
                )
            )
    return speeds


async def _batch(
    http: aiohttp.ClientSession, models: Sequence[str], sessions: int, salt: int
) -> list[float]:
    async def one(number: int) -> float:
        own = [100 + (17 * number + 31 * salt + 7 * place) % 3000 for place in range(OWN)]
        body = {
            "model": models[number % len(models)],
            "prompt": [*range(200, 200 + COMMON), *own],
            "max_tokens": ANSWER,
            "temperature": 1.0,
            "seed": number,
            "ignore_eos": True,
            "logprobs": 1,
            "return_token_ids": True,
        }
        start = time.perf_counter()
        async with http.post("/v1/completions", json=body) as response:
            reply = orjson.loads(await response.read())
        if response.status != 200 or len(reply["choices"][0]["token_ids"]) != ANSWER:
            raise InfraError(f"the engine answers {response.status}: {reply}")
        return time.perf_counter() - start

    return list(await asyncio.gather(*(one(number) for number in range(sessions))))


def _cpu_seconds(engine: RunningEngine) -> float:
    """User and system time of the engine's process so far."""
    assert engine.pid is not None
    fields = Path(f"/proc/{engine.pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def _make_model(folder: Path) -> int:
    import torch
    import transformers

    torch.set_num_threads(1)
    torch.manual_seed(0)
    tokenizer = transformers.PreTrainedTokenizerFast(
        tokenizer_file=str(files("harness_adapters.serve").joinpath("tokenizer.json")),
        eos_token="<|im_end|>",
    )
    config = transformers.Qwen3Config(
        vocab_size=len(tokenizer),
        hidden_size=HIDDEN,
        intermediate_size=FEED,
        num_hidden_layers=LAYERS,
        num_attention_heads=HEADS,
        num_key_value_heads=HEADS // 2,
        head_dim=HEAD,
        max_position_embeddings=4096,
        tie_word_embeddings=True,
    )
    model = transformers.Qwen3ForCausalLM(config)
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return int(sum(parameter.numel() for parameter in model.parameters()))


def _make_adapter(folder: Path, seed: int) -> Path:
    import torch
    from safetensors.torch import save_file

    folder.mkdir()
    config = {"peft_type": "LORA", "r": RANK, "lora_alpha": RANK}
    (folder / "adapter_config.json").write_text(json.dumps(config))
    torch.manual_seed(seed)
    inner, keys = HEADS * HEAD, HEADS // 2 * HEAD
    shapes = {
        "self_attn.q_proj": (HIDDEN, inner),
        "self_attn.k_proj": (HIDDEN, keys),
        "self_attn.v_proj": (HIDDEN, keys),
        "self_attn.o_proj": (inner, HIDDEN),
        "mlp.gate_proj": (HIDDEN, FEED),
        "mlp.up_proj": (HIDDEN, FEED),
        "mlp.down_proj": (FEED, HIDDEN),
    }
    weights = {}
    for layer in range(LAYERS):
        for name, (wide, out) in shapes.items():
            path = f"base_model.model.model.layers.{layer}.{name}"
            weights[f"{path}.lora_A.weight"] = torch.randn(RANK, wide) * 0.05
            weights[f"{path}.lora_B.weight"] = torch.randn(out, RANK) * 0.05
    save_file(weights, folder / "adapter_model.safetensors")
    return folder
