"""Whatever a request says: it is read or refused, and never an error of ours."""

from __future__ import annotations

from typing import Any

import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.core.gateway.interactive.test_fuzz import mutated
from tests.core.gateway.wires import DIALECTS, Dialect

from harness_adapters.gateway import server
from harness_adapters.gateway.completions import engine_body
from harness_adapters.gateway.dialects import base
from harness_adapters.gateway.failures import Refused
from harness_adapters.types import Limits, Sampling

READERS: dict[str, base.Dialect] = {
    "chat": server.CHAT,
    "messages": server.MESSAGES,
    "responses": server.RESPONSES,
}


def read(name: str, body: Any) -> None:
    request = READERS[name].read(orjson.dumps(body))
    engine_body(request, model="m", sampling=Sampling(), limits=Limits())


@pytest.mark.parametrize("wire", DIALECTS, ids=str)
@given(st.data())
@settings(max_examples=60)
def test_it_is_read_or_refused(wire: Dialect, data: st.DataObject) -> None:
    try:
        read(str(wire), mutated(wire.ask(), data))
    except Refused:
        pass


def test_a_part_whose_type_is_no_text() -> None:
    """Found by fuzzing: it was looked up in a dict."""
    content = [{"type": [], "text": "x"}, {"type": "input_text", "text": "go"}]
    item = {"type": "message", "role": "user", "content": content}
    read("responses", {"model": "m", "input": [item]})
