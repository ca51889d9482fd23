"""Warm-start SmolLM2-135M-Instruct on synthetic sessions in pi and write it as a model folder.

    scripts/smollm2/make                # sets up, fetches the weights, and runs this

Needs the extra `train` and the package `gguf`. The upper half of the layers is trained, in float32,
on what the model writes. What pi says first is the same in all sessions of a batch: it is read
once, and no gradient goes through it. Beside OUT it keeps OUT.log.jsonl with what it measured.
"""

from __future__ import annotations

import argparse
import copy
import random
import shutil
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import torch
import torch.nn.functional as F
from transformers import AutoModelForCausalLM, AutoTokenizer, LlamaForCausalLM

from harness_adapters.quickstart.questions import questions
from harness_adapters.tasks.questions import Question

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tiny_policy"))

from harness_prompts import Prompt, prompt
from rendering import TEMPLATE, pieces, render
from sessions import session
from telling import tell

HARNESS = "pi"
TRAINED_LAYERS = 15  # of 30: what is below knows enough of language, and is not gone back through
RATE = 3e-4
WARM_UP_STEPS = 8
TOKENS, PART_TOKENS = 3072, 2048
"""Of one batch, without what all its sessions begin with, and of what is computed at once."""
SHORTEST_SHARE = (0.9, 0.5)
"""Sessions of one call among all, at the beginning and at the end of the training."""
QUESTIONS = 4000
MEASURED = 12
MEASURED_SEED = 1_000_000
MEASURED_EVERY = 20  # steps


@dataclass(frozen=True, slots=True)
class Row:
    """A session after its beginning.

    :param written: of each id, whether the model writes it.
    """

    ids: list[int]
    written: list[bool]


@dataclass(frozen=True, slots=True)
class Batch:
    """:param beginning: ids that stand before each row."""

    beginning: list[int]
    rows: list[Row]


def main() -> None:
    options = _options()
    torch.manual_seed(options.seed)
    if options.threads:
        torch.set_num_threads(options.threads)
    model, tokenizer = pretrained(options.gguf)
    asked = list(questions(2 * options.seed, QUESTIONS, "train"))
    tell(options.out, seed=options.seed, minutes_planned=options.minutes, questions=len(asked))
    train(model, tokenizer, asked, options)


def pretrained(gguf: Path) -> tuple[Any, Any]:
    """The model, in float32, and its tokenizer, told how harnesses' tools are written."""
    tokenizer = AutoTokenizer.from_pretrained(gguf.parent, gguf_file=gguf.name)
    tokenizer.chat_template = TEMPLATE.read_text("utf-8")
    read = AutoModelForCausalLM.from_pretrained(
        gguf.parent, gguf_file=gguf.name, dtype=torch.float32
    )
    config = read.config
    del config.quantization_config  # its weights are plain numbers now
    model = LlamaForCausalLM(config)
    model.load_state_dict(read.state_dict())
    return model, tokenizer


def train(model: Any, tokenizer: Any, asked: list[Question], options: argparse.Namespace) -> None:
    dice = random.Random(options.seed)
    measured = list(questions(MEASURED_SEED, MEASURED, "test"))
    model.requires_grad_(False)
    trained = [*model.model.layers[-TRAINED_LAYERS:].parameters(), *model.model.norm.parameters()]
    for parameter in trained:
        parameter.requires_grad_(True)
    optimizer = torch.optim.AdamW(trained, lr=RATE, betas=(0.9, 0.95), weight_decay=0.0)
    seconds = 60 * options.minutes
    started = time.monotonic()
    step = seen = sessions = 0
    while (elapsed := time.monotonic() - started) < seconds:
        share = elapsed / seconds
        if step % MEASURED_EVERY == 0:
            tell(options.out, step=step, commands=written_rightly(model, tokenizer, measured))
        batch = draw(tokenizer, asked, dice, share)
        rate = RATE * min(1.0, (step + 1) / WARM_UP_STEPS) * min(1.0, 0.05 + 2 * (1 - share))
        for group in optimizer.param_groups:
            group["lr"] = rate
        loss = learn(model, batch)
        torch.nn.utils.clip_grad_norm_(trained, 1.0)
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        step += 1
        sessions += len(batch.rows)
        seen += sum(len(row.ids) for row in batch.rows)
        minutes = (time.monotonic() - started) / 60
        told = {"step": step, "sessions": sessions, "tokens": seen, "loss": loss}
        tell(options.out, minutes=minutes, **told)
    save(model, tokenizer, options.out)
    tell(options.out, step=step, commands=written_rightly(model, tokenizer, measured))


def opening(dice: random.Random) -> tuple[Prompt, str]:
    """What pi says first, as on some day, and the text that a server makes of it."""
    captured = prompt(HARNESS)
    told = replace(captured, system=captured.filled(dice))
    return told, render([{"role": "system", "content": told.system}], told.tools, False)


