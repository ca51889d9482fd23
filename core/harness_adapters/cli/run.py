"""``ha run``: a thin shell over ``harness_adapters.run``."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from harness_adapters.cli.output import json_option, print_json, stderr
from harness_adapters.errors import BadInput


@click.command(
    "run",
    epilog="""\b
Examples:
  ha run examples/tasks --harness pi --engine scripted:oracle --out runs/first
  ha run examples/tasks --engine http://127.0.0.1:8000 --model my-adapter --attempts 8
  ha run examples/tasks --kind qa --split test --out runs/first --resume""",
)
@click.argument("tasks", type=click.Path(path_type=Path))
@click.option("--harness", default="pi", show_default=True, help="Harness driver to use.")
@click.option(
    "--engine",
    default="scripted:oracle",
    show_default=True,
    help="Model server: URL, scripted:PLAY, embedded:MODEL or vllm:MODEL.",
)
@click.option("--model", help="Model or adapter name on the engine; by default its first.")
@click.option("--attempts", type=click.IntRange(1), default=1, show_default=True, metavar="N")
@click.option("--out", type=click.Path(path_type=Path), help="Run folder; by default runs/TIME.")
@click.option("--resume", is_flag=True, help="Go on with the run in --out.")
@click.option("--concurrency", type=click.IntRange(1), default=4, show_default=True, metavar="N")
@click.option("--limit", type=click.IntRange(1), metavar="N", help="Only the first N tasks.")
@click.option("--kind", help="Only tasks of this kind.")
@click.option("--split", help="Only tasks of this split: train, dev or test.")
@click.option("--sandbox", help="bubblewrap or process; by default bubblewrap.")
@click.option("--guards", metavar="A,B", help="Guards by name, or 'none'; by default all built-in.")
@click.option(
    "--guard-config",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="TOML file with [guards.NAME] tables.",
)
@click.option("--session-timeout", type=float, metavar="SECONDS", help="Instead of the task's own.")
@click.option("--max-requests", type=click.IntRange(1), metavar="N", help="Model requests each.")
@click.option("--runner", type=click.Choice(["local"]), default="local", show_default=True)
@json_option
def command(
    tasks: Path,
    harness: str,
    engine: str,
    model: str | None,
    attempts: int,
    out: Path | None,
    resume: bool,
    concurrency: int,
    limit: int | None,
    kind: str | None,
    split: str | None,
    sandbox: str | None,
    guards: str | None,
    guard_config: Path | None,
    session_timeout: float | None,
    max_requests: int | None,
    runner: str,
    as_json: bool,
) -> int:
    """Run TASKS in a real harness, guarded, verified and recorded."""
    from harness_adapters.cli.progress import RunProgress
    from harness_adapters.run import RunInterrupted, RunStopped, run

    if session_timeout is not None and session_timeout <= 0:
        raise BadInput("--session-timeout must be above 0")
    if resume and out is None:
        raise BadInput("--resume needs --out: the run folder to go on with")
    console = stderr()
    code = 0
    try:
        with RunProgress(console) as progress:
            result = run(
                tasks,
                harness=harness,
                engine=engine,
                model=model,
                attempts=attempts,
                out=out,
                resume=resume,
                concurrency=concurrency,
                limit=limit,
                kind=kind,
                split=split,
                sandbox=sandbox,
                guards=_names(guards),
                options=_guard_options(guard_config),
                session_seconds=session_timeout,
                max_requests=max_requests,
                progress=progress.update,
            )
    except RunInterrupted as stop:
        console.print("interrupted; what finished is recorded, go on with --resume")
        result, code = stop.result, 130
    except RunStopped as stop:
        console.print(f"ha: stopped: {stop}", markup=False, soft_wrap=True)
        result, code = stop.result, 1
    for problem in result.problems:
        console.print(f"ha: {problem}", markup=False, soft_wrap=True)
    summary = result.summary
    if as_json:
        print_json(summary)
    else:
        from harness_adapters.cli.show import print_run

        print_run(result.out)
    trouble = summary["infra"] or summary["broken"] or summary["finished"] < summary["planned"]
    return code or int(bool(trouble))


def _names(text: str | None) -> list[str] | None:
    if text is None:
        return None
    return [] if text == "none" else [name.strip() for name in text.split(",") if name.strip()]


def _guard_options(path: Path | None) -> dict[str, dict[str, Any]] | None:
    if path is None:
        return None
    import tomllib

    try:
        content = tomllib.loads(path.read_text())
    except OSError as error:
        raise BadInput(f"cannot read {path}: {error.strerror}") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise BadInput(f"{path}: {error}") from error
    guards = content.pop("guards", {})
    if content or not isinstance(guards, dict):
        raise BadInput(f"{path}: only [guards.NAME] tables belong here")
    return {"guards": guards}
