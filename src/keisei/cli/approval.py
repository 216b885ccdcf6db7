"""`keisei approval`: what needs you, and what you say to it."""

from typing import TYPE_CHECKING

import click

from keisei.cli.desk import WORDS, actor, desk, fields, first_line, grid, limit_option, reason_option, stamp
from keisei.cli.output import emit_json, json_option
from keisei.records.error import OperatorError
from keisei.records.problem import printable

if TYPE_CHECKING:
    from keisei.cli.desk import Desk
    from keisei.engine.ports import Store
    from keisei.records.approval import ApprovalRecord


@click.group("approval", context_settings={"help_option_names": ["-h", "--help"]})
def group() -> None:
    """Approvals: what needs you, and what you say to it. An id may be shortened as long as it means one."""


@group.command("list")
@click.option("--all", "everything", is_flag=True, help="Also what was decided, newest first.")
@limit_option
@json_option
def list_approvals(everything: bool, limit: int, as_json: bool) -> int:
    """What waits for a decision, the nearest deadline first."""
    from keisei.contracts.check import data_of
    from keisei.records.answer import ApprovalQuery

    with desk() as opened:
        query = ApprovalQuery(statuses=(), limit=limit) if everything else ApprovalQuery(urgent=True, limit=limit)
        found = [_dated(each, opened) for each in opened.store.approvals(query)]
        unreadable = opened.store.unreadable()
    for name in unreadable:
        click.echo(printable(f"warning: the stored {name} cannot be read, and is left out"), err=True)
    if not everything:
        found.sort(key=lambda each: each.deadline or each.created_at)
    if as_json:
        emit_json([data_of(each) for each in found])
        return 0
    grid(("approval", "kind", "status", "deadline", "about", "reason"), [_row(each) for each in found])
    return 0


def _dated(approval: "ApprovalRecord", opened: "Desk") -> "ApprovalRecord":
    from keisei.records.project import ProjectApprovals
    from keisei.rules.approval import dated

    return dated(approval, opened.home.file.approvals or ProjectApprovals())


def _row(approval: "ApprovalRecord") -> tuple[object, ...]:
    return (
        approval.approval_id,
        approval.kind,
        approval.status,
        stamp(approval.deadline),
        approval.task_id or approval.workflow_id or approval.key.partition(":")[2],
        first_line(approval.reason),
    )


@group.command("show")
@click.argument("approval_id", type=WORDS)
@json_option
def show(approval_id: str, as_json: bool) -> int:
    """One approval: why, what was asked, where the evidence stands, and what each decision does."""
    from keisei.contracts.check import data_of
    from keisei.rules.approval import effects

    with desk() as opened:
        found = _dated(_known(opened.store, approval_id), opened)
    told_effects = effects(found)
    if as_json:
        emit_json({"approval": data_of(found), "effects": told_effects})
        return 0
    told = data_of(found)
    told.pop("questions", None)
    told.pop("evidence", None)
    fields(told)
    for question in found.questions:
        click.echo(f"question: {printable(question)}")
    for name in found.evidence:
        click.echo(f"evidence: keisei attempt log {found.attempt_id} --name {printable(name)}")
    for verb, effect in told_effects.items():
        click.echo(f"{verb}: {effect}")
    return 0


@group.command("approve")
@click.argument("approval_id", type=WORDS)
@reason_option
@json_option
def approve(approval_id: str, reason: str, as_json: bool) -> int:
    """Let it go on; `keisei approval show` says what that means."""
    from keisei.engine.approval import approve as let_go_on
    from keisei.engine.budget import policy_of

    with desk() as opened:
        found = _known(opened.store, approval_id)
        limits = policy_of(opened.home.file.budget)
        done = let_go_on(opened.office(), found.approval_id, reason, actor(), limits)
    return _told(done, as_json)


@group.command("reject")
@click.argument("approval_id", type=WORDS)
@reason_option
@json_option
def reject(approval_id: str, reason: str, as_json: bool) -> int:
    """Do not let it go on: a task is cancelled, anything else stays as it is."""
    from keisei.engine.approval import reject as turn_down

    with desk() as opened:
        found = _known(opened.store, approval_id)
        done = turn_down(opened.store, found.approval_id, reason, actor())
    return _told(done, as_json)


@group.command("answer")
@click.argument("approval_id", type=WORDS)
@click.argument("text", type=WORDS, required=False)
@click.option("--file", help="A file with the answer; `-` is standard input.")
@json_option
def answer(approval_id: str, text: str | None, file: str | None, as_json: bool) -> int:
    """Answer the agent: its task goes on, and the next attempt reads TEXT."""
    from keisei.cli.intent import read_text
    from keisei.engine.approval import answer as give_answer

    if (text is None) == (file is None):
        raise OperatorError("give either TEXT or --file", "`keisei approval answer --help` shows both")
    with desk() as opened:
        found = _known(opened.store, approval_id)
        said = text if file is None else read_text(file)
        done = give_answer(opened.store, found.approval_id, said or "", actor())
    return _told(done, as_json)


def _known(store: "Store", given: str) -> "ApprovalRecord":
    """The approval with this id, or the one whose id begins so. Raises OperatorError for none, and for several."""
    from keisei.records.answer import ApprovalQuery
    from keisei.records.id import ApprovalId

    found = store.approval(ApprovalId(given))
    if found is not None:
        return found
    near = store.approvals(ApprovalQuery(statuses=(), begins=given, limit=1000)) if given else []
    if len(near) == 1:
        return near[0]
    if near:
        raise OperatorError(f"{len(near)} approvals have an id that begins with `{given}`", "give more of it")
    raise OperatorError(f"no approval has the id `{given}`", "`keisei approval list --all` shows all")


def _told(approval: "ApprovalRecord", as_json: bool) -> int:
    from keisei.contracts.check import data_of

    if as_json:
        emit_json(data_of(approval))
        return 0
    about = f": task {approval.task_id}" if approval.task_id is not None else ""
    click.echo(f"{approval.approval_id} {approval.status}{about}")
    return 0
