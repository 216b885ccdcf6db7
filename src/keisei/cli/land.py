"""`keisei land`: verified candidates on their way to main, and what you say to them."""

import sys
from typing import TYPE_CHECKING, Any, get_args

import click

from keisei.cli.desk import WORDS, actor, desk, fields, first_line, grid, limit_option, reason_option, stamp
from keisei.cli.output import emit_json, json_option
from keisei.cli.surroundings import settings
from keisei.records.error import KeiseiError, OperatorError, Refused
from keisei.records.landing import LandingStatus
from keisei.records.problem import printable

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from keisei.cli.desk import Desk
    from keisei.engine.ports import Store
    from keisei.records.id import TaskId
    from keisei.records.landing import LandingRecord
    from keisei.wiring.runner import Line
    from keisei.wiring.shop import Shop

STATUSES: tuple[str, ...] = get_args(LandingStatus)
ENDS = {"landed": 0, "rejected": 2}
"""How `approve` ends, by what became of a landing; everything else needs a person."""
NEEDS_YOU, REFUSED = 3, 2
SHORT = 7
"""Characters of a commit that people are shown."""
NONE_YET = "no landing yet: a task that completes with changes leaves one (`keisei task list` shows tasks)"
EFFECTS: "Mapping[str, Mapping[str, str]]" = {
    "held": {
        "approve": "it lands; where its branch has moved, it is verified again before",
        "reject": "it does not land; the candidate is kept, and with --respawn a new task takes over",
    },
    "queued": {
        "approve": "it lands in this terminal, in its turn",
        "reject": "it does not land; the candidate is kept, and with --respawn a new task takes over",
    },
    "landed": {"revert": "a commit takes back what it changed; the history stays"},
    "rejected": {"reject --respawn": "a new task takes over, with the findings in its prompt"},
}
"""What may be said to a landing where it stands, and what follows."""


@click.group("land", context_settings={"help_option_names": ["-h", "--help"]})
def group() -> None:
    """Landings: verified candidates on their way to main. An id may be shortened as long as it means one."""


@group.command("list")
@click.option("--status", "statuses", multiple=True, type=click.Choice(STATUSES), help="Only these; may be repeated.")
@limit_option
@json_option
def list_landings(statuses: tuple[Any, ...], limit: int, as_json: bool) -> int:
    """Landings, newest first."""
    from keisei.contracts.check import data_of
    from keisei.records.move import LandingQuery

    with desk() as opened:
        found = opened.store.landings(LandingQuery(statuses=statuses, limit=limit))
        unreadable = [each for each in opened.store.unreadable() if each.startswith("landing ")]
    for name in unreadable:
        click.echo(printable(f"warning: the stored {name} cannot be read, and is left out"), err=True)
    if as_json:
        emit_json([data_of(each) for each in found])
    elif found:
        grid(("landing", "status", "branch", "commits", "updated", "task", "reason"), [_row(each) for each in found])
    else:
        click.echo(f"no landing is {' or '.join(statuses)}; `keisei land list` shows all" if statuses else NONE_YET)
    return 0


def _row(landing: "LandingRecord") -> tuple[object, ...]:
    return (
        landing.landing_id,
        landing.status,
        landing.branch,
        _commits(landing.before_commit, landing.after_commit) or "-",
        stamp(landing.updated_at),
        landing.task_id,
        first_line(landing.reason),
    )


@group.command("show")
@click.argument("landing_id", type=WORDS)
@click.option("--diff", is_flag=True, help="Print the candidate's patch, and nothing else.")
@json_option
def show(landing_id: str, diff: bool, as_json: bool) -> int:
    """One landing: the candidate, its commits, what every predicate said of it, and the files it changes."""
    if diff and as_json:
        raise OperatorError("--diff prints a patch and --json does not", "give one of them")
    with desk() as opened:
        landing = known_landing(opened.store, landing_id)
        if diff:
            return _print_patch(opened, landing)
        found = _everything(opened, landing)
    if as_json:
        emit_json(found)
        return 0
    fields(found["landing"])
    for line in _lines(found):
        click.echo(line)
    return 0


