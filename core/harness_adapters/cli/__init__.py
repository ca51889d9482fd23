"""The command ``ha``: one module per command, each loaded when it is called.

Exit codes: 0 done, 1 done with trouble left, 2 bad input or a missing prerequisite (nothing was
started), 130 after Ctrl-C.
"""

from __future__ import annotations

import io
import logging
import sys
from importlib import import_module
from importlib.metadata import version
from typing import Any

import click

from harness_adapters.errors import BadInput, HarnessAdaptersError, did_you_mean
from harness_adapters.garbage import collect_rarely

# command -> (module, help). The help stands here so that ``ha --help`` imports no command.
COMMANDS = {
    "quickstart": ("quickstart", "Train a tiny policy in a real harness here, in minutes."),
    "run": ("run", "Run tasks in a real harness, guarded, verified and recorded."),
    "train": ("train", "Train one adapter per recipe, on one engine."),
    "watch": ("watch", "Show a training run while it goes on."),
    "show": ("show", "Show a run as a table, or one rollout readably."),
    "eval": ("eval", "Run several models over one engine, interleaved, and compare them."),
    "compare": ("compare", "Compare runs with their base: did the adapter help?"),
    "report": ("report", "Write runs and evaluations as one HTML file that works offline."),
    "gateway": ("gateway", "Put the guard in front of the agent you already use."),
    "guard": ("guard", "Try the guard on calls, sessions and corpora; review what it blocked."),
    "plugins": ("plugins", "List plugins, what they offer, and where they come from."),
    "plugin": ("plugin", "Write a plugin of your own, or check that one keeps its contract."),
    "doctor": ("doctor", "Check this machine and an engine, and say what to do."),
    "bench": ("bench", "Measure how fast the gateway is here."),
    "engine": ("engine", "Serve a model server on its own."),
    "recipe": ("recipe", "Say what a training recipe would run, needs and lacks."),
    "tasks": ("tasks", "Make and look at verifiable tasks."),
}


class _Commands(click.Group):
    """Finds commands by name without importing the others."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        module = import_module(f"harness_adapters.cli.{COMMANDS[cmd_name][0]}")
        command: click.Command = module.command
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args and not args[0].startswith("-") and args[0] not in COMMANDS:
            raise BadInput(f"no command {args[0]!r}{did_you_mean(args[0], COMMANDS)}")
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, text) for name, (_, text) in COMMANDS.items()])


@click.group(
    cls=_Commands,
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog="Example: ha run examples/tasks --harness pi --engine scripted:oracle",
)
@click.version_option(version("harness-adapters"), prog_name="ha")
@click.option("--debug", is_flag=True, help="Show tracebacks.")
@click.pass_context
def command(ctx: click.Context, debug: bool) -> None:
    """Train and measure one LoRA adapter per model and coding-agent harness."""
    ctx.obj = {"debug": debug}


def _speak() -> None:
    """What takes long says so on stderr, and no odd character of a task ends a command."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    handler = logging.StreamHandler()
    handler.setFormatter(logging.Formatter("ha: %(message)s"))
    log = logging.getLogger("harness_adapters")
    log.handlers = [handler]
    log.setLevel(logging.INFO)


def main(argv: list[str] | None = None) -> None:
    """Entry point. Errors raised on purpose become one or two clear lines, never a traceback."""
    args = sys.argv[1:] if argv is None else argv
    _speak()
    collect_rarely()
    try:
        code: Any = command.main(args=args, prog_name="ha", standalone_mode=False)
    except click.ClickException as error:
        print(f"ha: {error.format_message()}", file=sys.stderr)
        sys.exit(2)
    except (click.Abort, KeyboardInterrupt):
        sys.exit(130)
    except HarnessAdaptersError as error:
        if "--debug" in args:
            raise
        print(f"ha: {error}", file=sys.stderr)
        sys.exit(2 if isinstance(error, BadInput) else 1)
    except BrokenPipeError:
        sys.stderr.close()  # whoever read our output is gone; there is nobody to complain to
        sys.exit(1)
    except Exception as error:
        if "--debug" in args:
            raise
        what = str(error) if isinstance(error, OSError) else f"{type(error).__name__}: {error}"
        print(f"ha: {what} (ha --debug shows where)", file=sys.stderr)
        sys.exit(1)
    sys.exit(code or 0)
