"""`keisei doctor`: whether this machine can run agents, and how well it holds them."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from keisei.cli.output import emit_json, json_option
from keisei.cli.surroundings import settings
from keisei.records.problem import tidy

if TYPE_CHECKING:
    from collections.abc import Sequence

    from keisei.wiring.doctor import Check

MISSING = 2
FINE = "agents can run here"
LACKING = "something is missing that agents need"


@click.command("doctor", context_settings={"help_option_names": ["-h", "--help"]})
@json_option
def command(as_json: bool) -> int:
    """Try everything an agent needs: isolation, gate, programs, git, space, store. Exit 2 where one is missing."""
    from keisei.sandbox.machine import probe
    from keisei.wiring.doctor import examine

    checks = []
    for check in examine(settings(), Path.cwd(), probe):
        checks.append(check)
        if not as_json:
            _tell(check)
    fine = all(each.state != "missing" for each in checks)
    if as_json:
        _tell_all(checks, fine=fine)
    else:
        click.echo(FINE if fine else LACKING)
    return 0 if fine else MISSING


def _tell(check: "Check") -> None:
    """One line a check, as soon as it is known; below it what to do."""
    click.echo(f"{check.state:<7}  {tidy(check.name)}: {tidy(check.detail)}")
    if check.hint is not None:
        click.echo(f"{'':<9}hint: {tidy(check.hint)}")


def _tell_all(checks: "Sequence[Check]", *, fine: bool) -> None:
    import msgspec

    emit_json({"ok": fine, "checks": msgspec.to_builtins(checks)})
