"""Approvals: what needs a person is asked once, decided once, and never forgotten."""

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from typing import Any

from msgspec.structs import replace

from keisei.records.answer import ApprovalQuery, Decision
from keisei.records.approval import ApprovalRecord
from keisei.records.beside import Beside
from keisei.records.id import ApprovalId, TaskId
from keisei.records.move import NewEntry, NewEvent
from keisei.records.task import TaskRecord
from keisei.testing.promise.book import PARTIES, at_once, promise
from keisei.testing.promise.order import canceling, freeing
from keisei.testing.promise.outbox import delivery
from keisei.testing.promise.text import DOUBTFUL, LONG, STORED
from keisei.testing.queue import Desk, new_item, refused

EVERY = ApprovalQuery(statuses=(), limit=1000)
TOLD = Beside(
    events=(NewEvent(event_type="approval_decided"),),
    ledger=(NewEntry(kind="approval_decided", actor="ann", subject="an approval", body={}),),
)


def question(desk: Desk, **changes: Any) -> ApprovalRecord:  # noqa: ANN401 - fields of ApprovalRecord
    """Something that needs a person."""
    fields: dict[str, Any] = {
        "approval_id": ApprovalId(desk.name("approval")),
        "kind": "adapter",
        "key": desk.name("key"),
        "reason": "nobody else can",
        "created_at": desk.clock.now(),
        "decided_at": None,
    }
    return ApprovalRecord(**(fields | changes))


def asked(desk: Desk, **changes: Any) -> ApprovalRecord:  # noqa: ANN401 - fields of ApprovalRecord
    """It was asked."""
    approval = question(desk, **changes)
    assert desk.store.ask(Beside(approvals=(approval,))) == 1
    return approval


def blocked(desk: Desk, **changes: Any) -> tuple[TaskRecord, ApprovalRecord]:  # noqa: ANN401 - of ApprovalRecord
    """A task that waits for a person, and the approval its settlement wrote."""
    claimed = desk.running()
    task_id = claimed.task.task_id
    approval = question(desk, **({"kind": "task", "key": f"task:{task_id}", "task_id": task_id} | changes))
    assert desk.settle(claimed, "blocked", approvals=(approval,)) == "settled"
    return desk.read(task_id), approval


def decided(desk: Desk, approval: ApprovalRecord, status: str = "approved", **changes: Any) -> ApprovalRecord:  # noqa: ANN401
    """The approval as ann decides it now."""
    fields = {"status": status, "decided_at": desk.clock.now(), "decided_by": "ann"} | changes
    return replace(approval, **fields)


def read(desk: Desk, approval: ApprovalRecord) -> ApprovalRecord:
    """As it stands in the store."""
    found = desk.store.approval(approval.approval_id)
    assert found is not None
    return found


@contextmanager
def untouched(desk: Desk) -> Iterator[None]:
    """Nothing is written, approvals included."""
    before = desk.store.approvals(EVERY)
    with desk.unchanged():
        yield
    assert desk.store.approvals(EVERY) == before


@promise
def what_needs_a_person_is_kept_as_it_was_asked(desk: Desk) -> None:
    """Every field, with everything that is written beside it."""
    now = desk.clock.now()
    approval = question(
        desk,
        kind="question",
        task_id=TaskId("a task"),
        questions=("which?",),
        detail={"spent": 1.5},
        evidence=("stdout.txt",),
        deadline=now + timedelta(hours=1),
    )
    told = NewEvent(event_type="approval_asked", detail={"key": approval.key})

    assert desk.store.ask(Beside(approvals=(approval,), events=(told,))) == 1

    assert desk.store.approval(approval.approval_id) == approval
    assert desk.store.approvals(ApprovalQuery()) == [approval]
    assert desk.life(None) == ["approval_asked"]


@promise
def while_a_key_is_open_no_second_one_is_asked(desk: Desk) -> None:
    """A key that was decided may be asked again; a known id never."""
    first = asked(desk)
    second = replace(first, approval_id=ApprovalId("second"), reason="again")

    with untouched(desk):
        assert desk.store.ask(Beside(approvals=(second,))) == 0
        assert desk.store.ask(Beside(approvals=(replace(first, key="another"),))) == 0
        assert desk.store.approval(ApprovalId("second")) is None

    assert desk.store.decide(Decision(approval=decided(desk, first)))
    assert desk.store.ask(Beside(approvals=(second, replace(second, approval_id=ApprovalId("third"))))) == 1
    assert desk.store.approvals(ApprovalQuery()) == [second]


