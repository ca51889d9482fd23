"""The embedded engine keeps the contract of engines."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from engine_contract import CONTEXT, EngineContract, Served, make_material, opened

from harness_adapters.serve.engine import Hosting

pytestmark = [pytest.mark.xdist_group("embedded-contract"), pytest.mark.timeout(600)]


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    material = make_material(tmp_path_factory.mktemp("models"))
    hosting = Hosting(context=CONTEXT, requests=4, rank=16)
    with opened(f"embedded:{material.model}", hosting=hosting) as engine:
        yield Served(engine=engine, material=material)


class TestEmbedded(EngineContract):
    pass
