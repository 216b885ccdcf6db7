"""A person decides about a held landing: by its approval or by its id, and both roads lead to the same place."""

from itertools import count

import pytest

from keisei.engine import land
from keisei.engine.approval import answer, approve, reject, remind
from keisei.engine.intake import Defaults
from keisei.engine.lift import stands
from keisei.engine.office import Office
from keisei.records.answer import ApprovalQuery
from keisei.records.approval import ApprovalRecord
from keisei.records.beside import Beside
from keisei.records.error import OperatorError, Refused
from keisei.records.project import ProjectApprovals
from keisei.rules.approval import EFFECTS
from keisei.testing.promise.landing import moving, offered, waiting
from tests.store.desk import sqlite_desk

ME = "operator:me"
HOUR_S = 3600
POLICY = ProjectApprovals(notify=("console",))


@pytest.fixture
def desk(tmp_path):
    with sqlite_desk(tmp_path) as made:
        yield made


@pytest.fixture
def new_id():
    numbers = count(1)
    return lambda: f"fresh-{next(numbers):04}"


@pytest.fixture
def office(desk, new_id):
    return Office(desk.store, lambda: None, Defaults(), new_id)


@pytest.fixture
def held(desk):
    """A held landing, and the approval that is asked about it."""
    landing = offered(desk)
    return landing, waiting(desk, landing)


def read(desk, landing):
    return desk.store.landing(landing.landing_id)


def test_approving_lets_the_candidate_wait_for_its_turn(desk, office, held):
    landing, approval = held

    done = approve(office, approval.approval_id, "looks good", ME)

    found = read(desk, landing)
    assert (found.status, found.approved, found.decided_by) == ("queued", True, ME)
    assert (done.status, done.decided_by) == ("approved", ME)
    assert desk.store.approval(approval.approval_id) == done
    assert desk.life(landing.task_id)[-2:] == ["landing_queued", "approval_decided"]
    assert desk.ledger()[-2:] == [
        ("landing_queued", landing.landing_id),
        ("approval_decided", approval.approval_id),
    ]


def test_rejecting_keeps_the_candidate_from_landing(desk, held):
    landing, approval = held

    done = reject(desk.store, approval.approval_id, "not like this", ME)

    found = read(desk, landing)
    assert (found.status, found.approved, found.decided_by) == ("rejected", False, ME)
    assert found.reason == "not like this"
    assert (done.status, done.decided_by, done.answer) == ("rejected", ME, "not like this")
    assert desk.life(landing.task_id)[-2:] == ["landing_rejected", "approval_decided"]
    assert desk.store.approvals(ApprovalQuery()) == []


@pytest.mark.parametrize(
    ("order", "status"), [(land.approve, "approved"), (land.reject, "rejected")], ids=["approved", "rejected"]
)
def test_an_order_about_the_landing_decides_what_was_asked(desk, office, held, order, status):
    landing, approval = held

    order(desk.store, landing.landing_id, "by hand", ME)

    assert not stands(desk.store, approval)
    found = desk.store.approval(approval.approval_id)
    assert (found.status, found.decided_by) == (status, ME)
    with desk.unchanged(), pytest.raises(Refused, match=f"was {status} by {ME}"):
        approve(office, approval.approval_id, "", ME)
    with desk.unchanged(), pytest.raises(Refused, match=f"was {status} by {ME}"):
        reject(desk.store, approval.approval_id, "", ME)


def test_a_landing_that_has_moved_on_is_not_decided_and_the_question_goes(desk, office, held):
    landing, approval = held
    assert desk.store.move_landing(moving(desk, landing, "queued"))
    queued = read(desk, landing)
    assert desk.store.move_landing(moving(desk, queued, "landing"))

    for order in (
        lambda: approve(office, approval.approval_id, "", ME),
        lambda: reject(desk.store, approval.approval_id, "", ME),
    ):
        with desk.unchanged(), pytest.raises(Refused, match="is landing: there is nothing to decide any more"):
            order()

    assert remind(desk.store, POLICY) == 0
    assert desk.store.approval(approval.approval_id).status == "resolved"
    assert read(desk, landing).status == "landing"


def test_a_landing_is_not_answered(desk, held):
    _, approval = held

    with desk.unchanged(), pytest.raises(Refused, match="is about a landing: it is not answered"):
        answer(desk.store, approval.approval_id, "yes", ME)


def test_an_approval_of_a_landing_that_nobody_has_stands_for_nothing(desk, office):
    now = desk.store.now()
    approval = ApprovalRecord(
        approval_id="lost", kind="landing", key="landing:nobody", reason="so", created_at=now, decided_at=None
    )
    desk.store.ask(Beside(approvals=(approval,)))

    assert not stands(desk.store, approval)
    with pytest.raises(OperatorError, match="no landing has the id `nobody`"):
        approve(office, "lost", "", ME)
    assert remind(desk.store, POLICY) == 0
    assert desk.store.approval("lost").status == "resolved"


def test_what_nobody_decides_in_time_does_not_land_where_the_project_says_so(desk, held):
    landing, approval = held
    strict = ProjectApprovals(on_deadline="reject")
    assert remind(desk.store, strict) == 0
    assert read(desk, landing).status == "held"
    desk.clock.advance(25 * HOUR_S)

    assert remind(desk.store, strict) == 1

    assert (read(desk, landing).status, read(desk, landing).decided_by) == ("rejected", "engine:deadline")
    assert desk.store.approval(approval.approval_id).status != "open"


def test_every_kind_says_what_follows_from_a_decision():
    kinds = set(ApprovalRecord.__annotations__["kind"].__args__)

    assert set(EFFECTS) == kinds
