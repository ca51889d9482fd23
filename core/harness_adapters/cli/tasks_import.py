"""``ha tasks import`` and ``export``: other people's tasks as ours, and ours as Harbor's."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from harness_adapters.cli.output import json_option, print_json, printable, stderr
from harness_adapters.errors import BadInput, BrokenTask, MissingPrerequisite


@click.command(
    "import",
    epilog="""\b
Examples:
  ha tasks import ./harbor-tasks tasks/theirs
  ha tasks import OWNER/DATASET tasks/theirs --limit 100
  ha tasks import FineEnvs/SmolDataEnvs-harbor-train tasks/smol --limit 100
  ha tasks import ./suite tasks/smol --data ./bucket-mirror""",
)
@click.argument("source")
@click.argument("out", type=click.Path(path_type=Path))
@click.option(
    "--data",
    type=click.Path(path_type=Path),
    help="SmolDataEnvs: a folder with the bucket's files; by default they come from the bucket.",
)
@click.option(
    "--split",
    type=click.Choice(["train", "dev", "test"]),
    help="SmolDataEnvs: by default by the suite's name.",
)
@click.option("--limit", type=click.IntRange(1), metavar="N", help="Only the first N tasks.")
@json_option
def import_(
    source: str, out: Path, data: Path | None, split: str | None, limit: int | None, as_json: bool
) -> int:
    """Write the tasks of SOURCE, a folder or a dataset's id on the Hub, as bundles in OUT.

    Harbor's tasks stay as they are; what `ha tasks export` wrote is as it was before. A task of
    somebody else's grades itself beside the agent's code: it is marked self-graded and not trained
    on unless asked.

    Of a SmolDataEnvs suite an agent sees the question and its input files: no gold answer, no
    bucket, no token. The files are brought now, with your token, so that no agent needs a network.
    """
    from harness_adapters.tasks.smoldataenvs.suite import is_suite

    if data is not None and not data.is_dir():
        raise BadInput(f"{data}: there is no such folder")
    folder, links = _folder(source)
    if is_suite(folder):
        return _import_suite(source, folder, out, data, split, limit, as_json)
    if data is not None or split is not None:
        raise BadInput("--data and --split are for suites of SmolDataEnvs, and this is none")
    from harness_adapters.harbor.importer import import_tree

    imported = import_tree(folder, out, links=links, limit=limit)
    graded, images = len(imported.self_graded), len(imported.in_images)
    summary = f"{len(imported.written)} tasks in {out}"
    summary += f", {graded} self-graded" if graded else ""
    summary += f", {images} for --sandbox docker only" if images else ""
    _report(imported.broken, summary)
    if as_json:
        more = {"self_graded": graded, "in_images": images}
        _print(out, imported.written, imported.broken, **more)
    return int(bool(imported.broken))


@click.command(
    "export",
    epilog="""\b
Examples:
  ha tasks export examples/tasks harbor-tasks
  harbor lint harbor-tasks/*
  harbor run -p harbor-tasks -a oracle -e harness_adapters.harbor.environment:SandboxEnvironment""",
)
@click.argument("tasks", type=click.Path(path_type=Path))
@click.argument("out", type=click.Path(path_type=Path))
@json_option
def export(tasks: Path, out: Path, as_json: bool) -> int:
    """Write the tasks in TASKS as folders in OUT that Harbor runs, with a verifier of their own.

    What Harbor needs beside what a bundle says is added in marked lines: the folder that goes to
    the verifier, a user that is not root, an image with pytest. `ha tasks import` takes it out.
    """
    from harness_adapters.harbor.export import export_tasks

    exported = export_tasks(tasks, out)
    _report(exported.broken, f"{len(exported.written)} tasks in {out}")
    if as_json:
        _print(out, exported.written, exported.broken)
    return int(bool(exported.broken))


def _import_suite(
    source: str,
    suite: Path,
    out: Path,
    data: Path | None,
    split: str | None,
    limit: int | None,
    as_json: bool,
) -> int:
    from harness_adapters.tasks.smoldataenvs import import_suite
    from harness_adapters.tasks.smoldataenvs.data import Hub, Mirror

    console = stderr()

    def progress(name: str, done: int, planned: int) -> None:
        console.print(printable(f"[{done}/{planned}] {name}"), markup=False, soft_wrap=True)

    imported = import_suite(
        suite,
        out,
        data=Hub() if data is None else Mirror(data),
        name=source.rstrip("/").rpartition("/")[2],
        split=split or "",
        limit=limit,
        progress=progress,
    )
    _report(imported.broken, f"{len(imported.written)} qa tasks in {out}")
    if as_json:
        _print(out, imported.written, imported.broken)
    return int(bool(imported.broken))


def _report(broken: Sequence[BrokenTask], summary: str) -> None:
    console = stderr()
    for problem in broken:
        console.print(printable(f"ha: {problem}"), markup=False, soft_wrap=True)
    console.print(summary, markup=False, soft_wrap=True)


def _print(out: Path, written: Sequence[str], broken: Sequence[BrokenTask], **more: Any) -> None:
    print_json({"out": str(out), "written": len(written), "broken": len(broken), **more})


def _folder(source: str) -> tuple[Path, Path | None]:
    """Where the tasks are; a dataset on the Hub is downloaded, or taken from the cache. And the
    folder that links in it lead into."""
    folder = Path(source)
    if folder.is_dir():
        return folder, None
    if not re.fullmatch(r"[A-Za-z0-9][\w.-]*/[A-Za-z0-9][\w.-]*", source):
        raise BadInput(f"{source}: neither a folder nor a dataset's id, OWNER/NAME")
    from huggingface_hub import snapshot_download
    from huggingface_hub.errors import LocalEntryNotFoundError

    wanted = ["registry.json", "manifest.parquet", "tasks/**"]
    try:
        found = Path(snapshot_download(source, repo_type="dataset", allow_patterns=wanted))
    except LocalEntryNotFoundError:
        raise MissingPrerequisite(
            f"{source}: not in the cache, and the Hub cannot be reached; give a local folder"
        ) from None
    except Exception as error:  # its transport, and so its errors, differ from version to version
        first = str(error).strip().splitlines()
        raise MissingPrerequisite(
            f"{source}: cannot be had from the Hub: {first[0] if first else type(error).__name__}"
        ) from None
    return found, found.parents[1]  # datasets--OWNER--NAME, which has snapshots/ and blobs/
