"""``ha guard review``: a person's word on each blocked call of a run."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from harness_adapters.cli.output import json_option, print_json

if TYPE_CHECKING:
    from rich.console import Console

    from harness_adapters.gateway.offline.review import BlockedCall

_LONGEST = 3000  # characters of a call's arguments that a person is shown


@click.command(
    "review",
    epilog="""\b
Examples:
  ha guard review runs/first
  ha guard review runs/first --json | jq '.false_block_rate'""",
)
@click.argument("run", type=click.Path(path_type=Path))
@json_option
def review(run: Path, as_json: bool) -> None:
    """Go through the blocked calls of the run folder RUN and say which were rightly blocked.

    What you say is kept in RUN/reviews.log at once, so you can stop and go on any time. The false
    block rate is over what has been reviewed. With --json nothing is asked: it shows the state.
    """
    from harness_adapters.gateway.offline.review import Reviews

    reviews = Reviews(run)
    if as_json:
        print_json({**reviews.to_json(), "audit": _audits(run)})
        return
    from rich.console import Console

    console = Console(highlight=False)
    waiting = reviews.open
    for number, call in enumerate(waiting, start=1):
        _print_call(console, call, f"{number} of {len(waiting)}")
        said = _ask()
        if said == "quit":
            break
        if said is not None:
            reviews.add(call, said)
    _print_state(console, reviews.to_json())


def _ask() -> Any:
    """A review, ``None`` to skip, or ``"quit"``."""
    from harness_adapters.gateway.offline.review import Review

    answers: dict[str, Any] = {"a": Review.ACCEPT, "r": Review.REJECT, "s": None, "q": "quit"}
    said = click.prompt(
        "rightly blocked? [a]ccept the block, [r]eject it, [s]kip, [q]uit",
        type=click.Choice(list(answers)),
        show_choices=False,
    )
    return answers[said]


def _print_call(console: Console, blocked: BlockedCall, title: str) -> None:
    import json

    from harness_adapters.cli.guard_text import marked
    from harness_adapters.cli.output import printable

    call = blocked.call
    whole = isinstance(call.arguments, str)
    raw = call.arguments if isinstance(call.arguments, str) else json.dumps(call.arguments)
    console.rule(f"{title}: {printable(blocked.rollout)}, turn {blocked.turn}", style="dim")
    if blocked.instruction:
        console.print(printable(blocked.instruction[:_LONGEST]), markup=False, style="dim")
    console.print(f"> {printable(call.name)}", markup=False, style="bold red")
    console.print(printable(raw[:_LONGEST]), markup=False, soft_wrap=True)
    for finding in call.findings:
        line = f"{finding.rule}: {finding.message}"
        console.print(printable(line), markup=False, soft_wrap=True)
        # Of an object only the parsed form is on record, in which places may have moved.
        if finding.span and whole:
            console.print(marked(raw, *finding.span), soft_wrap=True)
    for fault in call.faults:
        console.print(f"fault: {printable(fault)}", markup=False, soft_wrap=True)


def _print_state(console: Console, state: dict[str, Any]) -> None:
    rate = state["false_block_rate"]
    console.print(
        f"{state['reviewed']} of {state['blocked']} blocked calls reviewed: "
        f"{state['accepted']} rightly blocked, {state['rejected']} false blocks"
    )
    if rate["est"] is not None:
        console.print(
            f"false block rate {100 * rate['est']:.1f}% "
            f"[{100 * rate['lo']:.1f}, {100 * rate['hi']:.1f}] (95%, Clopper-Pearson)",
            markup=False,
        )


def _audits(run: Path) -> dict[str, list[dict[str, Any]]]:
    from dataclasses import asdict

    from harness_adapters.audit import audit_run

    return {name: [asdict(note) for note in notes] for name, notes in audit_run(run).items()}
