"""What docs/gpu.md tells people to type: every flag and argument is one that its program takes."""

from __future__ import annotations

import dataclasses
import json
import re
import shlex
import subprocess
import sys
from pathlib import Path

import click
import peft
import pytest

from harness_adapters import cli
from harness_adapters.errors import MissingPrerequisite
from harness_adapters.serve.vllm.flags import Options, flags, vllm_python
from harness_adapters.train.arguments import lora_config, trainer_config
from harness_adapters.train.recipe import load_recipe
from harness_adapters.train.recipe_file import shipped_recipes
from harness_adapters.train.trl_seam import Config

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "gpu.md").read_text()
BY_DEVICE = {"bf16", "use_cpu"}
"""Arguments of TRL's config that depend on the machine, not on the recipe."""


def commands(page: str, program: str) -> list[list[str]]:
    """The words of each command of a program in the page's shell blocks, without the program."""
    found = []
    for block in re.findall(r"```sh\n(.*?)```", page, re.S):
        for line in block.replace("\\\n", " ").splitlines():
            words = shlex.split(line, comments=True)
            while words and re.fullmatch(r"[A-Z_]+=\S*", words[0]):
                words.pop(0)
            if words[: len(program.split())] == program.split():
                found.append(words[len(program.split()) :])
    return found


SERVE = commands(PAGE, "vllm serve")
HA = [
    pytest.param(words, id=f"{page.stem}-{number}")
    for page in (ROOT / "docs" / "gpu.md", ROOT / "docs" / "recipes.md")
    for number, words in enumerate(commands(page.read_text(), "ha"))
]

PARSE = """
import json, sys
from vllm.utils.argparse_utils import FlexibleArgumentParser
try:
    from vllm.entrypoints.launchers.cli_args import make_arg_parser
except ImportError:
    from vllm.entrypoints.openai.cli_args import make_arg_parser
from vllm.tool_parsers import ToolParserManager

parser = make_arg_parser(FlexibleArgumentParser())
known = set(ToolParserManager.list_registered())
for words in json.load(sys.stdin):
    given = parser.parse_args(words)
    assert given.logprobs_mode == "processed_logprobs", words
    assert given.enable_lora and given.max_lora_rank == 32, words
    assert given.tool_call_parser is None or given.tool_call_parser in known, words
print("parsed")
"""


@pytest.mark.full
@pytest.mark.timeout(900)
def test_vllm_takes_every_flag() -> None:
    """Of the page, and of those that we start it with: read by vLLM's own parser."""
    try:
        python = vllm_python()
    except MissingPrerequisite as missing:
        pytest.skip(str(missing))
    ours = flags(Options(model="org/tiny", name="tiny", rank=32, context=4096), port=8000)
    done = subprocess.run(
        [python, "-c", PARSE],
        input=json.dumps([*SERVE, ours]),
        capture_output=True,
        text=True,
    )
    assert done.stdout.splitlines()[-1:] == ["parsed"], done.stderr[-3000:]


def test_the_page_serves_as_we_do() -> None:
    """Whoever starts vLLM by hand gives it what ``--engine vllm`` gives it."""
    ours = flags(Options(model="org/tiny", name="tiny", rank=32, context=4096), port=8000)
    needed = {word for word in ours if word.startswith("--")}
    needed -= {"--model", "--no-enable-log-requests"}
    assert len(SERVE) == 4
    for words in SERVE:
        assert needed <= set(words), sorted(needed - set(words))


@pytest.mark.filterwarnings("ignore::FutureWarning")  # TRL 1.15 has no other name for one of them
@pytest.mark.parametrize("name", shipped_recipes())
def test_trl_and_peft_take_every_argument(name: str, tmp_path: Path) -> None:
    recipe = load_recipe(name)
    given = trainer_config(recipe, run="run", folder=tmp_path)
    known = {field.name for field in dataclasses.fields(Config)}
    assert set(given) <= known
    config = Config(**given, use_cpu=True, bf16=False)
    assert config.max_steps == recipe.steps
    assert config.token_budget == recipe.optimizer.token_budget
    assert config.learning_rate == recipe.optimizer.learning_rate
    assert config.gradient_accumulation_steps == recipe.optimizer.micro_batches
    lora = peft.LoraConfig(**lora_config(recipe))
    assert (lora.r, lora.lora_alpha) == (recipe.lora.rank, recipe.lora.alpha)


def test_the_page_lists_every_argument_of_trl() -> None:
    table = PAGE.split("## What TRL is told")[1]
    rows = re.findall(r"^\| (`.*?`) \|", table, re.M)
    listed = {name for row in rows for name in re.findall(r"`(\w+)`", row)}
    recipe = load_recipe("cpu")
    assert listed == set(trainer_config(recipe, run="run", folder=Path())) | BY_DEVICE
    last = table.split("`peft.LoraConfig`")[1]
    assert set(re.findall(r"`(\w+)`", last)) - {"lora"} == set(lora_config(recipe))


@pytest.mark.parametrize("words", HA)
def test_our_own_commands_take_every_option(words: list[str]) -> None:
    command: click.Command | None = cli.command
    while isinstance(command, click.Group):
        name = words[0]
        command, words = command.get_command(click.Context(command), name), words[1:]
        assert command is not None, name
    assert command is not None
    known = {option for one in command.params for option in one.opts}
    for word in words:
        assert not word.startswith("-") or word in known, word


def test_hugging_face_jobs_take_every_option() -> None:
    (words,) = commands(PAGE, "hf jobs run")
    hf = Path(sys.executable).parent / "hf"
    done = subprocess.run([hf, "jobs", "run", "--help"], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    ours = words[: next(i for i, word in enumerate(words) if word.startswith("pytorch/"))]
    for word in ours:
        if word.startswith("--"):
            assert re.search(rf"{word}\b", done.stdout), word
    assert ours[ours.index("--flavor") + 1] in done.stdout
