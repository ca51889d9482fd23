"""vLLM keeps the contract of engines: a real one, on this machine's CPU."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from engine_contract import CONTEXT, EngineContract, Served, make_material, opened

from harness_adapters.errors import MissingPrerequisite
from harness_adapters.serve.engine import Hosting
from harness_adapters.serve.vllm.flags import vllm_python

pytestmark = [pytest.mark.full, pytest.mark.xdist_group("vllm"), pytest.mark.timeout(3000)]

FLAGS = ("--dtype", "float32", "--enforce-eager")


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    try:
        vllm_python()
    except MissingPrerequisite as missing:
        pytest.skip(str(missing))
    material = make_material(tmp_path_factory.mktemp("models"))
    hosting = Hosting(context=CONTEXT, requests=4, rank=16, vllm_flags=FLAGS)
    with opened(f"vllm:{material.model}", hosting=hosting) as engine:
        yield Served(engine=engine, material=material)


class TestVllm(EngineContract):
    pass
