"""`keisei replay`: an attempt once more, from the ledger and its evidence."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from keisei.cli.desk import desk, known_attempt
from keisei.cli.output import emit_json, json_option
from keisei.cli.surroundings import kit_root_option
from keisei.records.problem import printable

if TYPE_CHECKING:
    from keisei.wiring.replay import Replay
    from keisei.wiring.replay_drift import Drift

LONGEST = 80
"""Characters of one value that are shown; all of it is in the JSON."""
MOST = 20
"""Members of a list that are shown."""


@click.command("replay")
@click.argument("attempt_id")
@click.option("--findings/--no-findings", "asks", default=True, show_default=True, help="Run its verifies again.")
@kit_root_option
@json_option
def command(attempt_id: str, asks: bool, kit_root: Path | None, as_json: bool) -> int:
    """Recompile the bundle of an attempt, judge its calls and its candidate again, and show what has drifted.

    No agent runs. Exits 0 where everything is as it was, 2 where something has drifted, would be judged otherwise or
    cannot be judged, or the evidence is not what the ledger says. An attempt that runs still is refused.
    """
    from keisei.cli.surroundings import settings
    from keisei.wiring.hall import project_shop
    from keisei.wiring.replay import replay

    with desk() as opened:
        attempt = known_attempt(opened.store, attempt_id)
        shop = project_shop(settings(), opened.home, opened.store, kit_root, accept_weaker=True)
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
        click.echo(f"bundle: {printable(each.what)}{_differs(each)}")
    if found.gate_fault is not None:
        click.echo(f"gate: cannot be judged again: {printable(found.gate_fault)}")
    elif found.gate is not None:
        _tell_calls(found.gate)
    _tell_findings(found)


def _tell_calls(gate: dict[str, Any]) -> None:
    calls: list[dict[str, Any]] = gate["calls"]
    changed = [each for each in calls if each["changed"]]
    unknown = [each for each in calls if each["unknown"]]
    counted = f"{len(changed)} judged otherwise" + (f", {len(unknown)} unknown" if unknown else "")
    click.echo(f"gate: {len(calls)} calls, {counted}; chain {gate['chain']}")
    for row in changed:
        said = f"{row['tool']} was {row['was']}, is {row['now']}: {row['reason'] or '-'}"
        click.echo(f"gate: line {row['line']}: {printable(said)}")
    for row in unknown:
        said = f"{row['tool']} was {row['was']}, today unknown: {row['unknown']}"
        click.echo(f"gate: line {row['line']}: {printable(said)}")


def _tell_findings(found: "Replay") -> None:
    if found.findings_fault is not None:
        click.echo(f"findings: cannot be asked again: {printable(found.findings_fault)}")
        return
    if found.findings_note is not None:
        click.echo(f"findings: {found.findings_note}")
    other = [each for each in found.findings if each.was != each.now]
    if found.findings:
        click.echo(f"findings: {len(found.findings)} asked again, {len(other)} otherwise")
    for each in other:
        said = f"{each.capability} was {each.was or 'not asked'}, is {each.now or 'not asked'}: {each.reason or '-'}"
        click.echo(f"findings: {printable(said)}")


def _differs(drift: "Drift") -> str:
    """What was and is; of a list only what came and what went."""
    if not drift.came and not drift.went:
        return f" was {_value(drift.was)}, is {_value(drift.now)}"
    came = f"came {_members(drift.came)}" if drift.came else ""
    went = f"went {_members(drift.went)}" if drift.went else ""
    return f": {'; '.join(filter(None, (came, went)))}"


def _members(values: Sequence[object]) -> str:
    more = f" and {len(values) - MOST} more" if len(values) > MOST else ""
    return ", ".join(map(_value, values[:MOST])) + more


def _value(value: object) -> str:
    text = "nothing" if value is None else str(value)
    return printable(text if len(text) <= LONGEST else f"{text[:LONGEST]}...")
