"""`keisei attempt`: one run of a task, and the evidence it left."""

import sys
import time
from contextlib import suppress
from typing import TYPE_CHECKING

import click

from keisei.cli.desk import desk, fields, first_line, grid, known_attempt, known_task, limit_option, stamp
from keisei.cli.output import emit_json, json_option
from keisei.records.error import OperatorError, Refused
from keisei.records.problem import printable

if TYPE_CHECKING:
    from keisei.cli.desk import Desk
    from keisei.records.attempt import TaskAttempt

LOOK_S = 0.2


@click.group("attempt", context_settings={"help_option_names": ["-h", "--help"]})
def group() -> None:
    """Attempts: one run of a task, and the evidence it left."""


@group.command("list")
@click.argument("task_id", required=False)
@limit_option
@json_option
def list_attempts(task_id: str | None, limit: int, as_json: bool) -> int:
    """Attempts of one task, oldest first; of all tasks, newest first."""
    from keisei.contracts.check import data_of

    with desk() as opened:
        task = None if task_id is None else known_task(opened.store, task_id).task_id
        found = opened.store.attempts(task, limit)
    if as_json:
        emit_json([data_of(each) for each in found])
    else:
        grid(("attempt", "task", "status", "started", "adapter", "model", "cost"), [_row(each) for each in found])
    return 0


def _row(attempt: "TaskAttempt") -> tuple[object, ...]:
    cost = attempt.usage.cost_usd if attempt.usage is not None else None
    return (
        attempt.attempt_id,
        attempt.task_id,
        attempt.exit_status or "open",
        stamp(attempt.started_at),
        attempt.adapter_id,
        attempt.model or "-",
        "-" if cost is None else f"${cost:.4f}",
    )


@group.command("show")
@click.argument("attempt_id")
@json_option
def show(attempt_id: str, as_json: bool) -> int:
    """One attempt: how it ended, its bundle, its findings, its evidence files."""
    from keisei.contracts.check import data_of
    from keisei.wiring.shop import evidence_files

    with desk() as opened:
        attempt = known_attempt(opened.store, attempt_id)
        bundle = opened.store.bundle(attempt.attempt_id)
        findings = opened.store.findings(attempt.attempt_id)
        files = evidence_files(opened.home, attempt)
    if as_json:
        found = data_of(bundle) if bundle is not None else None
        emit_json({"attempt": data_of(attempt), "bundle": found, "findings": data_of(findings), "evidence": files})
        return 0
    fields(data_of(attempt))
    if bundle is not None:
        fields({"bundle_hash": bundle.bundle_hash, "replay_grade": bundle.replay_grade})
    for finding in findings:
        reason = f", {first_line(finding.reason)}" if finding.reason else ""
        click.echo(f"{printable(finding.capability)}: {finding.status}{reason}")
    for name in files:
        click.echo(f"evidence {name}")
    return 0


@group.command("log")
@click.argument("attempt_id")
@click.option("--name", default="stdout.log", show_default=True, help="Which evidence file.")
@click.option("--follow", is_flag=True, help="Go on while the attempt runs.")
@click.option("--raw", is_flag=True, help="Byte for byte on a terminal too, whatever it makes the terminal do.")
def log(attempt_id: str, name: str, follow: bool, raw: bool) -> int:
    """Print an evidence file: on a terminal with control characters escaped, elsewhere byte for byte."""
    plain = raw or not sys.stdout.isatty()
    with desk() as opened:
        place = 0
        while True:
            attempt = known_attempt(opened.store, attempt_id)
            piece = _piece(opened, attempt, name, place)
            place += len(piece)
            _write(piece, plain=plain)
            if not piece and (not follow or attempt.ended_at is not None):
                return 0
            if not piece:
                time.sleep(LOOK_S)


def _piece(opened: "Desk", attempt: "TaskAttempt", name: str, place: int) -> bytes:
    """More of the file. One that goes away while it is followed has ended: what is stopped from outside leaves none."""
    from keisei.wiring.shop import read_evidence

    try:
        with suppress(FileNotFoundError):  # it has just been put away: it is read where it stands now
            return read_evidence(opened.home, attempt, name, place)
        return read_evidence(opened.home, attempt, name, place)
    except (OperatorError, Refused) as error:
        if place:
            return b""
        hint = f"`keisei attempt show {attempt.attempt_id}` lists all"
        raise OperatorError(f"attempt {attempt.attempt_id} has no evidence `{name}`", hint) from error


def _write(piece: bytes, *, plain: bool) -> None:
    if not plain:
        lines = piece.decode("utf-8", "replace").split("\n")
        piece = "\n".join("\t".join(map(printable, line.split("\t"))) for line in lines).encode("utf-8")
    sys.stdout.buffer.write(piece)
    sys.stdout.buffer.flush()
