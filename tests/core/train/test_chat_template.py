"""Which templates keep what was said, and what is served instead of one that does not."""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = [pytest.mark.timeout(900)]

# a template is looked at by rendering it, which loads transformers: in a process of its own, so
# that its warnings are no failures here
SCRIPT = """
import json, sys
from pathlib import Path
import transformers
from harness_adapters.errors import BadInput
from harness_adapters.train.chat_template import keeping_folder, keeps_prefixes

model, qwen3 = sys.argv[1:]
tokenizer = transformers.PreTrainedTokenizerFast.from_pretrained(model)
found = {"chatml": keeps_prefixes(tokenizer), "same": keeping_folder(model, Path("served"))}
for name, template in {"qwen3": Path(qwen3).read_text(), "odd": __ODD__}.items():
    tokenizer.chat_template = template
    tokenizer.save_pretrained(model)
    found[name] = keeps_prefixes(tokenizer)
    try:
        served = keeping_folder(model, Path("served"))
        kept = transformers.PreTrainedTokenizerFast.from_pretrained(served)
        found[name + " served"] = keeps_prefixes(kept)
        found["files"] = sorted(path.name for path in served.iterdir())
        found["name"] = served.name
    except BadInput as error:
        found[name + " refused"] = str(error)
print(json.dumps(found))
"""
ODD = "{% for m in messages %}{{ m.content if loop.last else '...' }}{% endfor %}"


def test_a_template_that_drops_thinking_is_replaced_by_one_that_keeps_it(tmp_path: Path) -> None:
    from tiny_models import tiny_model

    model = tiny_model(tmp_path / "tiny-thinker")
    spec = importlib.util.find_spec("trl")
    assert spec is not None and spec.origin is not None
    qwen3 = Path(spec.origin).parent / "chat_templates" / "qwen3.jinja"
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", SCRIPT.replace("__ODD__", repr(ODD)), model, qwen3],
        cwd=tmp_path,
        env={**os.environ, "HF_HUB_OFFLINE": "1"},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout.splitlines()[-1])
    assert found["chatml"] is True and found["same"] is None, "nothing to replace"
    assert found["qwen3"] is False, "thinking of earlier turns is dropped"
    assert found["qwen3 served"] is True
    assert found["name"] == "tiny-thinker", "an engine names its model by the folder"
    assert {"config.json", "model.safetensors", "chat_template.jinja"} <= set(found["files"])
    assert found["odd"] is False and "keep_thinking" in found["odd refused"]


@pytest.mark.parametrize("keep", [[True, False]])
def test_one_engine_has_one_template(keep: list[bool], tmp_path: Path) -> None:
    from harness_adapters.errors import BadInput
    from harness_adapters.serve.engine import parse_engine
    from harness_adapters.train.recipe import make_recipe
    from harness_adapters.train.wanted import keeping_thinking, wanted_runs

    recipes = [
        make_recipe(
            {"model": "m", "harness": "pi", "steps": 1, "rollouts": {"keep_thinking": value}}
        )
        for value in keep
    ]
    wanted = wanted_runs(recipes, out=tmp_path, steps=None, resume=False)
    with pytest.raises(BadInput, match="the same in all recipes"):
        keeping_thinking([parse_engine("embedded:m")], wanted)
