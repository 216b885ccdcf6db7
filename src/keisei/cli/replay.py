"""`keisei replay`: an attempt once more, from the ledger and its evidence."""

from typing import TYPE_CHECKING, Any

import click

from keisei.cli.desk import desk, known_attempt
from keisei.cli.output import emit_json, json_option
from keisei.records.problem import printable

if TYPE_CHECKING:
    from keisei.wiring.replay import Replay

LONGEST = 80


@click.command("replay")
@click.argument("attempt_id")
@click.option("--findings/--no-findings", "asks", default=True, show_default=True, help="Run its verifies again.")
@json_option
def command(attempt_id: str, asks: bool, as_json: bool) -> int:
    """Recompile the bundle of an attempt, judge its calls and its candidate again, and show what has drifted.

    No agent runs. Exits 0 where everything is as it was, 2 where something has drifted, would be judged otherwise, or
    the evidence is not what the ledger says.
    """
    from keisei.cli.surroundings import settings
    from keisei.wiring.hall import project_shop
    from keisei.wiring.replay import replay

    with desk() as opened:
        attempt = known_attempt(opened.store, attempt_id)
        shop = project_shop(settings(), opened.home, opened.store, accept_weaker=True)
        found = replay(shop, attempt, asks=asks)
    if as_json:
        from msgspec import to_builtins

        emit_json({"same": found.is_same, **to_builtins(found)})
    else:
        _tell(found)
    return 0 if found.is_same else 2


def _tell(found: "Replay") -> None:
    rows = ", ".join(map(str, found.rows)) or "none"
    click.echo(f"attempt {found.attempt_id}; ledger rows {rows}")
    for sentence in found.complaints:
        click.echo(f"evidence: {printable(sentence)}")
    if found.complaints:
        return
    click.echo("evidence: every file is what the ledger says")
    if found.bundle_fault is not None:
        click.echo(f"bundle: cannot be made today: {printable(found.bundle_fault)}")
    elif not found.drift:
        click.echo("bundle: today's files make the same one")
    for each in found.drift:
        click.echo(f"bundle: {printable(each.what)} was {_value(each.was)}, is {_value(each.now)}")
    if found.gate is not None:
        _tell_calls(found.gate)
    _tell_findings(found)


def _tell_calls(gate: dict[str, Any]) -> None:
    calls: list[dict[str, Any]] = gate["calls"]
    changed = [each for each in calls if each["changed"]]
    click.echo(f"gate: {len(calls)} calls, {len(changed)} judged otherwise; chain {gate['chain']}")
    for row in changed:
        said = f"{row['tool']} was {row['was']}, is {row['now']}: {row['reason'] or '-'}"
        click.echo(f"gate: line {row['line']}: {printable(said)}")


def _tell_findings(found: "Replay") -> None:
    if found.findings_fault is not None:
        click.echo(f"findings: cannot be asked again: {printable(found.findings_fault)}")
        return
    other = [each for each in found.findings if each.was != each.now]
    if found.findings:
        click.echo(f"findings: {len(found.findings)} asked again, {len(other)} otherwise")
    for each in other:
        said = f"{each.capability} was {each.was or 'not asked'}, is {each.now or 'not asked'}: {each.reason or '-'}"
        click.echo(f"findings: {printable(said)}")


def _value(value: object) -> str:
    text = "nothing" if value is None else str(value)
    return printable(text if len(text) <= LONGEST else f"{text[:LONGEST]}...")
