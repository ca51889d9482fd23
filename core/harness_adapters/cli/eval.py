"""``ha eval``: a thin shell over ``harness_adapters.evaluate``."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from harness_adapters.cli.output import json_option, print_json, stderr
from harness_adapters.cli.rollout_options import arguments, names, rollout_options
from harness_adapters.errors import BadInput


@click.command(
    "eval",
    epilog="""\b
Examples:
  ha eval examples/tasks --engine scripted:by-model --model wasteful,oracle --out evals/first
  ha eval tasks --engine http://127.0.0.1:8000 --model base,v1,v2 --attempts 4 --out evals/v2
  ha eval tasks --engine http://127.0.0.1:8000 --model base,v1 --harness pi,opencode --matrix \\
      --out evals/transfer
  ha eval tasks --engine http://127.0.0.1:8000 --model base --ablate-guards --out evals/guards""",
)
@click.argument("tasks", type=click.Path(path_type=Path))
@click.option("--model", "models", required=True, metavar="A,B", help="The first is the base.")
@click.option(
    "--harness", "harnesses", default="pi", show_default=True, metavar="H,H2", help="Drivers."
)
@click.option(
    "--engine",
    default="scripted:by-model",
    show_default=True,
    help="Model server: URL, scripted:PLAY, embedded:MODEL or vllm:MODEL.",
)
@click.option(
    "--out", type=click.Path(path_type=Path), required=True, help="Folder for all the runs."
)
@click.option("--matrix", is_flag=True, help="Transfer: what an adapter is worth elsewhere.")
@click.option("--ablate-guards", is_flag=True, help="Each arm twice: guards on, and none.")
@click.option(
    "--margin",
    type=click.FloatRange(0, 1, min_open=True, max_open=True),
    default=0.05,
    show_default=True,
    help="Differences of pass@1 up to this count as equivalent.",
)
@rollout_options
@json_option
def command(
    tasks: Path,
    models: str,
    harnesses: str,
    engine: str,
    matrix: bool,
    ablate_guards: bool,
    margin: float,
    as_json: bool,
    **given: Any,
) -> int:
    """Run TASKS with several models over one engine, interleaved, and compare them with the first.

    Each arm is a run folder, OUT/HARNESS/MODEL, that ``ha show`` and ``ha compare`` read. Exit
    code 1 when an attempt is missing or a comparison allows no interval.
    """
    from harness_adapters.cli.progress import RunProgress
    from harness_adapters.evaluation.evaluate import (
        EvaluationInterrupted,
        EvaluationStopped,
        evaluate,
    )
    from harness_adapters.evaluation.plan import Design

    if matrix and ablate_guards:
        raise BadInput("--matrix and --ablate-guards are two evaluations")
    design = Design.MATRIX if matrix else Design.GUARDS if ablate_guards else Design.MODELS
    console = stderr()
    code = 0
    try:
        with RunProgress(console) as progress:
            result = evaluate(
                tasks,
                models=names(models),
                harnesses=names(harnesses),
                engine=engine,
                design=design,
                margin=margin,
                progress=lambda arm, *rest: progress.update(*rest, arm=arm.label),
                **arguments(given),
            )
    except EvaluationInterrupted as stop:
        console.print("interrupted; what finished is recorded, go on with --resume")
        result, code = stop.result, 130
    except EvaluationStopped as stop:
        console.print(f"ha: stopped: {stop}", markup=False, soft_wrap=True)
        result, code = stop.result, 1
    findings = result.findings()
    for problem in (*result.problems, *findings.trouble):
        console.print(f"ha: {problem}", markup=False, soft_wrap=True)
    if as_json:
        print_json({**result.to_json(), **findings.to_json()})
    else:
        from harness_adapters.cli.terminal import print_document
        from harness_adapters.evaluation.report.evaluation import of_evaluation

        print_document(of_evaluation(result.out, findings))
    return code or int(not result.whole or bool(findings.trouble))