def _everything(opened: "Desk", landing: "LandingRecord") -> dict[str, Any]:
    from keisei.cli.verdict import report, verdict
    from keisei.contracts.check import data_of
    from keisei.wiring.foreground import changed_files, work_ref

    task, attempt = opened.store.task(landing.task_id), opened.store.attempt(landing.attempt_id)
    findings = opened.store.findings(landing.attempt_id)
    return {
        "landing": data_of(landing),
        "subject": None if task is None else task.subject,
        "verdict": verdict(findings),
        "findings": report(findings)["findings"],
        "changes": [] if attempt is None else [each._asdict() for each in changed_files(opened.home, attempt)],
        "ref": None if attempt is None else work_ref(opened.home, attempt),
        "effects": dict(EFFECTS.get(landing.status, {})),
    }


def _lines(found: "Mapping[str, Any]") -> "Iterator[str]":
    from keisei.cli.summary import change_lines, verdict_lines

    landing = found["landing"]
    if found["subject"]:
        yield f"subject: {first_line(found['subject'])}"
    if commits := _commits(landing.get("before_commit"), landing.get("after_commit")):
        yield f"commits: {commits}"
    yield from verdict_lines(found)
    yield from change_lines(found)
    if found["ref"]:
        yield f"work: git show {found['ref']}"
    for verb, effect in found["effects"].items():
        words = verb.split()
        command = " ".join(("keisei land", words[0], landing["landing_id"], *words[1:]))
        yield f"{command}: {effect}"


def _print_patch(opened: "Desk", landing: "LandingRecord") -> int:
    """Byte for byte, so that git can apply it; on a terminal with control characters escaped."""
    from keisei.cli.desk import known_attempt
    from keisei.wiring.foreground import growing

    attempt, place = known_attempt(opened.store, landing.attempt_id), 0
    while piece := growing(opened.home, attempt, "diff.patch", place):
        place += len(piece)
        sys.stdout.buffer.write(_escaped(piece) if sys.stdout.isatty() else piece)
    sys.stdout.buffer.flush()
    if not place:
        hint = f"`git show {landing.candidate_commit}` shows the candidate, where the repository still has it"
        raise OperatorError(f"the patch of attempt {landing.attempt_id} is not on this machine", hint)
    return 0


def _escaped(piece: bytes) -> bytes:
    lines = piece.decode("utf-8", "replace").split("\n")
    return "\n".join("\t".join(map(printable, line.split("\t"))) for line in lines).encode("utf-8")


# --- orders -----------------------------------------------------------------------------------------------------------


@group.command("approve")
@click.argument("landing_ids", type=WORDS, nargs=-1, required=True)
@reason_option
@click.option("--no-wait", is_flag=True, help="Only put it in the queue: a runner lands it.")
@json_option
def approve(landing_ids: tuple[str, ...], reason: str, no_wait: bool, as_json: bool) -> int:
    """Let candidates land, one after another, in this terminal. Exit 0 landed, 2 rejected, 3 held again."""
    from keisei.contracts.check import data_of

    with desk() as opened:
        known = {each.landing_id: each for each in (known_landing(opened.store, given) for given in landing_ids)}
        queued = [each for each in known.values() if _is_queued(opened.store, each, reason)]
        ended = []
        for each in _landed(opened, queued, no_wait=no_wait):
            ended.append(each)
            if not as_json:
                click.echo(_end_line(each))
    if as_json:
        emit_json([data_of(each) for each in ended])
    refused = REFUSED if len(queued) < len(known) else 0
    return max([refused, *(0 if no_wait else ENDS.get(each.status, NEEDS_YOU) for each in ended)])


def _is_queued(store: "Store", landing: "LandingRecord", reason: str) -> bool:
    """Put it in the queue. False where there is nothing to approve: that is told, and holds up no other."""
    from keisei.cli.door import say_error
    from keisei.engine.land import approve as let_land

    if landing.status in ("queued", "landing"):
        return True
    try:
        let_land(store, landing.landing_id, reason, actor())
    except Refused as error:
        say_error(error)
        return False
    return True


def _landed(opened: "Desk", landings: "list[LandingRecord]", *, no_wait: bool) -> "Iterator[LandingRecord]":
    """What became of each, one after another. A fault is told, and what it kept from landing is left where it is."""
    from keisei.cli.door import say_error

    shop = None if no_wait else _shop(opened)
    for each in landings:
        try:
            if shop is not None:
                _land_now(shop, each)
        except KeiseiError as error:
            say_error(error)
        yield opened.store.landing(each.landing_id) or each


def _land_now(shop: "Shop", landing: "LandingRecord") -> None:
    from keisei.wiring.landing import land_now

    land_now(shop, landing.landing_id, say_line, actor())