@promise
def of_many_who_ask_the_same_one_is_heard(desk: Desk) -> None:
    """However many at once."""
    asks = [Beside(approvals=(question(desk, key="the same"),)) for _ in range(PARTIES)]
    stores = [desk.another() for _ in asks]

    answers = at_once(lambda store, one: store.ask(one), stores, asks)

    assert sum(answers) == 1
    assert len(desk.store.approvals(EVERY)) == 1


@promise
def a_settlement_asks_in_its_own_transaction(desk: Desk) -> None:
    """With the task's block, or not at all."""
    claimed = desk.running()
    task_id = claimed.task.task_id
    approval = question(desk, kind="task", key=f"task:{task_id}", task_id=task_id)
    stale = replace(claimed, attempt=replace(claimed.attempt, fence=99))

    with untouched(desk):
        assert desk.settle(stale, "blocked", approvals=(approval,)) == "lost"
    assert desk.settle(claimed, "blocked", approvals=(approval,)) == "settled"

    assert desk.store.approvals(ApprovalQuery(task_id=task_id)) == [approval]
    with untouched(desk):
        assert desk.settle(claimed, "blocked", approvals=(approval,)) == "settled"


@promise
def a_decision_is_made_once(desk: Desk) -> None:
    """With its event and its ledger row; whoever comes second hears it, and nothing of theirs is written."""
    approval = asked(desk)
    desk.clock.advance(60)
    done = decided(desk, approval, "answered", answer="the second one")

    assert desk.store.decide(Decision(approval=done, beside=TOLD))

    assert read(desk, approval) == done
    assert desk.store.approvals(ApprovalQuery()) == []
    assert desk.life(None) == ["approval_decided"]
    assert [kind for kind, _ in desk.ledger()] == ["approval_decided"]
    with untouched(desk):
        assert not desk.store.decide(Decision(approval=decided(desk, approval, "rejected"), beside=TOLD))
        assert not desk.store.decide(Decision(approval=decided(desk, question(desk)), beside=TOLD))


@promise
def what_decides_nothing_is_refused(desk: Desk) -> None:
    """An approval that is still open is no decision."""
    approval = asked(desk)

    with untouched(desk), refused():
        desk.store.decide(Decision(approval=approval, beside=TOLD))


@promise
def a_decision_moves_its_task(desk: Desk) -> None:
    """Freed it is claimable at once, ended it is over."""
    task, approval = blocked(desk)
    assert desk.store.decide(Decision(approval=decided(desk, approval), move=freeing(desk, task), beside=TOLD))
    assert [one.task.task_id for one in desk.claim(desk.runner())] == [task.task_id]
    assert desk.life(task.task_id)[-2:] == ["operator_ordered", "task_claimed"]

    task, approval = blocked(desk)
    move = canceling(desk, task)
    assert desk.store.decide(Decision(approval=decided(desk, approval, "rejected"), move=move, beside=TOLD))
    assert desk.read(task.task_id) == move.task
    assert read(desk, approval).status == "rejected"


@promise
def a_decision_about_a_task_that_has_moved_is_taken_back(desk: Desk) -> None:
    """The approval stays as it was, and nothing of what would have followed is written."""
    claimed = desk.running()
    approval = asked(desk, task_id=claimed.task.task_id)
    move = freeing(desk, replace(claimed.task, status="blocked"))
    decision = Decision(approval=decided(desk, approval), move=move, beside=TOLD)

    with untouched(desk):
        assert not desk.store.decide(decision)
    assert desk.settle(claimed, "completed") == "settled"
    with untouched(desk):
        assert not desk.store.decide(decision)
        assert not desk.store.decide(replace(decision, move=replace(move, task=replace(move.task, attempt_count=7))))
    assert read(desk, approval) == approval


