"""Which runs may be compared, and which field is named where they may not."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from run_folders import manifest

from harness_adapters import BadInput
from harness_adapters.evaluation.likeness import notes, require_alike

RUN = Path("runs/adapter")


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"tasks": {"t": "1" * 64}}, "tasks.t"),
        ({"harness": "opencode"}, "harness: 'pi' against 'opencode'"),
        ({"harness_version": "0.74.0"}, "harness_version"),
        (
            {"limits": {"default": {"session_seconds": 60.0, "max_requests": 20}}},
            "limits.default.session_seconds",
        ),
        ({"sampling": {"temperature": 1.0}}, "sampling.temperature: 0.8 against 1.0"),
        ({"template": "other"}, "template"),
        ({"sandbox": "process"}, "sandbox"),
        ({"policy": "other"}, "policy"),
        ({"attempts": 4}, "attempts: 1 against 4"),
        ({"infra_retries": 0}, "infra_retries"),
        ({"version": "0.2.0"}, "version"),
        ({"components": [{"kind": "guard", "name": "tamper"}]}, "components"),
        ({"component_options": {"guards": {"tamper": {}}}}, "component_options"),
        ({"engine": {"name": "scripted:oracle"}}, "engine.kind: 'url' against 'scripted'"),
        ({"engine": {"name": "http://127.0.0.1:8000", "owned_by": "vllm"}}, "engine.owned_by"),
    ],
)
def test_unlike_runs_are_refused_and_the_field_is_named(
    changes: dict[str, Any], field: str
) -> None:
    with pytest.raises(BadInput) as refused:
        require_alike(manifest(), manifest(**changes), RUN)
    assert field in str(refused.value) and "runs/adapter" in str(refused.value)


def test_the_model_is_what_is_compared() -> None:
    url = "http://127.0.0.1:8000"
    base = manifest(engine={"name": url, "url": url, "root": "m", "max_model_len": 4096})
    adapter = manifest(
        model="m.pi.01J.v1",
        engine={"name": url, "url": url, "root": "/adapters/v1", "parent": "m"},
    )
    require_alike(base, adapter, RUN)
    assert notes(base, adapter) == []


def test_plays_of_the_scripted_engine_are_models_too() -> None:
    def play(name: str) -> dict[str, str]:
        return {"name": f"scripted:{name}", "play": name, "version": "0.1.0"}

    require_alike(manifest(engine=play("wasteful")), manifest(engine=play("oracle")), RUN)


def test_facts_about_the_invocation_may_differ() -> None:
    other = manifest(created="2026-02-02T00:00:00Z", host={"python": "3.13"}, concurrency=1)
    require_alike(manifest(), other, RUN)


def test_another_address_is_allowed_but_said() -> None:
    other = manifest(engine={"name": "http://127.0.0.1:9", "url": "http://127.0.0.1:9"})
    require_alike(manifest(), other, RUN)
    assert "is it one engine?" in notes(manifest(), other)[0]


def test_a_harness_or_guards_can_be_what_is_compared() -> None:
    other = manifest(harness="opencode", harness_version="1.2", components=[{"name": "opencode"}])
    require_alike(manifest(), other, RUN, vary=["harness"])
    require_alike(manifest(), manifest(policy="none"), RUN, vary=["guards"])
    with pytest.raises(BadInput, match="policy"):
        require_alike(manifest(), manifest(policy="none"), RUN, vary=["harness"])
    with pytest.raises(BadInput, match="cannot vary 'sandbox'; one of harness, guards"):
        require_alike(manifest(), other, RUN, vary=["sandbox"])
