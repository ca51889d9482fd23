#!/usr/bin/env python3
"""Train the tiny policy on synthetic sessions and write it as a model folder.

    scripts/tiny_policy/train.py OUT --minutes 30

Needs the extra `train`. It sees tables and combinations of the train split only. Three stages:
random names said twice, which teach it to copy; the one command that answers a question; whole
sessions of every length. Watch the share of names copied rightly, not the loss: the rest is easy.
Beside OUT it keeps OUT.log.jsonl with what it measured.
"""

from __future__ import annotations

import argparse
import random
import time
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

import torch
import torch.nn.functional as F
from batches import SessionBatches, padded, repeated_names
from copying import copied
from dataset import Encoder, Example
from harness_prompts import HARNESSES
from policy_model import load, new_model, save
from telling import tell
from tokenizers import Tokenizer
from vocabulary import build, names, numbers

from harness_adapters.quickstart.questions import questions
from harness_adapters.tasks.questions import Question

EMBEDDING_RATE, MATRIX_RATE = 4e-3, 0.02  # of AdamW for embeddings and norms, of Muon for the rest
NAMES_UNTIL, SHORTEST_UNTIL = 0.04, 0.30  # shares of the time at which the first two stages end
SHORTEST_EVERY = 3  # batches in the last stage
FALLING_FROM = 0.5  # share of the time from which the rates fall
WARM_UP_STEPS = 50
TOLD_SECONDS, SAVED_SECONDS = 30.0, 120.0
MEASURED = 96
MEASURED_SEED = 1_000_000


def main() -> None:
    options = _options()
    torch.manual_seed(options.seed)
    torch.set_num_threads(options.threads)
    asked = _questions(options.seed, options.questions)
    if options.begin:
        tokenizer = Tokenizer.from_file(str(options.begin / "tokenizer.json"))
        model = load(options.begin)
    else:
        tokenizer = build(asked[:2000])
        model = new_model(tokenizer)
    parameters = sum(parameter.numel() for parameter in model.parameters())
    tell(
        options.out,
        seed=options.seed,
        questions=len(asked),
        parameters=parameters,
        vocabulary=tokenizer.get_vocab_size(),
        begun_with=None if options.begin is None else options.begin.name,
    )
    train(model, tokenizer, asked, options)


def train(
    model: Any, tokenizer: Tokenizer, asked: list[Question], options: argparse.Namespace
) -> None:
    dice = random.Random(options.seed)
    vocabulary = tokenizer.get_vocab()
    encoder = Encoder(tokenizer, {vocabulary[name] for name in names()})
    copyable = [vocabulary[word] for word in (*names(), *numbers())]
    sessions = SessionBatches(encoder, asked, dice)
    measured = list(questions(MEASURED_SEED, MEASURED, "test"))
    optimizers = _optimizers(model)
    seconds = 60 * options.minutes
    skipped = SHORTEST_UNTIL if options.begin else 0.0
    started = time.monotonic()
    told = saved = 0.0
    step = seen = 0
    while (elapsed := time.monotonic() - started) < seconds:
        share = skipped + (1 - skipped) * elapsed / seconds
        if share < NAMES_UNTIL:
            batch = repeated_names(copyable, dice, step)
        else:
            again = step % SHORTEST_EVERY == 0  # or copying would suffer
            batch = sessions.next(shortest=share < SHORTEST_UNTIL or again)
        _set_rates(optimizers, step, share)
        loss = loss_of(model, batch)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        for optimizer, _ in optimizers:
            optimizer.step()
            optimizer.zero_grad(set_to_none=True)
        step += 1
        seen += sum(len(example.ids) for example in batch)
        if elapsed - told > TOLD_SECONDS:
            told = elapsed
            found: dict[str, Any] = {}
            if elapsed - saved > SAVED_SECONDS:
                saved = elapsed
                found = copied(model, encoder, measured, HARNESSES[0])._asdict()
                save(model, tokenizer, options.out)
            minutes = round(elapsed / 60, 2)
            tell(options.out, minutes=minutes, step=step, tokens=seen, loss=loss.item(), **found)
    save(model, tokenizer, options.out)
    for harness in HARNESSES:
        found = copied(model, encoder, measured, harness)._asdict()
        tell(options.out, harness=harness, step=step, tokens=seen, **found)


def loss_of(model: Any, batch: list[Example]) -> torch.Tensor:
    """Weighted mean cross-entropy; attention is causal, so padding on the right does no harm."""
    ids, weights = padded(batch)
    hidden = model.model(input_ids=ids).last_hidden_state[:, :-1]
    counted = weights[:, 1:] > 0
    each = F.cross_entropy(model.lm_head(hidden[counted]), ids[:, 1:][counted], reduction="none")
    weight = weights[:, 1:][counted]
    return (each * weight).sum() / weight.sum()


def _optimizers(model: Any) -> list[tuple[torch.optim.Optimizer, float]]:
    """Each with its full rate."""
    matrices = [p for name, p in model.named_parameters() if p.ndim == 2 and "embed" not in name]
    others = [p for name, p in model.named_parameters() if p.ndim != 2 or "embed" in name]
    adamw = torch.optim.AdamW(others, lr=EMBEDDING_RATE, betas=(0.9, 0.95), weight_decay=0.0)
    muon = torch.optim.Muon(matrices, lr=MATRIX_RATE, momentum=0.95, weight_decay=0.0, ns_steps=4)
    return [(adamw, EMBEDDING_RATE), (muon, MATRIX_RATE)]


def _set_rates(
    optimizers: list[tuple[torch.optim.Optimizer, float]], step: int, share: float
) -> None:
    rising = min(1.0, (step + 1) / WARM_UP_STEPS)
    falling = min(1.0, max(0.03, (1 - share) / (1 - FALLING_FROM)))
    for optimizer, rate in optimizers:
        for group in optimizer.param_groups:
            group["lr"] = rate * rising * falling


def _questions(seed: int, count: int) -> list[Question]:
    """Made by two processes; which of them makes which does not matter."""
    parts = [(2 * seed + part, count // 2) for part in range(2)]
    with ProcessPoolExecutor(len(parts)) as pool:
        made = pool.map(_some, parts)
        return [question for part in made for question in part]


def _some(part: tuple[int, int]) -> list[Question]:
    return list(questions(*part, "train"))


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("out", type=Path, help="Folder to write; replaced if it is there.")
    parser.add_argument("--minutes", type=float, default=30.0)
    parser.add_argument(
        "--questions", type=int, default=12_000, help="Made before the clock starts."
    )
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument(
        "--begin", type=Path, help="Weights to begin with, at the stage of whole sessions."
    )
    parser.add_argument("--threads", type=int, default=1)
    return parser.parse_args()


if __name__ == "__main__":
    main()