@promise
def a_decision_that_knows_an_earlier_try_of_the_task_is_taken_back(desk: Desk) -> None:
    """Blocked again it is another one, although it has the same status."""
    task, _ = blocked(desk)
    early = freeing(desk, task)
    assert desk.store.move(early)
    (claimed,) = desk.claim(desk.runner())
    approval = question(desk, kind="task", task_id=task.task_id)
    assert desk.settle(claimed, "blocked", approvals=(approval,)) == "settled"

    with untouched(desk):
        assert not desk.store.decide(Decision(approval=decided(desk, approval), move=early, beside=TOLD))
    now = freeing(desk, desk.read(task.task_id))
    assert desk.store.decide(Decision(approval=decided(desk, approval), move=now, beside=TOLD))


@promise
def of_many_decisions_at_once_one_holds(desk: Desk) -> None:
    """One move, one event, whoever decides and whatever they decide."""
    task, approval = blocked(desk)
    moves = [freeing(desk, task) if number % 2 else canceling(desk, task) for number in range(PARTIES)]
    decisions = [
        Decision(approval=decided(desk, approval, "approved" if number % 2 else "rejected"), move=move, beside=TOLD)
        for number, move in enumerate(moves)
    ]
    stores = [desk.another() for _ in decisions]

    answers = at_once(lambda store, one: store.decide(one), stores, decisions)

    assert sum(answers) == 1
    (winner,) = (one for one, held in zip(decisions, answers, strict=True) if held)
    assert winner.move is not None
    assert desk.read(task.task_id) == winner.move.task
    assert read(desk, approval) == winner.approval
    assert desk.life(None).count("approval_decided") == 1


@promise
def a_decision_and_an_order_that_meet_do_not_both_hold(desk: Desk) -> None:
    """One of them moves the task; the approval is closed by whoever did."""
    task, approval = blocked(desk)
    decision = Decision(approval=decided(desk, approval), move=freeing(desk, task), beside=TOLD)
    order = canceling(desk, task)

    answers = at_once(
        lambda store, say: say(store),
        [desk.another(), desk.another()],
        [lambda store: store.decide(decision), lambda store: store.move(order)],
    )

    assert sum(answers) == 1
    assert desk.read(task.task_id) == (freeing(desk, task).task if answers[0] else order.task)
    assert read(desk, approval).status == ("approved" if answers[0] else "resolved")


@promise
def an_order_to_the_task_answers_what_was_asked_about_it(desk: Desk) -> None:
    """Resolved, by whoever gave the order; what was asked about something else stays open."""
    for order in (freeing, canceling):
        task, approval = blocked(desk)
        budget = asked(desk, kind="budget", task_id=task.task_id)
        loop = asked(desk, kind="loop", task_id=task.task_id)
        another = asked(desk, kind="task", task_id=TaskId("another"))
        desk.clock.advance(60)

        assert desk.store.move(order(desk, task))

        for one in (approval, budget):
            assert read(desk, one) == decided(desk, one, "resolved")
        assert read(desk, loop) == loop
        assert read(desk, another) == another
        for claimed in desk.claim(desk.runner()):
            desk.settle(claimed, "completed")


@promise
def an_order_that_comes_too_late_answers_nothing(desk: Desk) -> None:
    """The task has moved: the approval stays open."""
    task, approval = blocked(desk)

    with untouched(desk):
        assert not desk.store.move(replace(freeing(desk, task), was="retryable_failure"))
    assert read(desk, approval) == approval


@promise
def a_task_that_goes_on_by_itself_needs_nobody(desk: Desk) -> None:
    """A settlement that ends it or puts it back resolves what was asked; one that blocks it asks no second time."""
    for status, now in {
        "completed": "resolved",
        "permanent_failure": "resolved",
        "operator_canceled": "resolved",
        "pending": "resolved",
        "blocked": "open",
        "retryable_failure": "open",
    }.items():
        claimed = desk.running()
        task_id = claimed.task.task_id
        approval = asked(desk, kind="question", key=f"task:{task_id}", task_id=task_id)
        loop = question(desk, kind="loop", task_id=task_id)
        item = new_item(claimed, desk.clock.now())
        entry = NewEntry(kind="attempt_settled", actor="runner", subject=task_id, body={})
        again = replace(approval, approval_id=ApprovalId(desk.name("again")))
        beside = {"approvals": (loop,) if now == "resolved" else (loop, again), "outbox": (item,), "ledger": (entry,)}

        assert desk.settle(claimed, status, **beside) == "settled"  # type: ignore[arg-type] # a status of tasks

        assert read(desk, approval).status == now
        assert read(desk, approval).decided_by == ("runner" if now == "resolved" else None)
        assert desk.store.approval(again.approval_id) is None
        assert read(desk, loop) == loop
        assert desk.store.outbox_item(item.key) == item
        assert desk.ledger()[-1] == ("attempt_settled", task_id)
        desk.store.deliver(delivery(desk, item))


