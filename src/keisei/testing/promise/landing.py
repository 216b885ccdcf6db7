"""Landings: offered with the settlement, moved by who has seen where they stand, with everything that follows."""

from typing import Any

from msgspec.structs import replace

from keisei.records.answer import ApprovalQuery
from keisei.records.approval import ApprovalRecord
from keisei.records.finding import FindingRecord
from keisei.records.id import AttemptId, FindingId, LandingId, TaskId
from keisei.records.landing import LandingRecord, LandingStatus
from keisei.records.move import Claimed, LandingMove, LandingQuery, NewEntry, NewEvent
from keisei.rules.landing import MOVES
from keisei.testing.promise.approval import asked, question
from keisei.testing.promise.approval import read as read_approval
from keisei.testing.promise.book import PARTIES, at_once, promise
from keisei.testing.promise.text import DOUBTFUL, LONG
from keisei.testing.queue import Desk, new_item, refused

COMMIT, TREE = "c" * 40, "7" * 40
MARKED = "a \u2028 strange 'branch' %s :now $1"
PATHS: dict[LandingStatus, tuple[LandingStatus, ...]] = {
    "held": (),
    "queued": ("queued",),
    "landing": ("queued", "landing"),
    "landed": ("queued", "landing", "landed"),
    "rejected": ("rejected",),
    "reverted": ("queued", "landing", "landed", "reverted"),
}
"""How a held landing comes to each status."""


def new_landing(desk: Desk, claimed: Claimed, **changes: Any) -> LandingRecord:  # noqa: ANN401 - fields of LandingRecord
    """A candidate of that attempt, held for a person."""
    now = desk.clock.now()
    fields: dict[str, Any] = {
        "landing_id": LandingId(desk.name("landing")),
        "task_id": claimed.task.task_id,
        "attempt_id": claimed.attempt.attempt_id,
        "branch": "main",
        "candidate_commit": COMMIT,
        "tree": TREE,
        "before_commit": None,
        "after_commit": None,
        "status": "held",
        "reason": "a person decides",
        "created_at": now,
        "updated_at": now,
    }
    return LandingRecord(**(fields | changes))


def offered(desk: Desk, **changes: Any) -> LandingRecord:  # noqa: ANN401 - fields of LandingRecord
    """Such a landing, stored by the settlement of its attempt."""
    claimed = desk.running()
    landing = new_landing(desk, claimed, **changes)
    assert desk.settle(claimed, "completed", landings=(landing,)) == "settled"
    return landing


def waiting(desk: Desk, landing: LandingRecord, **changes: Any) -> ApprovalRecord:  # noqa: ANN401 - of ApprovalRecord
    """What a person is asked about it."""
    fields = {"kind": "landing", "key": f"landing:{landing.landing_id}", "task_id": landing.task_id} | changes
    return asked(desk, **fields)


def moved(desk: Desk, landing: LandingRecord, status: LandingStatus, **changes: Any) -> LandingRecord:  # noqa: ANN401
    """The landing after a move that is made now."""
    fields = {"status": status, "updated_at": desk.clock.now()} | changes
    if status in ("landed", "reverted"):
        fields.setdefault("after_commit", COMMIT)
    return replace(landing, **fields)


def moving(desk: Desk, landing: LandingRecord, status: LandingStatus, **beside: Any) -> LandingMove:  # noqa: ANN401
    """The move with its event and its ledger row."""
    told = NewEvent(event_type="landing_queued", task_id=landing.task_id, attempt_id=landing.attempt_id)
    entry = NewEntry(kind="landing_moved", actor="ann", subject=landing.landing_id, body={"to": status})
    fields = {"events": (told,), "ledger": (entry,)} | beside
    return LandingMove(landing=moved(desk, landing, status), was=landing.status, **fields)


def led(desk: Desk, status: LandingStatus) -> LandingRecord:
    """A landing that has come to a status, move by move."""
    landing = offered(desk)
    for step in PATHS[status]:
        move = moving(desk, landing, step)
        assert desk.store.move_landing(move)
        landing = move.landing
    return landing


def new_finding(desk: Desk, landing: LandingRecord) -> FindingRecord:
    """What verification says on the tree that lands."""
    return FindingRecord(
        finding_id=FindingId(desk.name("finding")),
        attempt_id=landing.attempt_id,
        capability="verify::tests-green",
        status="held",
        severity="block",
        run_from="merged",
        tree=TREE,
        duration_ms=1.5,
        created_at=desk.clock.now(),
    )


@promise
def a_landing_is_offered_with_the_settlement(desk: Desk) -> None:
    """Every field comes back; whoever lost the lease offers nothing, and saying it twice is saying it once."""
    claimed = desk.running()
    landing = new_landing(desk, claimed, branch=MARKED, approved=True, decided_by="ann", before_commit=COMMIT)
    stale = replace(claimed, attempt=replace(claimed.attempt, fence=99))

    with desk.unchanged():
        assert desk.settle(stale, "completed", landings=(landing,)) == "lost"
    assert desk.store.landing(landing.landing_id) is None
    assert desk.settle(claimed, "completed", landings=(landing,)) == "settled"

    assert desk.store.landing(landing.landing_id) == landing
    with desk.unchanged():
        assert desk.settle(claimed, "completed", landings=(landing,)) == "settled"


