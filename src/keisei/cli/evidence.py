"""`keisei evidence`: what can be proved of an attempt, as signed statements that anybody can check."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from keisei.cli.desk import REFUSED, desk, known_attempt
from keisei.cli.output import emit_json, json_option, write_whole
from keisei.records.error import OperatorError
from keisei.records.problem import printable

if TYPE_CHECKING:
    from keisei.cli.desk import Desk
    from keisei.rules.attestation import Json
    from keisei.wiring.attestation import Gathered
    from keisei.wiring.attestation_verify import Verified


@click.group("evidence", context_settings={"help_option_names": ["-h", "--help"]})
def group() -> None:
    """Evidence: what can be proved of an attempt, as signed in-toto statements that anybody can check."""


@group.command("show")
@click.argument("attempt_id")
@json_option
def show(attempt_id: str, as_json: bool) -> int:
    """What would be attested: what was verified, what every predicate said, how it came about. Nothing is signed."""
    from keisei.wiring.attestation import said

    with desk() as opened:
        gathered = _gathered(opened, attempt_id)
        told = said(gathered)
    if as_json:
        emit_json(told)
        return 0
    for each in told[0]["subject"]:
        (algorithm, digest), *_ = each["digest"].items()
        click.echo(f"subject {printable(each['name'])} {algorithm}:{printable(digest)}")
    for each in told:
        _shown(each["predicateType"], each["predicate"])
    for line in gathered.lost:
        click.echo(f"left out: {printable(line)}", err=True)
    return 0


def _shown(kind: str, predicate: "Json") -> None:
    from keisei.rules.attestation import PROVENANCE, SVR
    from keisei.rules.canonical import canonical

    def text(value: object) -> str:
        return printable(value if isinstance(value, str) else canonical(value).decode())

    click.echo(f"\n{kind}")
    if kind == SVR:
        parts = {"properties": predicate["properties"], "timeCreated": predicate["timeCreated"]}
    elif kind == PROVENANCE:
        definition, details = predicate["buildDefinition"], predicate["runDetails"]
        parts = {**definition["externalParameters"], **definition["internalParameters"], **details["metadata"]}
        parts["byproducts"] = len(details["byproducts"])
    else:
        parts = {name: value for name, value in predicate.items() if name != "configuration"}
    for name, value in parts.items():
        if isinstance(value, list):
            click.echo(f"  {name}: {', '.join(map(text, value)) or '-'}")
        else:
            click.echo(f"  {name}: {text(value)}")


@group.command("export")
@click.argument("attempt_id")
@click.argument("folder", type=click.Path(path_type=Path), metavar="[DIR]", required=False)
@json_option
def export(attempt_id: str, folder: Path | None, as_json: bool) -> int:
    """Write the signed statements, every file they name and the proofs of their ledger rows to DIR.

    Without DIR the signed statements alone are printed, a DSSE envelope a line.
    """
    from keisei.wiring.attestation import Archive, attested
    from keisei.wiring.attestation_export import export as write

    with desk() as opened:
        archive, gathered = Archive(opened.home, opened.store), _gathered(opened, attempt_id)
        if folder is None:
            for envelope in attested(archive, gathered):
                click.echo(envelope)
            return 0
        done = write(archive, gathered, folder.absolute())
    if as_json:
        emit_json({"folder": str(done.folder), "files": list(done.files), "told": list(done.told)})
        return 0
    click.echo(f"wrote {len(done.files)} files to {printable(str(done.folder))}")
    for line in done.told:
        click.echo(printable(line), err=True)
    return 0


@group.command("verify")
@click.argument("target", metavar="ATTEMPT|DIR")
@click.option("--key", "keys", multiple=True, metavar="VKEY", help="Whose signature counts; for a folder.")
@click.option("--repository", type=click.Path(path_type=Path), help="Where the commits are; for a folder.")
@json_option
def verify(target: str, keys: tuple[str, ...], repository: Path | None, as_json: bool) -> int:
    """Say every claim again, from the ledger, the evidence and the repository, and name each that does not hold.

    Of an attempt the claims are made anew here, and the note on its commit is held against them. A folder that
    `keisei evidence export` wrote, wherever it comes from, is checked by the program that `keisei evidence verifier`
    prints, run by itself.

    Exit 0: every claim holds. 1: it cannot be read. 2: a claim does not hold. 3, for a folder: nothing is wrong, but
    without --key nobody knows who signed, or without --repository what git says.
    """
    folder = Path(target)
    if folder.is_dir():
        return _of_folder(folder, keys, repository, as_json)
    if keys or repository is not None:
        raise OperatorError(f"`{target}` is no folder", "--key and --repository are for an exported folder")
    done = _of_attempt(target)
    if as_json:
        held = {"attempt_id": done.attempt_id, "holds": not done.faults, "statements": list(done.statements)}
        emit_json({**held, "faults": list(done.faults), "told": list(done.told)})
    else:
        _tell(done)
    return REFUSED if done.faults else 0


def _of_attempt(attempt_id: str) -> "Verified":
    from keisei.wiring.attestation import Archive
    from keisei.wiring.attestation_verify import verify_here

    with desk() as opened:
        return verify_here(Archive(opened.home, opened.store), _gathered(opened, attempt_id))


def _of_folder(folder: Path, keys: tuple[str, ...], repository: Path | None, as_json: bool) -> int:
    """The exit status of the offline verifier, whose words are passed on as they are."""
    import subprocess
    from importlib.resources import as_file, files

    words = ["attestation", str(folder.absolute()), *(f"--key={each}" for each in keys)]
    words += [] if repository is None else [f"--repository={repository.absolute()}"]
    with as_file(files("keisei.evidence").joinpath("offline.py")) as program:
        argv = [sys.executable, "-I", str(program), *words, *(["--json"] if as_json else [])]
        done = subprocess.run(argv, stdin=subprocess.DEVNULL, capture_output=True, check=False)  # noqa: S603 - our own file
    if done.returncode < 0:
        raise OperatorError(f"the verifier was ended by signal {-done.returncode}", "try again")
    click.echo(done.stdout, nl=False)
    click.echo(done.stderr, nl=False, err=True)
    return done.returncode


def _tell(done: "Verified") -> None:
    for line in done.told:
        click.echo(printable(line), err=True)
    for line in done.faults:
        click.echo(f"does not hold: {printable(line)}")
    if not done.faults:
        click.echo(f"attempt {printable(done.attempt_id)}: every claim of {len(done.statements)} statements holds")


@group.command("attach")
@click.argument("attempt_id")
@json_option
def attach(attempt_id: str, as_json: bool) -> int:
    """Add the signed statements to the landed commit as a git note, under refs/notes/keisei."""
    from keisei.wiring.attestation import Archive
    from keisei.wiring.attestation_note import attach as note
    from keisei.workspace.ref import NOTES

    with desk() as opened:
        commit, new = note(Archive(opened.home, opened.store), _gathered(opened, attempt_id))
    if as_json:
        emit_json({"commit": commit, "ref": NOTES, "added": new})
    else:
        click.echo(f"{commit}: {new} statements added to {NOTES}" if new else f"{commit}: they are there already")
    return 0


@group.command("verifier")
@click.option("--out", type=click.Path(path_type=Path), help="Write it there instead of printing it.")
def verifier(out: Path | None) -> int:
    """Print a program that checks exports, proofs and ledgers without keisei: one file, Python's standard library."""
    from importlib.resources import files

    text = files("keisei.evidence").joinpath("offline.py").read_bytes()
    if out is None:
        sys.stdout.buffer.write(text)
    else:
        write_whole(out, text)
        click.echo(f"wrote {printable(str(out))}: `python3 -I {printable(str(out))} --help`")
    return 0


def _gathered(opened: "Desk", attempt_id: str) -> "Gathered":
    from keisei.wiring.attestation import Archive, gather

    return gather(Archive(opened.home, opened.store), known_attempt(opened.store, attempt_id))
