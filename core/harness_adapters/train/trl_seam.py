"""TRL's trainer with our rollout worker, our adapter versions and our records.

This is the only module that imports TRL; what differs between its versions stands in the class of
each version at the end. What TRL offers for this is used: a rollout worker and a weight-sync
backend are handed in, metrics go through the worker's queue. Three things have no such place and
are overridden, each in one method that calls TRL's own where there is one:

* ``_sync_weight``: TRL merges the LoRA into the base weights or pauses the server. Here a version
  is published, and nothing stops.
* ``_save_checkpoint``: TRL writes a checkpoint where a kill can tear it.
* ``get_train_dataloader``: accelerate fetches a batch ahead, so that what is trained is a version
  older than TRL's staleness says. With one process there is nothing to dispatch, and no need to.
"""

from __future__ import annotations

import math
import os
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any, Protocol

os.environ.setdefault("TRL_EXPERIMENTAL_SILENCE", "1")

import numpy as np
import torch
import trl.experimental.async_grpo.async_grpo_trainer as trl_trainer
from torch.utils.data import DataLoader
from trl.experimental.async_grpo import AsyncGRPOConfig, AsyncGRPOTrainer
from trl.experimental.async_grpo.async_rollout_worker import RolloutSample

from harness_adapters.errors import HarnessAdaptersError, MissingPrerequisite
from harness_adapters.train.canary import Expectation
from harness_adapters.train.groups import TrainRow
from harness_adapters.train.packed import (
    PlainHead,
    keep_convolutions_apart,
    packed_attention,
    varlen_attention,
)

Config = AsyncGRPOConfig
Metric = float | tuple[float, float]

PROOF_CHANGE = 0.1
"""By how much a proof adapter changes some logprob of the probe at least."""


class NotFinite(HarnessAdaptersError):
    """A loss or a gradient is no number: the adapter in memory is spoilt, the last checkpoint is
    not."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainedRow:
    """A row that went through the model in this step.

    :ivar late: the batcher held it over until it was too old; it had advantage 0.
    """

    row: TrainRow
    late: bool


class Hooks(Protocol):
    """What the run does at the points of TRL's loop. All are called in the trainer's thread."""

    staging: Path

    def publish(self, trainer: Trainer, step: int) -> None:
        """A new policy is there: the first, or that of a step whose checkpoint is safe."""
        ...

    def stepped(self, step: int, rows: Sequence[TrainedRow], metrics: dict[str, float]) -> None: ...

    def step_metrics(self, step: int, rows: Sequence[TrainedRow]) -> dict[str, Metric]: ...

    def checkpointed(self, staged: Path, step: int) -> None: ...


class _NoTransfer:
    """TRL's weight-sync backend, with nothing to do."""

    def init_weight_transfer(self) -> None: ...
    def pause(self) -> None: ...
    def send_weights(self, iterator: Iterator[tuple[str, Any]]) -> None: ...
    def resume(self) -> None: ...
    def destroy(self) -> None: ...


class _Metrics(dict[str, float]):
    """A sample's metrics, the one field that TRL hands on as it is up to the collator. It carries
    the row, so that each step knows which rows it trained."""

    row: TrainRow