@promise
def a_landing_and_what_is_asked_about_it_are_one(desk: Desk) -> None:
    """Also where something else was asked about the task before."""
    for before in (False, True):
        claimed = desk.running()
        task_id = claimed.task.task_id
        if before:
            asked(desk, kind="question", task_id=task_id)
        landing = new_landing(desk, claimed)
        approval = question(desk, kind="landing", key=f"landing:{landing.landing_id}", task_id=task_id)

        assert desk.settle(claimed, "completed", landings=(landing,), approvals=(approval,)) == "settled"

        assert desk.store.landing(landing.landing_id) == landing
        assert desk.store.approvals(ApprovalQuery(task_id=task_id)) == [approval]


@promise
def a_settlement_offers_what_is_its_own_and_has_not_begun(desk: Desk) -> None:
    """Anything else is refused, with the whole settlement."""
    claimed, other = desk.running(), desk.running()
    wrong = [
        new_landing(desk, claimed, status=status, after_commit=COMMIT)
        for status in MOVES
        if status not in ("held", "queued")
    ]
    wrong += [new_landing(desk, other), new_landing(desk, claimed, attempt_id=other.attempt.attempt_id)]
    wrong += [new_landing(desk, claimed, landing_id=LandingId(text)) for text in (*DOUBTFUL.values(), LONG)]

    with desk.unchanged():
        for landing in wrong:
            with refused():
                desk.settle(claimed, "completed", landings=(landing,))


@promise
def a_landing_moves_with_everything_that_follows(desk: Desk) -> None:
    """Findings, tasks, messages, events, ledger rows, and what a person is asked."""
    landing = offered(desk, status="queued")
    finding, task = new_finding(desk, landing), desk.task(idempotency_key="respawn", parent_task_id=landing.task_id)
    approval = question(desk, kind="loop")
    item = replace(new_item(desk.running(), desk.clock.now()), key="told", task_id=landing.task_id, attempt_id=None)
    desk.clock.advance(60)
    move = moving(desk, landing, "rejected", findings=(finding,), tasks=(task,), outbox=(item,), approvals=(approval,))

    assert desk.store.move_landing(move)

    assert desk.store.landing(landing.landing_id) == move.landing
    assert desk.store.findings(landing.attempt_id) == [finding]
    assert desk.read(task.task.task_id) == task.task
    assert desk.life(task.task.task_id) == ["task_enqueued"]
    assert desk.life(landing.task_id)[-1] == "landing_queued"
    assert desk.ledger() == [("landing_moved", landing.landing_id)]
    assert desk.store.outbox_item(item.key) == item
    assert desk.store.approvals(ApprovalQuery()) == [approval]


@promise
def a_landing_that_has_moved_is_left_alone(desk: Desk) -> None:
    """Nothing of what would have followed is written; nor is it for a landing nobody knows."""
    landing = offered(desk)
    approval = waiting(desk, landing)
    finding = new_finding(desk, landing)
    beside: dict[str, Any] = {"findings": (finding,), "tasks": (desk.task(),), "resolves": "approved"}
    late = moving(desk, replace(landing, status="queued"), "landing", **beside)
    other = replace(landing, task_id=TaskId("another"))
    alien = replace(landing, attempt_id=AttemptId("another"))

    with desk.unchanged():
        assert not desk.store.move_landing(late)
        assert not desk.store.move_landing(moving(desk, other, "queued", resolves="approved"))
        assert not desk.store.move_landing(moving(desk, alien, "queued", resolves="approved"))
        unknown = replace(landing, landing_id=LandingId("unknown"))
        assert not desk.store.move_landing(moving(desk, unknown, "queued", **beside))
    assert read_approval(desk, approval) == approval
    assert desk.store.findings(landing.attempt_id) == []


@promise
def a_move_that_there_is_not_is_refused(desk: Desk) -> None:
    """From wherever a landing stands; every other one is made."""
    for was, targets in MOVES.items():
        for status in MOVES:
            landing = led(desk, was)
            move = moving(desk, landing, status)
            if status in targets:
                assert desk.store.move_landing(move)
                assert desk.store.landing(landing.landing_id) == move.landing
                continue
            with desk.unchanged(), refused():
                desk.store.move_landing(move)


@promise
def a_move_that_contradicts_itself_is_refused(desk: Desk) -> None:
    """A finding about another attempt, a decision that decides nothing, a record that nobody could read again."""
    landing, other = offered(desk), offered(desk)
    waiting(desk, landing)
    good = moving(desk, landing, "queued", resolves="approved", findings=(new_finding(desk, landing),))
    item = replace(new_item(desk.running(), desk.clock.now()), attempt_id=AttemptId("gone"))

    with desk.unchanged():
        for wrong in (
            replace(good, findings=(new_finding(desk, other),)),
            replace(good, resolves="open"),
            replace(good, landing=replace(good.landing, tree="no tree")),
            replace(good, outbox=(item,)),
        ):
            with refused():
                desk.store.move_landing(wrong)
    assert desk.store.findings(landing.attempt_id) == []


