"""``ha report``: runs and evaluations as one HTML file."""

from __future__ import annotations

from pathlib import Path

import click

from harness_adapters.cli.output import json_option, print_json, stderr
from harness_adapters.errors import BadInput


@click.command(
    "report",
    epilog="""\b
Examples:
  ha report runs/first --out first.html
  ha report runs/base runs/adapter --out adapter.html
  ha report evals/transfer --out transfer.html""",
)
@click.argument(
    "paths", type=click.Path(path_type=Path), nargs=-1, required=True, metavar="PATH..."
)
@click.option("--out", type=click.Path(path_type=Path), metavar="FILE.html", help="File to write.")
@click.option(
    "--margin",
    type=click.FloatRange(0, 1, min_open=True, max_open=True),
    default=0.05,
    show_default=True,
    help="Differences of pass@1 up to this count as equivalent.",
)
@json_option
def command(paths: tuple[Path, ...], out: Path | None, margin: float, as_json: bool) -> None:
    """Report on run folders and evaluations: tables, charts, every number with its interval.

    Several run folders are compared with the first. The file that is written needs nothing else
    and no network. Without --out the same tables go to the terminal.
    """
    from harness_adapters.evaluation.report.read import read_documents

    if as_json and out is None:
        raise BadInput("--json needs --out: the file to write")
    documents = read_documents(paths, margin=margin)
    if out is None:
        from harness_adapters.cli.terminal import print_document

        for document in documents:
            print_document(document)
        return
    from harness_adapters.evaluation.report.html import to_html

    content = to_html(documents).encode()
    try:
        out.parent.mkdir(parents=True, exist_ok=True)
        out.write_bytes(content)
    except OSError as error:
        raise BadInput(f"cannot write {out}: {error.strerror}") from error
    stderr().print(f"{out}: {len(content)} bytes", markup=False, soft_wrap=True)
    if as_json:
        print_json({"out": str(out), "bytes": len(content), "documents": len(documents)})
