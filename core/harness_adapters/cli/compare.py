"""``ha compare``: did the adapter help, by how much, and how sure are we."""

from __future__ import annotations

from pathlib import Path

import click

from harness_adapters.cli.output import json_option, print_json, stderr


@click.command(
    "compare",
    epilog="""\b
Examples:
  ha compare runs/base runs/adapter
  ha compare runs/base runs/v1 runs/v2 --json
  ha compare runs/base runs/adapter --margin 0.03""",
)
@click.argument("base", type=click.Path(path_type=Path))
@click.argument("runs", type=click.Path(path_type=Path), nargs=-1, required=True, metavar="RUN...")
@click.option(
    "--margin",
    type=click.FloatRange(0, 1, min_open=True, max_open=True),
    default=0.05,
    show_default=True,
    help="Differences of pass@1 up to this count as equivalent.",
)
@click.option(
    "--seed", type=click.IntRange(0), default=0, show_default=True, help="For permutation tests."
)
@json_option
def command(base: Path, runs: tuple[Path, ...], margin: float, seed: int, as_json: bool) -> int:
    """Compare each RUN with the run BASE: same tasks, paired, clustered.

    Runs that differ in anything but the model are refused. Exit code 1 when more than 5% of an
    arm's attempts are missing, or when the data allow no interval.
    """
    from harness_adapters.evaluation.compare import compare

    comparison = compare(base, *runs, margin=margin, seed=seed)
    for line in comparison.trouble:
        stderr().print(f"ha: {line}", markup=False, soft_wrap=True)
    if as_json:
        print_json(comparison.to_json())
    else:
        from harness_adapters.cli.terminal import print_document
        from harness_adapters.evaluation.report.comparison import of_comparison

        print_document(of_comparison(comparison))
    return int(bool(comparison.trouble))