@promise
def a_move_closes_what_was_asked_about_the_landing(desk: Desk) -> None:
    """As it says, by whoever made it, with event and ledger row; what else is open stays, and so it does unsaid."""
    landing, other = offered(desk), offered(desk)
    approval, another = waiting(desk, landing), waiting(desk, other)
    task = asked(desk, kind="task", task_id=landing.task_id)
    desk.clock.advance(60)
    move = moving(desk, landing, "rejected", resolves="rejected")

    assert desk.store.move_landing(move)
    assert desk.store.move_landing(moving(desk, other, "queued"))

    done = {"status": "rejected", "decided_at": desk.clock.now(), "decided_by": "ann", "answer": landing.reason}
    assert read_approval(desk, approval) == replace(approval, **done)
    assert [read_approval(desk, each) for each in (another, task)] == [another, task]
    assert desk.life(landing.task_id)[-2:] == ["landing_queued", "approval_decided"]
    assert desk.ledger()[:2] == [("landing_moved", landing.landing_id), ("approval_decided", approval.approval_id)]


@promise
def a_landing_may_be_held_again(desk: Desk) -> None:
    """The question is closed when it moves on, and asked anew when it comes back, in one move each."""
    landing = offered(desk)
    first = waiting(desk, landing)
    queued = moving(desk, landing, "queued", resolves="approved")
    assert desk.store.move_landing(queued)
    second = replace(first, approval_id=question(desk).approval_id)
    held = moving(desk, queued.landing, "held", approvals=(second,), resolves="resolved")

    assert desk.store.move_landing(held)

    assert read_approval(desk, first).status == "approved"
    assert desk.store.approvals(ApprovalQuery()) == [second]


@promise
def a_task_that_takes_over_is_queued_once(desk: Desk) -> None:
    """By its key: the landing moves all the same."""
    known = desk.running(idempotency_key="respawn:one").task.task_id
    landing = offered(desk)
    again = desk.task(idempotency_key="respawn:one")

    assert desk.store.move_landing(moving(desk, landing, "rejected", tasks=(again,)))

    assert desk.store.task(again.task.task_id) is None
    assert desk.life(known) == ["task_enqueued", "task_claimed"]
    assert desk.store.landings(LandingQuery(statuses=("rejected",)))[0].landing_id == landing.landing_id


@promise
def of_many_who_move_a_landing_one_does(desk: Desk) -> None:
    """One event, one ledger row, one task, whatever each of them wants."""
    landing = offered(desk)
    approval = waiting(desk, landing)
    wanted: tuple[LandingStatus, LandingStatus] = ("queued", "rejected")
    moves = [
        moving(desk, landing, wanted[number % 2], resolves="approved", tasks=(desk.task(),))
        for number in range(PARTIES)
    ]
    stores = [desk.another() for _ in moves]

    answers = at_once(lambda store, move: store.move_landing(move), stores, moves)

    assert sum(answers) == 1
    winner = moves[answers.index(True)]
    assert desk.store.landing(landing.landing_id) == winner.landing
    assert desk.store.counts()["pending"] == 1
    assert desk.life(landing.task_id).count("landing_queued") == 1
    assert read_approval(desk, approval).status == "approved"
    assert desk.ledger() == [("landing_moved", landing.landing_id), ("approval_decided", approval.approval_id)]


@promise
def landings_are_found_by_what_is_asked(desk: Desk) -> None:
    """Oldest or newest first, never more than asked for; a move changes no place."""
    by_status = {status: led(desk, status) for status in MOVES}
    made = list(by_status.values())
    first = made[0]

    def found(**query: Any) -> list[LandingRecord]:  # noqa: ANN401 - fields of LandingQuery
        return desk.store.landings(LandingQuery(**query))

    assert found() == made[::-1]
    assert found(oldest=True) == made
    assert found(oldest=True, limit=2) == made[:2]
    assert found(limit=-1) == []
    for status, landing in by_status.items():
        assert found(statuses=(status, status)) == [landing]
    assert found(statuses=("landing", "queued"), oldest=True) == [by_status["queued"], by_status["landing"]]
    assert found(statuses=("held", "rejected")) == [by_status["rejected"], by_status["held"]]
    assert found(task_id=first.task_id) == found(attempt_id=first.attempt_id) == [first]
    assert found(begins=first.landing_id) == [first]
    assert found(begins="landing-") == made[::-1]
    assert found(task_id=first.task_id, statuses=("landed",)) == []
    for text in (*DOUBTFUL.values(), LONG, "nobody"):
        assert desk.store.landing(LandingId(text)) is None
        assert found(task_id=text) == found(attempt_id=text) == found(begins=text) == []
