"""A project with verified candidates in its store, and hands that land them as a test says."""

import sys
from contextlib import contextmanager
from datetime import UTC, datetime
from types import ModuleType

from keisei.engine.land import Office, move
from keisei.engine.land import known as stored
from keisei.evidence.file import FileEvidence
from keisei.records.error import Refused
from keisei.records.finding import FindingRecord
from keisei.records.landing import LandingRecord
from keisei.records.move import ClaimOrder, NewTask
from keisei.records.project import ProjectApprovals
from keisei.records.runner import RunnerRecord
from keisei.rules.evidence import keys_of
from keisei.settings import read_settings
from keisei.testing.queue import ending, new_task
from keisei.wiring.fresh import new_id
from keisei.wiring.store import open_home_store, project_home
from tests.cli.shop import Shop

COMMIT, TREE, BEFORE, AFTER, BACK = ("c" * 40, "7" * 40, "3f2a91c" + "0" * 33, "8be07d4" + "0" * 33, "d" * 40)
PATCH = b"""\
diff --git a/src/new.txt b/src/new.txt
new file mode 100644
--- /dev/null
+++ b/src/new.txt
@@ -0,0 +1,2 @@
+one
+two \x1b[31m
diff --git a/src/old.txt b/src/old.txt
--- a/src/old.txt
+++ b/src/old.txt
@@ -1 +1 @@
-was
+is
"""
NOW = datetime(2026, 1, 1, tzinfo=UTC)


def finding(capability="policy::no-git-ops", status="held", **more):
    """What one predicate says."""
    fields = {
        "finding_id": new_id(),
        "attempt_id": "a",
        "severity": "block",
        "reason": None if status == "held" else f"it is {status}",
        "run_from": "merged",
        "tree": TREE,
        "duration_ms": 1.0,
        "created_at": NOW,
    }
    return FindingRecord(capability=capability, status=status, **(fields | more))


class Harbour(Shop):
    """The project `shop`, with landings in its store."""

    @contextmanager
    def store(self):
        own = read_settings()
        opened = open_home_store(own, project_home(own, self.folder))
        try:
            yield opened
        finally:
            opened.close()

    def offer(self, findings=(), patch=PATCH, subject="Mend it.", **landing):
        """A task that has completed with changes; its landing."""
        with self.store() as store:
            claimed = self._claimed(store, subject)
            made = _landing(claimed, store.now(), landing)
            told = tuple(_of(each, claimed.attempt.attempt_id) for each in findings)
            done = ending(claimed, "completed", store.now(), landings=(made,), findings=told)
            assert store.settle(done) == "settled"
        if patch:
            keys = keys_of(claimed.attempt.attempt_id, claimed.attempt.started_at)
            FileEvidence(self.state / "evidence").put(keys.diff, patch)
        return made.landing_id

    def _claimed(self, store, subject):
        now, runner_id = store.now(), new_id()
        store.enqueue([NewTask(task=new_task(new_id(), now, subject=subject))])
        store.register(
            RunnerRecord(
                runner_id=runner_id,
                host="host",
                boot_id="boot",
                pid=1,
                born="1",
                version="0",
                slots=1,
                lease_s=600.0,
                started_at=now,
                heartbeat_at=now,
            )
        )
        (claimed,) = store.claim(ClaimOrder(runner_id=runner_id, attempt_ids=(new_id(),)))
        store.leave(runner_id)
        return claimed

    def landing(self, landing_id):
        with self.store() as store:
            return stored(store, landing_id)


def _of(found, attempt_id):
    return FindingRecord(
        **{name: getattr(found, name) for name in found.__struct_fields__} | {"attempt_id": attempt_id}
    )


def _landing(claimed, now, changes):
    fields = {
        "landing_id": new_id(),
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


def _office(store):
    return Office(store=store, policy=ProjectApprovals(), new_id=new_id, actor="engine:test")


class Hands(ModuleType):
    """Stand in for what lands, reverts and respawns: real rows, no git. `then` says what becomes of a landing."""

    def __init__(self, monkeypatch):
        super().__init__("keisei.wiring.landing")
        self.then = {}
        self.asked = []
        for name in (self.__name__, "keisei.wiring.landing_revert"):
            monkeypatch.setitem(sys.modules, name, self)

    def land_now(self, shop, landing_id, tell, actor):
        self.asked.append(("land", landing_id))
        office, fate = _office(shop.store), self.then.get(landing_id, "landed")
        if isinstance(fate, Exception):
            raise fate
        landing = move(office, stored(shop.store, landing_id), "landing", before_commit=BEFORE, after_commit=AFTER)
        more = {"reason": "src/cart.txt has changes that nobody has committed"} if fate in ("held", "rejected") else {}
        assert callable(tell)
        assert actor.startswith("operator:")
        return move(office, landing, fate, **more)

    def revert(self, shop, landing_id, reason, actor):
        self.asked.append(("revert", landing_id, reason, actor.partition(":")[0]))
        landing = stored(shop.store, landing_id)
        if landing.status != "landed":
            raise Refused(f"landing {landing_id} is {landing.status}: there is nothing to take back")
        return move(_office(shop.store), landing, "reverted", revert_commit=BACK, decided_by=actor)

    def respawn(self, shop, landing_id, _actor):
        self.asked.append(("respawn", landing_id))
        assert stored(shop.store, landing_id).status == "rejected"
        return "task-2"