class Trainer(AsyncGRPOTrainer):  # type: ignore[misc]
    """``AsyncGRPOTrainer`` for one LoRA; made by ``make_trainer``."""

    def __init__(self, *, hooks: Hooks, **given: Any) -> None:
        self._hooks = hooks
        self._collated: deque[list[TrainedRow]] = deque()
        self._number_collated = 0
        self._in_step: list[TrainedRow] = []
        super().__init__(weight_transfer=_NoTransfer(), **given)
        self._first_step = 0
        if not _count_flops(self.model.config.get_text_config(), 1):
            self._peak_flops_per_device = None  # no utilisation rather than a wrong one

    # --- versions ---------------------------------------------------------------------------------

    def _sync_weight(self) -> None:
        """TRL calls it when training begins; afterwards versions follow their checkpoints."""
        self._first_step = self.state.global_step
        self._publish()

    def _publish(self) -> None:
        step = self.state.global_step
        self._hooks.publish(self, step)
        self.model_version = step
        self.rollout_worker.update_model_version(step)

    def _get_output_dir(self, trial: Any) -> str:
        return str(self._hooks.staging)

    def _save_checkpoint(self, model: Any, trial: Any) -> None:
        del self.state.log_history[:-1]  # steps.log has it: a checkpoint must not grow with time
        super()._save_checkpoint(model, trial)
        step = self.state.global_step
        self._hooks.checkpointed(self._hooks.staging / f"checkpoint-{step}", step)
        self._publish()

    def save_adapter(self, folder: Path) -> None:
        """The LoRA in PEFT's own files."""
        model = self.accelerator.unwrap_model(self.model)
        trl_trainer.save_lora_adapter(model, self.accelerator, self._adapter_name, str(folder))

    # --- which rows are trained -------------------------------------------------------------------

    def get_train_dataloader(self) -> Any:
        prepared = super().get_train_dataloader()
        collate = self._noting(prepared.collate_fn)
        if self.accelerator.num_processes > 1:
            prepared.collate_fn = collate
            return prepared
        return DataLoader(prepared.dataset, batch_size=1, collate_fn=collate)

    def _noting(self, collate: Callable[[list[Any]], Any]) -> Callable[[list[Any]], Any]:
        """Note the rows of each micro-batch. One that the batcher held over until it was too old
        for the step that it comes into loses its say."""

        def noting(examples: list[Any]) -> Any:
            steps_ahead = self._number_collated // self.args.gradient_accumulation_steps
            self._number_collated += 1
            policy = self._first_step + steps_ahead
            noted = []
            for packed in examples[0]:
                for sample in getattr(packed, "samples", packed):
                    row: TrainRow = sample["metrics"].row
                    late = policy - row.group_step > self.args.max_staleness
                    if late:
                        sample["advantage"] = 0.0
                    noted.append(TrainedRow(row=row, late=late))
            self._collated.append(noted)
            return collate(examples)

        return noting

    def training_step(self, *args: Any, **given: Any) -> Any:
        self._in_step += self._collated.popleft()
        return super().training_step(*args, **given)

    def log(self, logs: dict[str, float], *args: Any, **given: Any) -> None:
        rows, self._in_step = self._in_step, []
        step = self.state.global_step
        if rows:
            for name in ("loss", "grad_norm"):
                if not math.isfinite(logs.get(name, 0.0)):
                    raise NotFinite(f"step {step}: {name} is {logs[name]}; go on with --resume")
            for key, value in self._hooks.step_metrics(step, rows).items():
                self._metrics["train"][key].append(value)
        super().log(logs, *args, **given)
        if rows:
            self._hooks.stepped(step, rows, logs)

    # --- what the policy says ---------------------------------------------------------------------

    def logprobs(self, ids: Sequence[int]) -> tuple[float, ...]:
        """Of each id after the first, at temperature 1, as the policy is now."""
        model = self.accelerator.unwrap_model(self.model)
        training = model.training
        model.eval()
        try:
            with torch.no_grad(), self.compute_loss_context_manager():
                given = {k: v.to(model.device) for k, v in _of_this_trl().one_sequence(ids).items()}
                logits = model(**given | _of_this_trl().lengths(ids)).logits[0, :-1].float()
        finally:
            model.train(training)
        said = logits.log_softmax(-1).gather(1, given["input_ids"][0, 1:, None])[:, 0]
        return tuple(said.tolist())

    def expect(self, probe: Sequence[int]) -> Expectation:
        """What a server should say to the canary's probe, now."""
        with self.accelerator.unwrap_model(self.model).disable_adapter():
            base = self.logprobs(probe)
        return Expectation(adapter=self.logprobs(probe), base=base)

    @contextmanager
    def proof(self, probe: Sequence[int]) -> Iterator[Expectation]:
        """An adapter that surely changes the probe's logprobs, in the place of the policy while
        the context is open."""
        halves = [
            value
            for name, value in self.accelerator.unwrap_model(self.model).named_parameters()
            if "lora_B" in name
        ]
        before = [value.detach().clone() for value in halves]
        random = torch.Generator().manual_seed(0)
        try:
            for doubling in range(10):
                with torch.no_grad():
                    for value in halves:
                        noise = torch.randn(value.shape, generator=random)
                        value.copy_(noise * 0.01 * 2**doubling)
                expected = self.expect(probe)
                if expected.change >= PROOF_CHANGE:
                    break
            yield expected
        finally:
            with torch.no_grad():
                for value, old in zip(halves, before, strict=True):
                    value.copy_(old)