def _shop(opened: "Desk") -> "Shop":
    from keisei.wiring.hall import project_shop

    return project_shop(settings(), opened.home, opened.store)


def say_line(line: "Line") -> None:
    """What happens on the way to main, on standard error."""
    click.echo(printable(f"{line.event}: {line.detail}"), err=True)


@group.command("reject")
@click.argument("landing_id", type=WORDS)
@reason_option
@click.option("--respawn", is_flag=True, help="Queue a new task that takes over, with the findings in its prompt.")
@json_option
def reject(landing_id: str, reason: str, respawn: bool, as_json: bool) -> int:
    """Do not let a candidate land. It is kept; its task stays as it is."""
    from keisei.contracts.check import data_of
    from keisei.engine.land import reject as turn_down

    with desk() as opened:
        done, task_id = known_landing(opened.store, landing_id), None
        if done.status != "rejected" or not respawn:
            done = turn_down(opened.store, done.landing_id, reason, actor())
        if respawn:
            task_id = _respawned(opened, done)
    if as_json:
        emit_json({**data_of(done), "respawned_as": task_id})
        return 0
    click.echo(_end_line(done))
    if task_id is not None:
        click.echo(f"task {task_id} takes over: `keisei task watch {task_id}` follows it")
    return 0


def _respawned(opened: "Desk", landing: "LandingRecord") -> "TaskId":
    """The task that takes over. A landing that was rejected before is given one too, and the same one every time."""
    from keisei.wiring.landing_revert import respawn

    return respawn(_shop(opened), landing.landing_id, actor())


@group.command("revert")
@click.argument("landing_id", type=WORDS)
@reason_option
@json_option
def revert(landing_id: str, reason: str, as_json: bool) -> int:
    """Take back what has landed, by a commit that undoes it. Exit 2 where it cannot be undone as the branch is now."""
    from keisei.contracts.check import data_of
    from keisei.wiring.landing_revert import revert as take_back

    with desk() as opened:
        landing = known_landing(opened.store, landing_id)
        done = take_back(_shop(opened), landing.landing_id, reason, actor())
    if as_json:
        emit_json(data_of(done))
    else:
        click.echo(_end_line(done))
    return 0 if done.status == "reverted" else REFUSED


# --- words ------------------------------------------------------------------------------------------------------------


def known_landing(store: "Store", given: str) -> "LandingRecord":
    """The landing with this id, or the one whose id begins so. Raises OperatorError for none, and for several."""
    from keisei.records.id import LandingId
    from keisei.records.move import LandingQuery

    found = store.landing(LandingId(given)) if given else None
    if found is not None:
        return found
    near = store.landings(LandingQuery(begins=given, limit=1000)) if given else []
    if len(near) == 1:
        return near[0]
    if near:
        raise OperatorError(f"{len(near)} landings have an id that begins with `{given}`", "give more of it")
    raise OperatorError(f"no landing has the id `{given}`", _whose(store, given) or "`keisei land list` shows all")


def _whose(store: "Store", given: str) -> str | None:
    """The landings of a task whose id was given: both look alike."""
    from keisei.records.id import TaskId
    from keisei.records.move import LandingQuery

    found = store.landings(LandingQuery(task_id=TaskId(given), limit=1)) if given else []
    return f"that is a task: its landing is {found[0].landing_id}" if found else None


def landing_words(landing: "Mapping[str, Any]") -> str:
    """Where a landing stands and what to do about it, on one line."""
    status, reason = landing["status"], first_line(landing.get("reason"))
    if status == "landed":
        return f"landed {_commits(landing.get('before_commit'), landing['after_commit'])} on {landing['branch']}"
    if status == "reverted":
        return f"reverted by {_short(landing.get('revert_commit'))} on {landing['branch']}"
    if status == "rejected":
        return f"rejected: {reason}"
    if status == "held":
        return f"held: {reason}; keisei land approve {landing['landing_id']}"
    return f"{status} on {landing['branch']}; a runner lands it, or keisei land approve {landing['landing_id']}"


def _end_line(landing: "LandingRecord") -> str:
    from keisei.contracts.check import data_of

    return printable(f"{landing.landing_id} {landing_words(data_of(landing))}")


def _commits(before: str | None, after: str | None) -> str:
    """The branch before and after; nothing for what has not landed."""
    return f"{_short(before)} -> {_short(after)}" if after else ""


def _short(commit: str | None) -> str:
    return commit[:SHORT] if commit else "-"
