"""`keisei ledger verify`: whether the ledger holds, and where it does not."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from keisei.cli.body import checked_digest
from keisei.cli.desk import desk
from keisei.cli.output import emit_json, json_option
from keisei.records.error import OperatorError

if TYPE_CHECKING:
    from keisei.rules.note import VerifierKey
    from keisei.wiring.ledger_verify import Verification


@click.command("verify")
@click.option("--head", help="A chain hash that was kept elsewhere: it must still be in the chain.")
@click.option(
    "--checkpoint",
    "checkpoints",
    multiple=True,
    type=click.Path(path_type=Path),
    help="A checkpoint that was kept elsewhere: the ledger must still begin with it. More than one is fine.",
)
@click.option("--key", "keys", multiple=True, help="A verifier key: every checkpoint must be signed with one of these.")
@json_option
def verify(head: str | None, checkpoints: tuple[Path, ...], keys: tuple[str, ...], as_json: bool) -> int:
    """Check every row, and every checkpoint. Exit 0 if the ledger is whole, 2 with the first place that does not hold.

    Checkpoints in the table, the state folder and the repository show rows that were cut off the end, or written anew;
    whoever can change all three is found by a checkpoint, a head or a key that was kept elsewhere. With --key only the
    keys that are given count. Where checkpoints were found is told, and what is missing; that alone is no failure.
    """
    import msgspec

    from keisei.records.problem import printable
    from keisei.wiring.ledger_verify import Asked
    from keisei.wiring.ledger_verify import verify as verified
    from keisei.wiring.signing import origin

    kept_head = None if head is None else checked_digest(head.lower())
    given, notes = tuple(map(_key, keys)), tuple(map(_note, checkpoints))
    with desk() as opened:
        asked = Asked(
            origin=origin(opened.home.name),
            state=opened.home.folder,
            repository=opened.home.root,
            head=kept_head,
            keys=given,
            checkpoints=notes,
        )
        found = verified(opened.store, asked)
    if as_json:
        emit_json(msgspec.to_builtins(found))
    else:
        for line in (sentence(found), *places(found), *map(printable, found.told)):
            click.echo(line)
    return 0 if found.ok else 2


def sentence(found: "Verification") -> str:
    """What was found, in one line."""
    from keisei.records.problem import printable

    if found.broken is not None:
        where = f"row {found.broken.row}: " if found.broken.row is not None else ""
        return printable(f"broken at {where}{found.broken.why}")
    rows = f"{_counted(found.rows, 'row')}, whole"
    if not found.ok:
        return f"{rows}, but none has the head that was kept: rows were cut off the end"
    rest = f"; {_counted(found.unsealed, 'row')} not sealed yet" if found.unsealed else ""
    signed = f"; {checkpoints_hold(found.checkpoints.checked)}" if found.checkpoints.checked else ""
    behind = f"; {_counted(found.unsigned, 'row')} not signed yet" if signed and found.unsigned else ""
    return f"{rows}{rest}{signed}{behind}; head {found.head}"


def places(found: "Verification") -> list[str]:
    """Where its checkpoints were found, in a line; none where there are none."""
    count = found.checkpoints
    if not found.ok or not count.checked:
        return []
    parts = [f"{count.table} in the table"]
    if count.folder is not None:
        parts.append("the newest in the state folder" if count.folder else "none in the state folder")
    if count.repository is not None:
        parts.append(f"{count.repository} of {count.table} in the repository")
    return [f"checkpoints: {', '.join(parts)}"]


def checkpoints_hold(number: int) -> str:
    """How many hold, in words."""
    return f"{_counted(number, 'checkpoint')} {'holds' if number == 1 else 'hold'}"


def _counted(number: int, word: str) -> str:
    return f"{number} {word}{'' if number == 1 else 's'}"


def _key(text: str) -> "VerifierKey":
    from keisei.rules.note import parse_vkey

    try:
        return parse_vkey(text)
    except ValueError as error:
        raise OperatorError(
            f"that is no verifier key: {error}", "give the word that `keisei ledger key` prints"
        ) from None


def _note(path: Path) -> str:
    from keisei.wiring.ledger_kept import kept_file

    note = kept_file(path)
    if note is None:
        raise OperatorError(f"there is no file `{path}`", "name a file with a checkpoint")
    return note
