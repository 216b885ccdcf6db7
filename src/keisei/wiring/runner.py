"""The runner: recover, let work begin, claim, carry, do its chores, wait for the doorbell."""

import hashlib
import os
import random
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from datetime import datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

from keisei import __version__
from keisei.engine.attempt import Stand, Workshop, carry, finish
from keisei.engine.ports import Store
from keisei.engine.settle import Chance
from keisei.engine.sweep import Salvage, recover
from keisei.records.budget import BudgetPolicy
from keisei.records.error import KeiseiError, WorldFault
from keisei.records.id import AdapterId, AttemptId, RunnerId, TaskId
from keisei.records.move import Claimed, ClaimOrder, NewEvent, Settled, Sweep
from keisei.records.project import ProjectApprovals
from keisei.records.runner import Beat, RunnerRecord
from keisei.rules.breaker import is_open
from keisei.rules.retry import Backoff
from keisei.wiring.execute import Hold
from keisei.wiring.fresh import new_id
from keisei.wiring.heart import BEATS, Heart
from keisei.wiring.insist import Insistent
from keisei.wiring.rhythm import Rhythm
from keisei.wiring.switch import Switch

if TYPE_CHECKING:
    from keisei.wiring.chores import Chores

POLL_S: Final = 1.0
"""The doorbell is a hint; this is the guarantee."""
SEAL_S: Final = 1.0
PRUNE_S: Final = 3600.0
PRUNINGS: Final = 20
"""Prunings in a row: enough for a busy hour, and not so many that claims wait."""
IDLE_NOTE_S: Final = 600.0
"""A runner that stays idle says so once in this time, and not at every look."""
TROUBLE_S: Final = 1.0
STRAY_S: Final = 1.0
"""How soon an attempt that nobody carries is looked for again."""
FULL_S: Final = 1.0
"""How often the disk is looked at."""
SIGN_S: Final = 10.0
"""How long the end of a runner waits for the last checkpoint."""
HEAR_S: Final = 1.0
"""How soon an operator's order to end a task is heard."""
IDLE_HEAR_S: Final = 3.0
"""How soon a runner that has nothing to do hears that it shall leave."""


class Options(NamedTuple):
    """How a runner works."""

    jobs: int = 2
    lease_s: float = 30.0
    backoff: Backoff = Backoff()
    event_days: int = 30
    budget: BudgetPolicy | None = None
    """What claims keep to."""
    approvals: ProjectApprovals = ProjectApprovals()
    """How a person is asked."""
    checkpoint_rows: int = 100
    """The ledger is signed whenever so many rows are new, and at the end."""
    at_most: int | None = None
    """Stop after so many attempts; None for no limit."""
    until_idle: bool = False
    """Stop when nothing runs and nothing can be claimed."""
    only: tuple[TaskId, ...] | None = None
    """Claim these tasks and no other, and let no other work begin; None for everything there is."""


class Line(NamedTuple):
    """One thing a runner tells its operator."""

    event: str
    task_id: str | None = None
    attempt_id: str | None = None
    detail: str = ""


class Job(NamedTuple):
    """An attempt under way."""

    claimed: Claimed
    switch: Switch
    thread: threading.Thread


class Landing(NamedTuple):
    """Landings under way."""

    switch: Switch
    thread: threading.Thread


class Signed(NamedTuple):
    """How far the ledger is signed."""

    size: int
    """Rows of the newest checkpoint; 0 where there is none."""
    trouble: str | None = None
    """Why it could not be published everywhere."""


class Hall(NamedTuple):
    """The rooms a runner works in."""

    store: Store
    workshop: Callable[[Switch, Callable[[], float]], Workshop]
    """A workshop for one attempt: its switch, and how long a tree may live."""
    salvage: Salvage
    """Ends and keeps what a dead runner's attempt has left."""
    held: Callable[[Claimed], str | None]
    """Why a task that was claimed is not to run after all."""
    chores: "Chores"
    tell: Callable[[Line], None]
    land: "Callable[[Hold, str, tuple[TaskId, ...] | None, Callable[[], bool]], int] | None" = None
    """Lands what is queued: held by that, for this runner, of these tasks or of all, as long as it may go on.

    None where nothing lands."""
    to_land: "Callable[[tuple[TaskId, ...] | None], bool]" = lambda _only: False
    """Whether something is queued to land."""
    full: Callable[[], str | None] = lambda: None
    """Why there is no room for another attempt on this machine; None where there is."""
    close: Callable[[], None] = lambda: None
    """Ends what attempts share."""
    sign: Callable[[int], Signed] | None = None
    """Signs the ledger where so many rows are new. None where nobody signs."""


