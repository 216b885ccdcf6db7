"""`keisei ledger checkpoint` and `key`: sign how far the ledger has come, and with which key."""

import click

from keisei.cli.desk import desk
from keisei.cli.output import emit_json, json_option
from keisei.records.error import OperatorError


@click.command("checkpoint")
@json_option
def checkpoint(as_json: bool) -> int:
    """Sign the ledger as it is now, and publish that: in the table, the state folder and the repository.

    Runners do it by themselves, as often as `[ledger] checkpoint-rows` says and when they end. A ledger that does not
    begin with what was signed of it before, or has a row behind that which does not hold, is not signed. Of older rows
    two blocks of 256 are looked at again, chosen by chance; `keisei ledger verify` looks at all.
    """
    from keisei.cli.surroundings import say
    from keisei.wiring.checkpoint import checkpoint as make
    from keisei.wiring.signing import origin, signer

    with desk() as opened:
        home = opened.home
        own = signer(home.folder, home.name)
        made = make(opened.store, own, origin(home.name), home.root, home.folder)
    if made is None:
        raise OperatorError("the ledger has no rows yet", "run a task, or write one with `keisei ledger append`")
    for trouble in made.troubles:
        say(trouble)
    told = {"origin": made.origin, "size": made.size, "root": made.root.hex()}
    if as_json:
        emit_json({**told, "new": made.new, "note": made.note, "troubles": list(made.troubles)})
    else:
        for name, value in told.items():
            click.echo(f"{name}: {value}")
    return 0


@click.command("key")
@json_option
def key(as_json: bool) -> int:
    """The verifier key of this machine, made where there is none: keep it elsewhere, for `verify --key`."""
    from keisei.wiring.checkpoint import ledger_signer

    with desk() as opened:
        own = ledger_signer(opened.store, opened.home.folder, opened.home.name)
    if as_json:
        emit_json({"name": own.name, "vkey": own.vkey})
    else:
        click.echo(own.vkey)
    return 0