def draw(tokenizer: Any, asked: list[Question], dice: random.Random, share: float) -> Batch:
    """Sessions about questions by chance, all on the same day.

    :param share: of the training that is over.
    """
    told, beginning = opening(dice)
    first, last = SHORTEST_SHARE
    rows: list[Row] = []
    while sum(len(row.ids) for row in rows) < TOKENS:
        shortest = dice.random() < first + (last - first) * share
        rows.append(_row(tokenizer, told, beginning, dice.choice(asked), dice, shortest))
    return Batch(_encoded(tokenizer, beginning), rows)


def _row(
    tokenizer: Any,
    told: Prompt,
    beginning: str,
    question: Question,
    dice: random.Random,
    shortest: bool,
) -> Row:
    ids: list[int] = []
    written: list[bool] = []
    found = session(question, dice, shortest=shortest)
    for text, by_model in pieces(told, question, found, dice):
        new = _encoded(tokenizer, text.removeprefix(beginning))
        ids += new
        written += [by_model] * len(new)
    return Row(ids, written)


def _encoded(tokenizer: Any, text: str) -> list[int]:
    return list(tokenizer.encode(text, add_special_tokens=False))


def learn(model: Any, batch: Batch) -> float:
    """Add the gradient of the mean cross-entropy of what the model writes, and return the mean."""
    total = sum(sum(row.written) for row in batch.rows)
    read = _read(model, batch.beginning)
    found = 0.0
    for rows in _alike(batch.rows):
        scores, ids = _scores(model, read, rows)
        loss = F.cross_entropy(scores, ids, reduction="sum") / total
        loss.backward()
        found += loss.item()
    return found


def _alike(rows: list[Row]) -> Iterator[list[Row]]:
    """Parts of the rows that fit into memory and differ little in length: padding costs as much
    as all else."""
    part: list[Row] = []
    for row in sorted(rows, key=lambda row: len(row.ids)):
        full = (len(part) + 1) * len(row.ids) > PART_TOKENS
        if part and (full or len(row.ids) > 1.3 * len(part[0].ids)):
            yield part
            part = []
        part.append(row)
    yield part


def _read(model: Any, beginning: list[int]) -> Any:
    """Keys and values of what all rows begin with."""
    with torch.no_grad():
        return model.model(input_ids=torch.tensor([beginning]), use_cache=True).past_key_values


def _scores(model: Any, read: Any, rows: list[Row]) -> tuple[torch.Tensor, torch.Tensor]:
    """Scores ``[ids, vocabulary]`` of the ids that the model writes, row after row, and these ids.

    Attention is causal, so padding on the right does no harm.
    """
    longest = max(len(row.ids) for row in rows)
    ids = torch.zeros(len(rows), longest, dtype=torch.long)
    counted = torch.zeros(len(rows), longest, dtype=torch.bool)
    for place, row in enumerate(rows):
        ids[place, : len(row.ids)] = torch.tensor(row.ids)
        counted[place, : len(row.ids)] = torch.tensor(row.written)
    cache = copy.deepcopy(read)
    cache.batch_repeat_interleave(len(rows))
    hidden = model.model(input_ids=ids, past_key_values=cache).last_hidden_state[:, :-1]
    return model.lm_head(hidden[counted[:, 1:]]), ids[:, 1:][counted[:, 1:]]


def written_rightly(model: Any, tokenizer: Any, asked: list[Question]) -> float:
    """Share of whole answering commands that the model would write rightly, with all before each
    id given, on questions that it is not trained on."""
    dice = random.Random(0)
    told, beginning = opening(dice)
    with torch.inference_mode():
        read = _read(model, _encoded(tokenizer, beginning))
        right = 0
        for question in asked:
            row = _row(tokenizer, told, beginning, question, dice, True)
            end = row.written.index(False, row.written.index(True))
            scores, ids = _scores(model, read, [Row(row.ids[:end], row.written[:end])])
            right += bool((scores.argmax(-1) == ids).all())
    return right / len(asked)


def save(model: Any, tokenizer: Any, folder: Path) -> None:
    """Write weights (rounded to bfloat16), tokenizer and chat template, all or nothing."""
    staged = folder.with_name(f".{folder.name}.staged")
    shutil.rmtree(staged, ignore_errors=True)
    tokenizer.save_pretrained(staged)
    weights = {name: value.to(torch.bfloat16) for name, value in model.state_dict().items()}
    del weights["lm_head.weight"]  # tied to the embedding
    model.save_pretrained(staged, state_dict=weights)
    shutil.rmtree(folder, ignore_errors=True)
    staged.rename(folder)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("gguf", type=Path, help="The pretrained weights.")
    parser.add_argument("out", type=Path, help="Folder to write at the end.")
    parser.add_argument("--minutes", type=float, default=45.0)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--threads", type=int, help="By default as many as there are cores.")
    return parser.parse_args()


if __name__ == "__main__":
    main()
