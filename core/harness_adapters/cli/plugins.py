"""``ha plugins``: what is installed, what it offers, and what was refused."""

from __future__ import annotations

from dataclasses import asdict

import click

from harness_adapters.cli.output import json_option, print_json
from harness_adapters.plugins import Plugins


@click.command(
    "plugins",
    epilog="Example: ha plugins --json | jq '.plugins[] | select(.status == \"refused\")'",
)
@json_option
@click.option("--disable", multiple=True, metavar="NAME", help="Leave this plugin out.")
@click.option("--only", multiple=True, metavar="NAME", help="Load no other plugin.")
def command(as_json: bool, disable: tuple[str, ...], only: tuple[str, ...]) -> int:
    """List plugins with their distribution, version and status.

    A plugin is code that runs in this process: install only what you trust. Exit code 1 when one
    was refused.
    """
    plugins = Plugins.load(disable=set(disable), only=set(only) or None)
    refused = any(info.status == "refused" for info in plugins.infos)
    if as_json:
        print_json(
            {
                "plugins": [{**asdict(info), "builtin": info.builtin} for info in plugins.infos],
                "components": [
                    {**asdict(component.provenance), "summary": component.summary}
                    for registry in plugins.registries()
                    for component in registry.components.values()
                ],
            }
        )
    else:
        _print_table(plugins)
    return int(refused)


def _print_table(plugins: Plugins) -> None:
    from rich.console import Console
    from rich.table import Table

    table = Table("plugin", "distribution", "version", "status", "offers", box=None)
    for info in plugins.infos:
        style = {"loaded": "", "disabled": "dim", "refused": "bold red"}[info.status]
        table.add_row(
            info.name,
            info.distribution,
            info.version,
            info.status,
            info.reason or ", ".join(info.offers),
            style=style,
        )
    Console(highlight=False).print(table)