@promise
def a_settlement_that_does_not_hold_resolves_nothing(desk: Desk) -> None:
    """Whoever lost the lease says nothing about what a person was asked."""
    claimed = desk.running()
    approval = asked(desk, kind="task", task_id=claimed.task.task_id)
    stale = replace(claimed, attempt=replace(claimed.attempt, fence=99))

    with untouched(desk):
        assert desk.settle(stale, "completed") == "lost"
    assert read(desk, approval) == approval
    assert desk.settle(claimed, "completed") == "settled"
    with untouched(desk):
        assert desk.settle(claimed, "completed") == "settled"


@promise
def who_asks_in_vain_tells_nothing(desk: Desk) -> None:
    """Events beside an approval that is open already are not written; without approvals they always are."""
    approval = asked(desk)
    told = (NewEvent(event_type="approval_asked"),)

    with untouched(desk):
        again = replace(approval, approval_id=ApprovalId("again"))
        assert desk.store.ask(Beside(approvals=(again,), events=told)) == 0
    assert desk.store.ask(Beside(events=told)) == 0
    assert desk.life(None) == ["approval_asked"]


@promise
def a_deadline_is_given_once(desk: Desk) -> None:
    """With what tells of it, to what has none and is open; it is overdue by it from then on."""
    approval, dated = asked(desk), asked(desk, deadline=desk.clock.now() + timedelta(days=9))
    until = desk.clock.now() + timedelta(hours=1)
    told = Beside(events=(NewEvent(event_type="approval_asked"),))
    assert desk.store.approvals(ApprovalQuery(undated=True)) == [approval]

    assert desk.store.announce(approval.approval_id, until, told)

    assert read(desk, approval) == replace(approval, deadline=until)
    assert desk.life(None) == ["approval_asked"]
    assert desk.store.approvals(ApprovalQuery(undated=True)) == []
    assert desk.store.approvals(ApprovalQuery(overdue_at=until)) == [read(desk, approval)]
    done = asked(desk)
    assert desk.store.decide(Decision(approval=decided(desk, done)))
    with untouched(desk):
        for one in (approval.approval_id, dated.approval_id, done.approval_id, "nobody", *DOUBTFUL.values(), LONG):
            assert not desk.store.announce(ApprovalId(one), until, told)


@promise
def of_many_who_announce_one_does(desk: Desk) -> None:
    """One event, however many runners look."""
    approval = asked(desk)
    told = Beside(events=(NewEvent(event_type="approval_asked"),))
    stores = [desk.another() for _ in range(PARTIES)]

    answers = at_once(lambda store: store.announce(approval.approval_id, desk.clock.now(), told), stores)

    assert sum(answers) == 1
    assert desk.life(None) == ["approval_asked"]


@promise
def somebody_is_reminded_once(desk: Desk) -> None:
    """It is noted with what tells of it, and stays through the decision."""
    approval = asked(desk, deadline=desk.clock.now())
    desk.clock.advance(60)
    told = Beside(events=(NewEvent(event_type="approval_overdue"),))

    assert desk.store.remind(approval.approval_id, told)

    reminded = replace(approval, reminded_at=desk.clock.now())
    assert read(desk, approval) == reminded
    assert desk.life(None) == ["approval_overdue"]
    with untouched(desk):
        assert not desk.store.remind(approval.approval_id, told)
    assert desk.store.decide(Decision(approval=decided(desk, approval)))
    assert read(desk, approval) == decided(desk, reminded)


@promise
def of_many_reminders_one_is_noted(desk: Desk) -> None:
    """One event, however many look at the clock."""
    approval = asked(desk)
    told = Beside(events=(NewEvent(event_type="approval_overdue"),))
    stores = [desk.another() for _ in range(PARTIES)]

    answers = at_once(lambda store: store.remind(approval.approval_id, told), stores)

    assert sum(answers) == 1
    assert desk.life(None) == ["approval_overdue"]


