"""`keisei compat seed-backlog`: the workflows and tasks of a file, each once."""

from pathlib import Path

import click

from keisei.cli.compat.opened import config_option, given, opened_runtime
from keisei.cli.desk import actor
from keisei.cli.output import emit_json
from keisei.records.problem import printable


@click.command("seed-backlog")
@config_option
@click.option("--file", required=True, help="The backlog, as a JSON file; `-` is standard input.")
def seed_backlog(config: Path, file: str) -> int:
    """Queue what a backlog lists; seeding twice adds nothing.

    An entry that cannot be is refused with its reason and harms no other; then the exit is 1.
    """
    from keisei.wiring.backlog import seed

    data = given(None, file, "backlog")
    with opened_runtime(config) as opened:
        told = seed(opened.store, opened.registry(), opened.defaults(), data, actor())
    emit_json(told)
    for each in told["refused"]:
        click.echo(printable(f"error: {each['entry']}: {each['reason']}"), err=True)
    return 1 if told["refused"] else 0