class Runner:
    """One runner. One thread drives it; `stop` may be called from a signal handler."""

    def __init__(self, hall: Hall, options: Options) -> None:
        """Nothing is registered before `run`."""
        self._hall, self._store, self._options = hall, hall.store, options
        self._jobs: dict[AttemptId, Job] = {}
        self._lock = threading.Lock()
        self._stops = 0
        self._draining = False
        self._paused: str | None = None
        self._full: str | None = None
        self._trouble: str | None = None
        self._shut: tuple[AdapterId, ...] = ()
        self._left_alone = 0
        """Tasks that could be claimed, if their adapters were not left alone."""
        self._due_at: datetime | None = hall.store.next_due()
        self._taken = 0
        self._rhythm = Rhythm()
        self._stray: set[AttemptId] = set()
        """Attempts that may stand under this runner although it does not carry them: the next sweep settles them."""
        self._ended = threading.Event()
        """An attempt has ended since the chores were done."""
        self._failed = threading.Event()
        """An attempt has ended without success since the breakers were read: it may have opened one."""
        self._landing: Landing | None = None
        """What lands just now."""
        self._signing: threading.Thread | None = None
        """The ledger is signed just now."""
        self._signed = 0
        """How many rows were signed, or tried to."""
        self._unsigned: str | None = None
        """Why that did not go well, as it was told."""
        self.runner_id = RunnerId("")
        self._heart = Heart(self._store, self.runner_id, options.lease_s, self._heard)

    def stop(self) -> None:
        """Asked once: take nothing new and finish. Asked again: end what runs."""
        self._stops += 1
        self._store.ring()

    def run(self) -> int:
        """Work until stopped, idle or done. How many attempts were taken."""
        self._begin()
        try:
            while not self._round():
                pass
        finally:
            self._end()
        return self._taken

    # --- the cycle ----------------------------------------------------------------------------------------------------

    def _round(self) -> bool:
        """One round and the wait for the next. True: it was the last. A store that is away is waited for."""
        try:
            self._tick()
            if self._is_over():
                return True
            wait = self._patience_s()
        except WorldFault as fault:
            if not fault.retryable:
                raise
            if self._trouble is None:
                self._hall.tell(Line("trouble", detail=fault.message))
            self._trouble = fault.message
            time.sleep(TROUBLE_S)
            return self._is_closing() and not self._running()
        self._store.wait(wait)
        return False

    def _tick(self) -> None:
        """One round, in the order of the original: recover, schedules, workflows, claim; then the rest."""
        ended = self._ended.is_set()
        self._ended.clear()
        try:
            self._work_through(ended=ended)
        except BaseException:
            if ended:
                self._ended.set()
            raise

    def _work_through(self, *, ended: bool) -> None:
        chores = self._hall.chores
        self._keep_lease()
        self._end_if_told()
        if self._rhythm.is_time("hear", HEAR_S if self._running() else IDLE_HEAR_S):
            self._heart.hurry()
        if self._rhythm.is_time("sweep", STRAY_S if self._stray else self._options.lease_s / BEATS):
            self._recover()
        if not self._is_closing():
            if self._options.only is None:
                chores.begin_work(ended=ended)
            self._claim()
        self._land(ended=ended)
        chores.go_on(ended=ended)
        self._keep_house()
        self._note_trouble()

    def _claim(self) -> None:
        free = self._free()
        if free <= 0 or self._is_full():
            return
        if self._due_at is not None and self._due_at <= self._store.now():
            self._store.wake_due()
        if self._rhythm.is_time("breakers", POLL_S) or self._failed.is_set():
            self._failed.clear()  # before they are read: one that fails now is looked for again
            now = self._store.now()
            self._shut = tuple(each.adapter_id for each in self._store.breakers() if is_open(each, now))
        ids = tuple(AttemptId(new_id()) for _ in range(free))
        order = ClaimOrder(
            runner_id=self.runner_id,
            attempt_ids=ids,
            without_adapters=self._shut,
            budget=self._options.budget,
            approvals=self._options.approvals,
            only=self._options.only,
        )
        try:
            claims = self._store.claim(order)
        except WorldFault:
            self._stray.update(ids)  # the claim may have been made, and only its answer lost
            raise
        for claimed in claims:
            self._taken += 1
            self._start(claimed, carry)
        self._left_alone = self._store.claimable() if self._shut and not claims else 0
        if not claims:  # the claim itself heeds a pause; here it is only told
            self._look_for_a_pause()
            self._note_idle()

    def _land(self, *, ended: bool) -> None:
        """Have landings done beside, one thread for all of them, whenever something is queued and nobody says stop."""
        hall, only = self._hall, self._options.only
        if hall.land is None or self._is_landing() or self._stops or self._draining:
            return
        if (ended or self._rhythm.is_time("land", POLL_S)) and not self._is_held_back() and hall.to_land(only):
            switch = Switch()
            thread = threading.Thread(target=self._landed, args=(switch,), name="landing", daemon=True)
            self._landing = Landing(switch, thread)
            thread.start()

    def _landed(self, switch: Switch) -> None:
        hall = self._hall
        mark = hashlib.sha256(f"keisei landings of {self.runner_id}".encode()).hexdigest()[:32]
        hold = Hold(switch, self._heart.left_s, mark)
        try:
            if hall.land is not None:
                hall.land(hold, self.runner_id, self._options.only, self._goes_on_landing)
        except Exception as error:  # noqa: BLE001 - a thread that dies silently would leave the queue as it is
            said = error.message if isinstance(error, KeiseiError) else f"this is a bug in keisei: {error!r}"
            self._hall.tell(Line("trouble", detail=said))
        finally:
            self._ended.set()
            self._store.ring()

    def _is_held_back(self) -> bool:
        """Whether an operator has stopped all dispatch, or this runner's."""
        return any(each.scope in ("all", self.runner_id) for each in self._store.pauses())

    def _goes_on_landing(self) -> bool:
        """Whether the next one may land, after the one that has."""
        return not (self._stops or self._draining) and not self._is_held_back()

    def _is_landing(self) -> bool:
        return self._landing is not None and self._landing.thread.is_alive()

    def _is_full(self) -> bool:
        """Whether the disk has no room for another attempt. Told once, and once more when it has changed."""
        if self._rhythm.is_time("disk", FULL_S):
            full = self._hall.full()
            if full is not None and self._full is None:
                self._hall.tell(Line("full", detail=full))
            self._full = full
        return self._full is not None

    def _free(self) -> int:
        free = self._options.jobs - len(self._jobs)
        return free if self._options.at_most is None else min(free, self._options.at_most - self._taken)

    def _start(self, claimed: Claimed, way: Callable[[Stand, Claimed], Settled]) -> None:
        switch = Switch()
        thread = threading.Thread(target=self._work, args=(claimed, switch, way), name="attempt", daemon=True)
        with self._lock:
            self._jobs[claimed.attempt.attempt_id] = Job(claimed, switch, thread)
        thread.start()

    def _work(self, claimed: Claimed, switch: Switch, way: Callable[[Stand, Claimed], Settled]) -> None:
        """One attempt, in a thread of its own. Whatever it raises, the attempt is not forgotten: it is swept."""
        task_id, attempt_id = claimed.task.task_id, claimed.attempt.attempt_id
        self._hall.tell(Line("started", task_id, attempt_id))
        heart = self._heart
        status: str = "lost"
        stand = Stand(
            store=Insistent(self._store, heart.lost.is_set),
            workshop=self._hall.workshop(switch, heart.left_s),
            chance=self._chance,
            stopping=switch.pulled.is_set,
            held=self._hall.held,
            budget=self._options.budget,
            wait=switch.pulled.wait,
        )
        try:
            settled = way(stand, claimed)
            if settled == "lost":
                self._stray.add(attempt_id)
            task = self._store.task(task_id)
            status = task.status if task is not None and settled != "lost" else settled
            reason = task.last_error if task is not None and task.last_error and settled != "lost" else ""
            self._hall.tell(Line(status, task_id, attempt_id, reason or self._isolation(attempt_id)))
        except Exception as error:  # noqa: BLE001 - a thread that dies silently would hold its task for ever
            self._stray.add(attempt_id)
            said = error.message if isinstance(error, KeiseiError) else f"this is a bug in keisei: {error!r}"
            self._hall.tell(Line("trouble", task_id, attempt_id, said))
        finally:
            if status != "completed":
                self._failed.set()  # before its slot is free: whoever sees the slot sees this
            with self._lock:
                self._jobs.pop(attempt_id, None)
            self._ended.set()
            self._store.ring()

    def _isolation(self, attempt_id: AttemptId) -> str:
        """What held an agent; nothing of a program that nothing confines."""
        attempt = self._store.attempt(attempt_id)
        layers = attempt.isolation if attempt is not None else ()
        return f"isolation: {' + '.join(layers)}" if layers[1:] else ""

    # --- leases -------------------------------------------------------------------------------------------------------

    def _begin(self) -> None:
        self.runner_id = RunnerId(new_id())
        now = self._store.now()
        runner = RunnerRecord(
            runner_id=self.runner_id,
            host=host(),
            boot_id=boot_id(),
            pid=os.getpid(),
            born=born(os.getpid()),
            version=__version__,
            slots=self._options.jobs,
            lease_s=self._options.lease_s,
            started_at=now,
            heartbeat_at=now,
        )
        self._store.register(runner)
        self._heart = Heart(self._store, self.runner_id, self._options.lease_s, self._heard)
        self._heart.start()
        self._rhythm = Rhythm()

    def _heard(self, beat: Beat, left_s: float) -> None:
        self._draining = beat.draining
        for job in self._running():
            if job.claimed.task.task_id in beat.canceled:
                job.switch.pull()
            else:
                job.switch.renew(left_s)
        if self._landing is not None:
            self._landing.switch.renew(left_s)

    def _keep_lease(self) -> None:
        """A runner whose lease is gone ends its trees, settles nothing, and begins again under another name."""
        if not self._heart.lost.is_set():
            return
        self._hall.tell(Line("lease lost", detail=self.runner_id))
        self._end_jobs()
        self._heart.stop()
        self._begin()

    def _recover(self) -> None:
        dead = [each.runner_id for each in self._store.runners() if self._is_dead(each)]
        if dead:
            detail = {"runner_id": self.runner_id, "reason": "pid_not_live", "previous_runner_id": dead[0]}
            self._store.note([NewEvent(event_type="dispatch_lock_stale_cleared", detail=detail)])
        stray = tuple(self._stray)
        sweep = Sweep(runner_id=self.runner_id, dead=tuple(dead), unknown=stray)
        found = recover(self._store, sweep, self._chance(), self._hall.salvage)
        self._stray.difference_update(stray)
        for claimed in found:
            self._resume(claimed)

    def _resume(self, claimed: Claimed) -> None:
        """Judge what a harness has returned to a runner that is gone."""
        self._stray.add(claimed.attempt.attempt_id)  # until the answer is there: it may stand under this runner already
        adopted = self._store.adopt(claimed, self.runner_id)
        if adopted is not None:
            self._stray.discard(claimed.attempt.attempt_id)
            self._hall.tell(Line("resumed", claimed.task.task_id, claimed.attempt.attempt_id))
            self._start(adopted, finish)

    def _is_dead(self, runner: RunnerRecord) -> bool:
        """Whether a runner of this machine is surely gone: another boot, or another process behind its number."""
        if runner.host != host() or runner.runner_id == self.runner_id:
            return False
        return runner.boot_id != boot_id() or born(runner.pid) != runner.born

    # --- the end ------------------------------------------------------------------------------------------------------

    def _is_closing(self) -> bool:
        used_up = self._options.at_most is not None and self._taken >= self._options.at_most
        return bool(self._stops) or self._draining or used_up

    def _end_if_told(self) -> None:
        if self._stops > 1:
            for job in self._running():
                job.switch.pull()
            if self._landing is not None:
                self._landing.switch.pull()

    def _is_over(self) -> bool:
        if self._running() or self._is_landing() or self._ended.is_set():
            return False
        if self._is_closing():
            return True
        stuck = self._paused is not None or self._full is not None
        return self._options.until_idle and (stuck or self._is_idle())

    def _is_idle(self) -> bool:
        """Whether there is nothing to claim, nothing to land, and nothing that would make a task."""
        if self._store.claimable() > self._left_alone or self._hall.to_land(self._options.only):
            return False
        self._hall.chores.finish()
        return self._store.claimable() <= self._left_alone

    def _end(self) -> None:
        self._end_jobs()
        self._hall.chores.stop()
        self._sign_the_end()
        self._hall.close()
        self._heart.stop()
        with suppress(WorldFault):  # a store that is away finds out by itself: the lease ends
            self._store.leave(self.runner_id)

    def _end_jobs(self) -> None:
        for job in self._running():
            job.switch.pull()
        if self._landing is not None:
            self._landing.switch.pull()
        for job in self._running():
            job.thread.join()
        if self._landing is not None:
            self._landing.thread.join()

    # --- the house ----------------------------------------------------------------------------------------------------

    def _look_for_a_pause(self) -> None:
        reason = next((each.reason for each in self._store.pauses() if each.scope in ("all", self.runner_id)), None)
        if reason is not None and self._paused is None:
            detail = {"runner_id": self.runner_id, "reason": reason}
            self._store.note([NewEvent(event_type="dispatch_paused", detail=detail)])
            self._hall.tell(Line("paused", detail=reason))
        self._paused = reason

    def _note_trouble(self) -> None:
        """Once the store can be written again, say what kept it from being: one line for all of it."""
        if self._trouble is not None:
            detail = {"runner_id": self.runner_id, "reason": self._trouble}
            self._store.note([NewEvent(event_type="dispatch_locked", detail=detail)])
            self._trouble = None

    def _note_idle(self) -> None:
        if not self._running() and self._rhythm.is_time("idle", IDLE_NOTE_S):
            self._store.note([NewEvent(event_type="dispatch_idle", detail={"runner_id": self.runner_id})])

    def _keep_house(self) -> None:
        if self._rhythm.is_time("seal", SEAL_S):
            self._store.unsealed()
            self._sign_if_due()
        if self._rhythm.is_time("prune", PRUNE_S):
            before = self._store.now() - timedelta(days=self._options.event_days)
            for _ in range(PRUNINGS):
                if not self._store.prune(before):
                    break

    def _sign_if_due(self) -> None:
        """Have the ledger signed beside, whenever enough is new. What fails is tried again with as many rows more."""
        if self._hall.sign is None or (self._signing is not None and self._signing.is_alive()):
            return
        size = self._store.size()
        if size - self._signed >= self._options.checkpoint_rows:
            self._begin_to_sign(size, self._options.checkpoint_rows)

    def _sign_the_end(self) -> None:
        """Have the rest signed, as far as that takes no time to speak of; whoever waits in vain is told."""
        if self._hall.sign is None:
            return
        deadline = time.monotonic() + SIGN_S
        if self._signing is not None:
            self._signing.join(SIGN_S)
        if self._signing is None or not self._signing.is_alive():
            self._begin_to_sign(self._signed, 1).join(max(0.0, deadline - time.monotonic()))
        if self._signing is not None and self._signing.is_alive():
            detail = "the last rows are not signed: that takes too long; `keisei ledger checkpoint` signs them"
            self._hall.tell(Line("trouble", detail=detail))

    def _begin_to_sign(self, size: int, at_least: int) -> threading.Thread:
        self._signed = size
        self._signing = threading.Thread(target=self._sign, args=(at_least,), name="checkpoint", daemon=True)
        self._signing.start()
        return self._signing

    def _sign(self, at_least: int) -> None:
        """Sign; what goes wrong is told once, and never stops anything."""
        try:
            signed = self._hall.sign(at_least) if self._hall.sign is not None else Signed(0)
            self._signed, trouble = signed.size, signed.trouble
        except KeiseiError as error:
            trouble = error.message
        except Exception as error:  # noqa: BLE001 - a thread that dies silently would leave the ledger unsigned
            trouble = f"this is a bug in keisei: {error!r}"
        if trouble is not None and trouble != self._unsigned:
            self._hall.tell(Line("trouble", detail=trouble))
        self._unsigned = trouble

    def _patience_s(self) -> float:
        """Until the next delayed task or schedule is due, and never for longer than a poll."""
        self._due_at = self._store.next_due()
        awaited = [self._hall.chores.due_at(), self._due_at if self._free() > 0 else None]
        moments = [each for each in awaited if each is not None]
        if not moments:
            return POLL_S
        return max(0.0, min(POLL_S, (min(moments) - self._store.now()).total_seconds()))

    def _chance(self) -> Chance:
        return Chance(
            backoff=self._options.backoff,
            jitter=random.random(),  # noqa: S311 - a wait
            now=self._store.now(),
            new_id=new_id,
            approvals=self._options.approvals,
        )

    def _running(self) -> list[Job]:
        with self._lock:
            return list(self._jobs.values())


def host() -> str:
    """This machine, as far as process numbers mean the same: its name and its pid namespace."""
    return f"{os.uname().nodename}/{Path('/proc/self/ns/pid').stat().st_ino}"


def boot_id() -> str:
    """This start of the machine."""
    return Path("/proc/sys/kernel/random/boot_id").read_text().strip()


def born(pid: int) -> str:
    """When a process was started, in the kernel's words; empty where it is gone or a corpse."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        return "" if fields[0] in "ZX" else fields[19]
    except (OSError, IndexError):
        return ""
