"""Can adapters be loaded while the engine runs? Training publishes each version that way."""

from __future__ import annotations

from harness_adapters.doctor.line import Line, ok, warn
from harness_adapters.doctor.probe import EngineProbe

ROUTES = ("/v1/load_lora_adapter", "/v1/unload_lora_adapter")
ABSENT = (404, 405, 501)
FIX = "only training needs it: start vLLM with --enable-lora and VLLM_ALLOW_RUNTIME_LORA_UPDATING=1"


async def check(engine: EngineProbe) -> list[Line]:
    """Empty requests: a route that is there refuses them, and nothing changes."""
    missing = [route for route in ROUTES if (await engine.post(route, {}))[0] in ABSENT]
    if missing:
        return [warn(f"no route {' and '.join(missing)}", FIX)]
    return [ok("LoRA adapters can be loaded and unloaded while it runs")]
