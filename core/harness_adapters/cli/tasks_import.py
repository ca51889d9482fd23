"""``ha tasks import``: other people's tasks as bundles of ours."""

from __future__ import annotations

import re
from pathlib import Path

import click

from harness_adapters.cli.output import json_option, print_json, printable, stderr
from harness_adapters.errors import BadInput, MissingPrerequisite


@click.command(
    "import",
    epilog="""\b
Examples:
  ha tasks import FineEnvs/SmolDataEnvs-harbor-train tasks/smol --limit 100
  ha tasks import ./suite tasks/smol --data ./bucket-mirror""",
)
@click.argument("suite")
@click.argument("out", type=click.Path(path_type=Path))
@click.option(
    "--data",
    type=click.Path(path_type=Path),
    help="A folder with the bucket's files; by default they come from the bucket.",
)
@click.option(
    "--split", type=click.Choice(["train", "dev", "test"]), help="By default by its name."
)
@click.option("--limit", type=click.IntRange(1), metavar="N", help="Only the first N tasks.")
@json_option
def import_(
    suite: str, out: Path, data: Path | None, split: str | None, limit: int | None, as_json: bool
) -> int:
    """Write the SmolDataEnvs suite SUITE, a folder or a dataset's id on the Hub, as bundles in OUT.

    What an agent sees of them is the question and its input files: no gold answer, no bucket, no
    token. The files are brought now, with your token, so that no agent needs a network.
    """
    from harness_adapters.tasks.smoldataenvs import import_suite
    from harness_adapters.tasks.smoldataenvs.data import Hub, Mirror

    if data is not None and not data.is_dir():
        raise BadInput(f"{data}: there is no such folder")
    console = stderr()

    def progress(name: str, done: int, planned: int) -> None:
        console.print(printable(f"[{done}/{planned}] {name}"), markup=False, soft_wrap=True)

    imported = import_suite(
        _folder(suite),
        out,
        data=Hub() if data is None else Mirror(data),
        name=suite.rstrip("/").rpartition("/")[2],
        split=split or "",
        limit=limit,
        progress=progress,
    )
    for problem in imported.broken:
        console.print(printable(f"ha: {problem}"), markup=False, soft_wrap=True)
    console.print(f"{len(imported.written)} qa tasks in {out}", markup=False, soft_wrap=True)
    if as_json:
        print_json(
            {"out": str(out), "written": len(imported.written), "broken": len(imported.broken)}
        )
    return int(bool(imported.broken))


def _folder(suite: str) -> Path:
    """The suite's folder; a dataset on the Hub is downloaded, or taken from the cache."""
    folder = Path(suite)
    if folder.is_dir():
        return folder
    if not re.fullmatch(r"[A-Za-z0-9][\w.-]*/[A-Za-z0-9][\w.-]*", suite):
        raise BadInput(f"{suite}: neither a folder nor a dataset's id, OWNER/NAME")
    from huggingface_hub import snapshot_download
    from huggingface_hub.errors import HfHubHTTPError, LocalEntryNotFoundError

    wanted = ["registry.json", "manifest.parquet", "tasks/**"]
    try:
        return Path(snapshot_download(suite, repo_type="dataset", allow_patterns=wanted))
    except LocalEntryNotFoundError:
        raise MissingPrerequisite(
            f"{suite}: not in the cache, and the Hub cannot be reached; give a local folder"
        ) from None
    except (HfHubHTTPError, OSError, ValueError) as error:
        first = str(error).strip().splitlines()
        raise MissingPrerequisite(
            f"{suite}: cannot be had from the Hub: {first[0] if first else type(error).__name__}"
        ) from None
