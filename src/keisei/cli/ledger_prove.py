"""`keisei ledger prove`: that a row is in the ledger, or that the ledger only grew, for whoever does not have it."""

import click

from keisei.cli.desk import desk
from keisei.cli.output import emit_json


@click.command("prove")
@click.argument("seq", type=click.IntRange(1), required=False)
@click.option("--size", type=click.IntRange(1), help="Of a ledger of that many rows; else of the newest checkpoint.")
@click.option("--from", "old", type=click.IntRange(0), help="Prove instead that the ledger grew from that many rows.")
@click.option("--to", "new", type=click.IntRange(0), help="To that many rows; else to the newest checkpoint.")
def prove(seq: int | None, size: int | None, old: int | None, new: int | None) -> int:
    """Print a proof as JSON: of row SEQ, or with --from that the ledger only grew. Anybody can check it alone."""
    from keisei.wiring.ledger_proof import consistency, inclusion
    from keisei.wiring.signing import origin

    if (seq is None) == (old is None):
        raise click.UsageError("name a row, or a size with --from")
    if (seq is None and size is not None) or (old is None and new is not None):
        raise click.UsageError("--size belongs to a row, --to belongs to --from")
    with desk() as opened:
        name = origin(opened.home.name)
        if seq is not None:
            emit_json(inclusion(opened.store, name, seq, size))
        elif old is not None:
            emit_json(consistency(opened.store, name, old, new))
    return 0