_trl_count_flops = trl_trainer.compute_flops_per_token


def _count_flops(config: Any, seq_len: int) -> int:
    """As TRL counts them, for its throughput metrics; 0 for a mixture of experts that it does not
    know the shape of (LFM2), on which it would fail."""
    try:
        return int(_trl_count_flops(config, seq_len))
    except AttributeError:
        return 0


trl_trainer.compute_flops_per_token = _count_flops


def make_trainer(
    *,
    model: str,
    config: dict[str, Any],
    lora: dict[str, Any],
    prompts: Sequence[str],
    tokenizer: Any,
    worker: Any,
    hooks: Hooks,
) -> Trainer:
    """A trainer, ready to ``train``.

    :param model: an id on the Hub, or a folder.
    :param config: of ``AsyncGRPOConfig``.
    :param lora: of ``peft.LoraConfig``.
    :param prompts: TRL wants to know them, though the worker has the tasks.
    :raises MissingPrerequisite: the installed TRL is none that this works with.
    """
    from datasets import Dataset
    from peft import LoraConfig

    this = _of_this_trl()
    gpu = torch.cuda.is_available()
    if not gpu:
        this.do_without_gpu()
        # The other cores are the engine's and the harnesses'. Threads that wait for one another
        # on cores that they do not get take twenty times as long.
        torch.set_num_threads(max(1, len(os.sched_getaffinity(0)) // 2))
    config = {**config, "use_cpu": not gpu, "bf16": gpu and config["dtype"] == "bfloat16"}
    asked = [{"prompt": [{"role": "user", "content": text}]} for text in prompts]
    with this.short_convolutions():
        return Trainer(
            model=model,
            args=AsyncGRPOConfig(**config),
            processing_class=tokenizer,
            train_dataset=Dataset.from_list(asked),
            peft_config=LoraConfig(**lora, task_type="CAUSAL_LM"),
            rollout_worker=worker,
            hooks=hooks,
        )


def to_sample(row: TrainRow, queued_at: float) -> Any:
    """A row as TRL's worker protocol has it."""
    metrics = _Metrics(row.metrics)
    metrics.row = row
    array = _of_this_trl().array
    return RolloutSample(
        prompt=list(row.messages[:1]),
        completion=list(row.messages[1:]),
        input_ids=array(row.ids, np.int64),
        completion_mask=array(row.loss, np.int64),
        old_log_probs=array(row.logprobs, np.float32),
        advantage=row.advantage,
        model_version=row.group_step,
        group_id=row.tag.group,
        metrics=metrics,
        enqueued_at=queued_at,
    )


def training_template(tokenizer: Any) -> str | None:
    """A chat template of the same family that renders turns once and for all; ``None`` when TRL
    knows none."""
    from trl.chat_template_utils import get_training_chat_template

    try:
        template = get_training_chat_template(tokenizer)
    except ValueError:
        return None
    return None if template is None else str(template)


# --- one class per version of TRL -----------------------------------------------------------------


class _Trl115:
    """1.15 lays packed sequences end to end and finds their seams by ``position_ids``."""

    attention = "ha_packed"

    def array(self, values: Sequence[Any], kind: Any) -> Any:
        return np.array(list(values), dtype=kind).tolist()

    def one_sequence(self, ids: Sequence[int]) -> dict[str, Any]:
        return {
            "input_ids": torch.tensor([list(ids)]),
            "position_ids": torch.arange(len(ids))[None],
        }

    def lengths(self, ids: Sequence[int]) -> dict[str, Any]:
        return {}

    def do_without_gpu(self) -> None:
        """It names a GPU kernel as the model's attention, has the head's logprobs from another,
        and probes the GPU's peak FLOPs."""
        import trl.trainer.utils
        from transformers import AttentionInterface
        from transformers.masking_utils import AttentionMaskInterface

        AttentionInterface.register(self.attention, packed_attention)
        AttentionMaskInterface.register(self.attention, lambda **_: None)
        trl_trainer.get_peak_flops_per_device = lambda *_: None
        trl.trainer.utils._ChunkedLogProbFunction = PlainHead
        if not hasattr(trl_trainer.create_model_from_path, "on_cpu"):
            create = trl_trainer.create_model_from_path

            def on_cpu(model: Any, **given: Any) -> Any:
                return create(model, **{**given, "attn_implementation": self.attention})

            on_cpu.on_cpu = True  # type: ignore[attr-defined]
            trl_trainer.create_model_from_path = on_cpu

    @contextmanager
    def short_convolutions(self) -> Iterator[None]:
        """It takes models with short convolutions, but packs across them."""
        with _each_model_made(keep_apart):
            yield


class _Trl116:
    """1.16 packs sequences into a trie and refuses models whose layers it cannot route along it;
    with ours, which can be routed, there is no reason to."""

    def array(self, values: Sequence[Any], kind: Any) -> Any:
        return np.array(list(values), dtype=kind)

    def one_sequence(self, ids: Sequence[int]) -> dict[str, Any]:
        bounds = torch.tensor([0, len(ids)], dtype=torch.int32)
        return {
            "input_ids": torch.tensor([list(ids)]),
            "position_ids": torch.arange(len(ids))[None],
            "tree_kv_index": torch.arange(len(ids)),
            "tree_cu_seqlens_q": bounds,
            "tree_cu_seqlens_k": bounds,
        }

    def lengths(self, ids: Sequence[int]) -> dict[str, Any]:
        return {"tree_max_seqlen_q": len(ids), "tree_max_seqlen_k": len(ids)}

    def do_without_gpu(self) -> None:
        """It fetches a GPU kernel at the first attention, and probes the GPU's peak FLOPs."""
        import trl.experimental.async_grpo.packing as packing

        packing._flash_attn = lambda: _Varlen
        trl_trainer.get_peak_flops_per_device = lambda *_: None

    @contextmanager
    def short_convolutions(self) -> Iterator[None]:
        shown: list[tuple[Any, list[str]]] = []

        def made(model: Any) -> None:
            config = model.config.get_text_config()
            types = list(getattr(config, "layer_types", None) or [])
            if keep_apart(model):
                shown.append((config, types))
                config.layer_types = [t.replace("conv", "full_attention") for t in types]

        try:
            with _each_model_made(made):
                yield
        finally:
            for config, types in shown:
                config.layer_types = types


class _Varlen:
    flash_attn_varlen_func = staticmethod(varlen_attention)


def keep_apart(model: Any) -> bool:
    """Whether a model has short convolutions, which now read along their own sequence."""
    types = getattr(model.config.get_text_config(), "layer_types", None) or []
    if "conv" not in types:
        return False
    keep_convolutions_apart(model)
    return True


@contextmanager
def _each_model_made(look: Callable[[Any], object]) -> Iterator[None]:
    create = trl_trainer.create_model_from_path

    def looked_at(*args: Any, **given: Any) -> Any:
        model = create(*args, **given)
        look(model)
        return model

    trl_trainer.create_model_from_path = looked_at
    try:
        yield
    finally:
        trl_trainer.create_model_from_path = create


_VERSIONS = {"1.15": _Trl115(), "1.16": _Trl116()}


def _of_this_trl() -> Any:
    installed = version("trl")
    minor = ".".join(installed.split(".")[:2])
    if minor not in _VERSIONS:
        raise MissingPrerequisite(
            f"trl {installed} is installed; this version works with {', '.join(_VERSIONS)}: "
            "pip install 'harness-adapters[train]'"
        )
    return _VERSIONS[minor]


__all__ = [
    "Config",
    "Hooks",
    "NotFinite",
    "TrainedRow",
    "Trainer",
    "make_trainer",
    "to_sample",
    "training_template",
]