@promise
def nobody_is_reminded_of_what_was_decided(desk: Desk) -> None:
    """Nor of what was never asked."""
    approval = asked(desk)
    assert desk.store.decide(Decision(approval=decided(desk, approval)))

    with untouched(desk):
        for approval_id in (approval.approval_id, "nobody", *STORED.values(), *DOUBTFUL.values(), LONG):
            assert not desk.store.remind(ApprovalId(approval_id), TOLD)


@promise
def approvals_are_listed_newest_first(desk: Desk) -> None:
    """By status, by task, by what is overdue; as many as are asked for."""
    now = desk.clock.now()
    first = asked(desk, task_id=TaskId("one"), deadline=now)
    second = asked(desk, task_id=TaskId("two"), deadline=now + timedelta(hours=1))
    third = asked(desk, task_id=TaskId("one"))
    assert desk.store.decide(Decision(approval=decided(desk, third, "rejected")))
    third = decided(desk, third, "rejected")

    def listed(**query: Any) -> list[ApprovalRecord]:  # noqa: ANN401 - fields of ApprovalQuery
        return desk.store.approvals(ApprovalQuery(**query))

    assert listed() == [second, first]
    assert listed(statuses=()) == [third, second, first]
    assert listed(statuses=("rejected",)) == [third]
    assert listed(statuses=("rejected", "open", "open"), task_id=TaskId("one")) == [third, first]
    assert listed(statuses=(), limit=2) == [third, second]
    assert listed(limit=0) == listed(limit=-1) == []
    assert listed(overdue_at=now - timedelta(microseconds=1)) == []
    assert listed(overdue_at=now) == [first]
    assert listed(statuses=(), overdue_at=now + timedelta(days=1)) == [second, first]
    assert desk.store.remind(second.approval_id, Beside())
    assert listed(overdue_at=now + timedelta(days=1)) == [first]
    for text in ("nobody", *STORED.values(), *DOUBTFUL.values(), LONG):
        assert listed(task_id=TaskId(text)) == []
        assert desk.store.approval(ApprovalId(text)) is None


@promise
def approvals_are_found_by_key_by_the_beginning_of_an_id_and_by_urgency(desk: Desk) -> None:
    """Whatever else waits; a name that nothing can have finds nothing."""
    late = asked(desk, approval_id="ab%1", deadline=desk.clock.now() + timedelta(hours=2))
    soon = asked(desk, approval_id="ab_2", deadline=desk.clock.now() + timedelta(hours=1))
    never = asked(desk, approval_id="b")

    assert desk.store.approvals(ApprovalQuery(key=late.key)) == [late]
    assert desk.store.approvals(ApprovalQuery(key="\0")) == desk.store.approvals(ApprovalQuery(begins="%")) == []
    assert desk.store.approvals(ApprovalQuery(begins="ab")) == [soon, late]
    assert desk.store.approvals(ApprovalQuery(begins="ab_")) == [soon]
    assert desk.store.approvals(ApprovalQuery(urgent=True)) == [soon, late, never]
    assert desk.store.approvals(ApprovalQuery(urgent=True, limit=1)) == [soon]
    assert desk.store.decide(Decision(approval=decided(desk, soon)))
    assert desk.store.approvals(ApprovalQuery(key=soon.key)) == []
    assert desk.store.approvals(ApprovalQuery(key=soon.key, statuses=("approved", "rejected"))) == [read(desk, soon)]


@promise
def what_an_agent_asks_may_be_any_text(desk: Desk) -> None:
    """It is kept, or mended; an id or a key that no store can keep is refused with nothing written."""
    for text in (*STORED.values(), *DOUBTFUL.values(), LONG):
        approval = asked(desk, reason=text, questions=(text,), detail={text: [text]}, evidence=(text,))
        found = read(desk, approval)
        assert found == approval or text in DOUBTFUL.values()
        assert desk.store.decide(Decision(approval=decided(desk, found, "answered", answer=text, decided_by=text)))
    for text in (*DOUBTFUL.values(), LONG):
        for place in ("approval_id", "key", "task_id"):
            with untouched(desk), refused():
                desk.store.ask(replace(TOLD, approvals=(question(desk, **{place: text}),)))


@promise
def an_approval_that_says_nothing_is_refused(desk: Desk) -> None:
    """One that could not be read again would be in the way of all others."""
    with untouched(desk), refused():
        desk.store.ask(replace(TOLD, approvals=(question(desk, reason=""),)))
