"""A month of a house that runs itself, in virtual time: schedules, sensors, workflows, messages, budgets, people.

Several processes do the chores of runners at the same time. Any call of the store may be the last of its process:
before it is made, or after, when only the answer is lost. The wall clock is set forwards and back, the machine sleeps,
operators pause. What really happens outside, an agent's work and a message's arrival, is counted outside the database,
and at the end both countings must agree: nothing is lost, nothing happens twice.

    python -m tests.system.month --store sqlite --days 30 --seed 1
"""

import argparse
import json
import random
import sys
import tempfile
from collections import Counter, defaultdict
from contextlib import ExitStack, contextmanager
from datetime import datetime, timedelta
from pathlib import Path
from typing import NamedTuple

from msgspec.structs import replace

from keisei.engine import approval, schedule, sensor, workflow
from keisei.engine.deliver import deliver
from keisei.engine.intake import Defaults
from keisei.engine.office import Office
from keisei.engine.settle import Chance, Ended, settlement
from keisei.engine.sweep import conclude, recover
from keisei.records.answer import ApprovalQuery
from keisei.records.attempt import Usage
from keisei.records.budget import Amount, BudgetPolicy
from keisei.records.error import KeiseiError
from keisei.records.id import AdapterId, AttemptId, BundleId, RunnerId
from keisei.records.move import ClaimOrder, PauseOrder, Progress, Sweep
from keisei.records.outcome import TaskOutcome
from keisei.records.profile import ContextPolicy, ResultPolicy, SubagentProfile
from keisei.records.progression import WorkflowQuery
from keisei.records.project import ProjectApprovals
from keisei.rules.retry import Backoff
from keisei.settings import read_settings
from keisei.store.clock import moment
from keisei.testing.history import every_task
from keisei.testing.postgres import server
from keisei.testing.queue import new_runner
from keisei.wiring import catalog
from keisei.wiring.registry import CatalogRegistry
from tests.store.desk import postgres_desk, sqlite_desk

LEASE_S = 7200.0
PROCESSES = 3
DAY_TOKENS = 40_000
"""What a day may cost; each task may cost a thousand."""
TASK_TOKENS = 1_000

WRITES = frozenset(
    {
        "adopt", "ask", "beat", "claim", "decide", "deliver", "enqueue", "fire", "give_up", "grant", "leave", "move",
        "move_workflow", "note", "observe", "pause", "progress", "put_schedule", "put_sensor", "redeliver", "register",
        "remind", "request_cancel", "settle", "start_workflow", "sweep", "take", "wake_due",
    }
)  # fmt: skip
"""Calls that write: each is a transaction, before and after which a process can die."""

SCHEDULES = {
    "often": (900, {}),
    "hourly": (3600, {"overlap": "queue"}),
    "daily": (86_400, {}),
    "odd": (4217, {}),
    "soon": (5400, {"once": True}),
}
"""Seconds between two moments, and what else is said of each."""

SLOTS = """
SELECT seq, schedule_id, status, first_due_at, count, reason, task_id, recorded_at FROM slots ORDER BY seq
"""
NEWEST_SLOT = "SELECT COALESCE(MAX(seq), 0) FROM slots"
STEPS = """
SELECT id, event_type, task_id FROM events
WHERE event_type IN ('schedule_task_created', 'task_finished', 'schedule_slots_skipped') ORDER BY id
"""

PROFILE = SubagentProfile(
    profile_id="worker",
    style="claude-like",
    role="worker",
    default_adapter_id="model",
    prompt_parts=(),
    skill_ids=(),
    context_policy=ContextPolicy(max_prompt_chars=10_000, include_recent_memory=False),
    result_policy=ResultPolicy(allow_follow_up_tasks=True, allow_external_messages=True),
)

FILES = {
    "keisei.toml": """
[project]
name = "month"

[adapters.model]
kind = "ollama-generate"
endpoint = "http://127.0.0.1:9"
model = "none"
timeout_ms = 1000
""",
    ".keisei/task-types/errand.toml": """
task_type = "errand"
description = "Anything."
payload_schema_id = "schemas/any.json"
default_profile_id = "worker"
""",
    ".keisei/task-types/schemas/any.json": '{"type": "object"}',
    ".keisei/roles/worker.toml": '[role]\nname = "worker"\ndescription = "Works."\n',
    ".keisei/profiles/worker.toml": """
profile_id = "worker"
style = "claude-like"
role = "worker"
default_adapter_id = "model"
prompt_parts = []
skill_ids = []

[context_policy]
max_prompt_chars = 10000
include_recent_memory = false

[result_policy]
allow_follow_up_tasks = true
allow_external_messages = true
""",
    ".keisei/workflows/quest.toml": """
workflow_type = "quest"
initial_state = "plan"

[[states]]
state_id = "plan"
task_type = "errand"
transitions = [{ signal = "continue", next_state = "execute" }]
max_visits = 4

[[states]]
state_id = "execute"
task_type = "errand"
transitions = [{ signal = "continue", next_state = "verify" }]
max_visits = 9

[[states]]
state_id = "verify"
task_type = "errand"
transitions = [
  { signal = "continue", next_state = "execute" },
  { signal = "revise_plan", next_state = "plan" },
  { signal = "complete", next_state = "done" },
]
max_visits = 9

[[states]]
state_id = "done"
""",
}


class Death(BaseException):
    """A process dies here. No code of ours may catch it, as nothing catches a kill."""


class Slot(NamedTuple):
    """A row of the slots, as it stands in the table."""

    place: int
    schedule_id: str
    status: str
    first_due_at: datetime
    count: int
    reason: str | None
    task_id: str | None
    recorded_at: datetime


class Fragile:
    """A store as one process has it."""

    def __init__(self, store, month):
        self._store, self._month = store, month

    def __getattr__(self, name):
        act = getattr(self._store, name)
        if name not in WRITES:
            return act

        def call(*values, **named):
            self._month.may_die()
            result = act(*values, **named)
            self._month.noted(name, values, result)
            self._month.may_die()
            return result

        return call


class Inbox:
    """The outside that messages reach. A message may arrive and its sender die before it can say so."""

    def __init__(self, month):
        self.month, self.arrived = month, Counter()
        self.told = set()
        """Messages of which the store says that they have arrived."""
        self.unsure = Counter()
        """How often a sender died before the store said so: those may come again."""

    def room(self, _channel):
        return 50

    def send(self, item, _at, done):
        self.arrived[item.key] += 1
        try:
            self.month.may_die()
            done(None)
        except Death:
            self.unsure[item.key] += item.key not in self.told
            raise


class Process:
    """A runner, as far as the month sees it."""

    def __init__(self, month, store):
        self.month, self.bare = month, store
        self.store = Fragile(store, month)
        self.runner_id = None

    def round(self):
        """One round of everything. Raises Death."""
        store, month = self.store, self.month
        if self.runner_id is None or not store.beat(self.runner_id).alive:
            runner_id = RunnerId(month.name("runner"))
            store.register(new_runner(runner_id, month.clock, LEASE_S))
            self.runner_id = runner_id
        for claimed in recover(store, Sweep(runner_id=self.runner_id), month.chance(), lambda _claimed: None):
            adopted = store.adopt(claimed, self.runner_id)
            if adopted is not None:
                self.settle(adopted)
        if not month.paused:
            schedule.tick(month.office(store))
            month.look_ahead()
        workflow.advance(month.office(store))
        store.wake_due()
        ids = tuple(AttemptId(month.name("attempt")) for _ in range(4))
        order = ClaimOrder(runner_id=self.runner_id, attempt_ids=ids, budget=month.budget)
        for claimed in store.claim(order):
            self.carry(claimed)
        month.deliver(store)
        approval.remind(store, ProjectApprovals())

    def carry(self, claimed):
        """The attempt begins, works outside, returns, and is settled."""
        month, store = self.month, self.store
        attempt = month.begun(claimed)
        if not store.progress(Progress(stage="started", attempt=attempt)):
            return
        month.work(claimed)
        attempt = month.ended(claimed, attempt)
        if store.progress(Progress(stage="returned", attempt=attempt)):
            self.settle(month.with_attempt(claimed, attempt))

    def settle(self, claimed):
        """What returned is judged from what it left; whoever does it."""
        month = self.month
        ended = Ended(claimed=claimed, exit_status="ok", outcome=month.outcome(claimed.task), profile=PROFILE)
        conclude(self.store, settlement(ended, month.chance()), claimed, month.chance())


class Month:
    """One month. The same seed and sizes give the same month."""

    def __init__(self, desk, folder, seed, *, days=30.0, step_s=600.0, quests=12):
        self.random = random.Random(seed)
        self.desk, self.clock, self.store = desk, desk.clock, desk.store
        self.days, self.step_s, self.trouble, self.paused = days, step_s, True, False
        """How long it is, and how far apart the rounds are, more or less."""
        self.patience = 400
        """Rounds of peace, after which whatever is left is a complaint."""
        self.numbers = Counter()
        self.deaths = Counter()
        self.runs = Counter()
        """How often an agent really worked for a task."""
        self.carried = {}
        """Tasks as they were when an agent worked for them, by attempt, and the tokens that it took."""
        self.finished = set()
        """Tasks of which the store knows that an agent has done them: none of those may be worked on again."""
        self.answers = Counter()
        """What the store said of every event, by sensor, key and answer."""
        self.wrong = []
        """What was seen to be wrong while it happened."""
        self.made_at = {}
        """When each schedule was made."""
        self.spent = Counter()
        """Tokens by UTC day, counted where they are spent."""
        self.emitted = {}
        """Every event a sensor was sure of, by sensor and key; sent until somebody says that it was taken."""
        self.unsent = []
        self.set_back = []
        """When the wall clock was set back, and after which slot."""
        self.inbox = Inbox(self)
        self.defaults = Defaults(max_attempts=50)
        self.budget = BudgetPolicy(task=Amount(tokens=TASK_TOKENS), day=Amount(tokens=DAY_TOKENS))
        self.scripts = {f"quest-{n}": self.script() for n in range(quests)}
        self.registry = self.authored(folder)
        self.processes = [Process(self, desk.another()) for _ in range(PROCESSES)]

    # --- the world ----------------------------------------------------------------------------------------------------

    def authored(self, folder):
        for name, text in FILES.items():
            path = folder / "project" / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        settings = read_settings({"HOME": str(folder / "home"), "KEISEI_HOME": str(folder / "state")})
        return CatalogRegistry(catalog(settings, start=folder / "project"))

    def files(self):
        return self.registry

    def script(self):
        """What the verifier of one quest says, visit by visit."""
        told = self.random.choices(("continue", "revise_plan"), (4, 1), k=self.random.randint(0, 4))
        return [*told[: 1 + told.index("revise_plan")], "complete"] if "revise_plan" in told else [*told, "complete"]

    def name(self, kind):
        self.numbers[kind] += 1
        return f"{kind}-{self.numbers[kind]:06}"

    def fresh(self):
        return self.name("id")

    def may_die(self):
        if self.trouble and self.random.random() < 0.004:
            raise Death

    def chance(self):
        return Chance(
            backoff=Backoff(first_s=30, cap_s=3600),
            jitter=self.random.random(),
            now=self.store.now(),
            new_id=self.fresh,
        )

    def noted(self, name, values, result):
        """What the store has really done, whether or not its process lives to hear of it."""
        if name == "progress" and result and values[0].stage == "returned":
            task, _ = self.carried[values[0].attempt.attempt_id]
            if self.outcome(task).status == "completed":
                self.finished.add(task.task_id)
        elif name == "observe":
            event = values[0].event
            self.answers[event.sensor_id, event.dedupe_key, result.status] += 1
        elif name == "deliver" and result and values[0].item.status == "delivered":
            self.inbox.told.add(values[0].item.key)

    def look_ahead(self):
        """Schedules that somebody has just looked at are not due, and none is further ahead than its next moment."""
        now = self.store.now()
        for name, next_us in self.desk.sql("SELECT name, next_run_at FROM schedules WHERE enabled = 1"):
            ahead = moment(next_us) - now
            if not timedelta(0) < ahead <= timedelta(seconds=SCHEDULES[name][0]):
                self.wrong.append(f"{name} was looked at, and is due in {ahead}")

    def office(self, store):
        return Office(store, self.files, self.defaults, self.fresh)

    def deliver(self, store):
        deliver(self.office(store), self.inbox, 10_000)

    # --- an agent's work ----------------------------------------------------------------------------------------------

    def begun(self, claimed):
        return self.with_usage(claimed.attempt, None)

    def with_usage(self, attempt, usage):
        return replace(
            attempt,
            adapter_id=AdapterId("model"),
            adapter_kind="ollama-generate",
            bundle_id=BundleId(f"b-{attempt.attempt_id}"),
            usage=usage,
        )

    def with_attempt(self, claimed, attempt):
        return replace(claimed, attempt=attempt)

    def work(self, claimed):
        """What cannot be taken back: the agent has worked, and its tokens are spent."""
        if claimed.task.task_id in self.finished:
            self.wrong.append(f"task {claimed.task.task_id} was worked on again after it was done")
        self.runs[claimed.task.task_id] += 1
        tokens = self.random.randint(1, TASK_TOKENS // 4)
        self.spent[claimed.attempt.started_at.date()] += tokens
        self.carried[claimed.attempt.attempt_id] = claimed.task, tokens
        self.may_die()

    def ended(self, claimed, attempt):
        _, tokens = self.carried[claimed.attempt.attempt_id]
        usage = Usage(input_tokens=tokens, output_tokens=0, cache_read_tokens=0, cache_write_tokens=0, cost_usd=None)
        return self.with_usage(attempt, usage)

    def outcome(self, task):
        """What the evidence says: the same whoever looks at it, and however often."""
        own = random.Random(f"{task.task_id}/{task.attempt_count}")
        if own.random() < 0.05:
            return TaskOutcome(status="retryable_failure", machine_status="needs_retry", operator_summary="not yet")
        if own.random() < 0.02:
            return TaskOutcome(status="blocked", machine_status="blocked", operator_summary="somebody must look")
        told = {"channel": "console", "text": f"done {task.task_id}"}
        return TaskOutcome(
            status="completed",
            machine_status="ok",
            operator_summary=f"did {task.task_id}",
            workflow_signal=self.signal(task),
            external_messages=(told,),
        )

    def signal(self, task):
        if task.workflow_ref is None:
            return None
        if task.workflow_ref.state_id != "verify":
            return "continue"
        visit = int(task.payload["iteration"])
        return self.scripts[task.workflow_ref.instance_key][visit - 1]

    # --- what begins work ---------------------------------------------------------------------------------------------

    def make_schedules(self):
        for name, (every, more) in SCHEDULES.items():
            self.made_at[name] = self.store.now()
            task = {"task_type": "errand", "source": name, "payload": {}}
            data = {"name": name, "interval_seconds": every, "task": task, **more}
            schedule.upsert(self.office(self.store), data, "operator:test", hush)

    def observe(self, store):
        """Sensors see something new, see the same again, and send what nobody has taken yet."""
        if self.random.random() < 0.25:
            self.unsent.append(self.event())
        if self.emitted and self.random.random() < 0.1:
            again = dict(self.random.choice(list(self.emitted.values())))
            self.unsent.append(again | {"event_id": self.fresh()})
        for event in list(self.unsent):
            try:
                actor = f"sensor:{event['sensor_id']}"
                sensor.observe(self.office(store), event, actor, hush)
            except KeiseiError:
                assert event.get("proposed_task", {}).get("task_type") == "nonsense", event
                mended = event | {"proposed_task": event["proposed_task"] | {"task_type": "errand"}}
                self.emitted[event["sensor_id"], event["dedupe_key"]] = mended
                self.unsent.append(mended)
            self.unsent.remove(event)

    def event(self):
        now, name = self.store.now(), f"sensor-{self.random.randint(1, 3)}"
        key = self.fresh()
        event = {
            "sensor_id": name,
            "event_id": f"e-{key}",
            "observed_at": stamp(now),
            "source_ref": "test",
            "dedupe_key": key,
            "payload": {},
        }
        waiting = [each for each in self.scripts if each not in self.quests_begun()]
        kind = self.random.random()
        if waiting and kind < 0.3:
            event["proposed_workflow"] = {"template": "quest", "instance_key": self.random.choice(waiting)}
        else:
            event["proposed_task"] = {"task_type": "errand", "source": name, "payload": {"key": key}}
            if kind > 0.9:
                event["freshness_deadline"] = stamp(now - timedelta(hours=1))
            elif kind > 0.8:
                event["proposed_task"]["task_type"] = "nonsense"
        self.emitted[name, key] = event
        return event

    def quests_begun(self):
        proposed = [each.get("proposed_workflow") for each in self.emitted.values()]
        return {each["instance_key"] for each in proposed if each is not None}

    # --- a month ------------------------------------------------------------------------------------------------------

    def run(self):
        """Trouble for a month, then peace until nothing is left to do."""
        self.make_schedules()
        end = self.clock.boottime() + self.days * 86_400
        while self.clock.boottime() < end:
            self.disturb()
            self.step()
            self.clock.advance(self.random.expovariate(1 / self.step_s))
        self.trouble = False
        self.order_pause(paused=False)
        for each in self.store.schedules():
            schedule.pause(self.store, each.name, "the month is over", "operator:test")
        for _ in range(self.patience):
            self.step()
            self.clock.advance(1800)
            if self.is_over():
                return

    def is_over(self):
        counts = self.store.counts()
        waiting = counts["pending"] + counts["running"] + counts["retryable_failure"] + counts["blocked"]
        return not (waiting or self.unsent or self.store.pending(1) or self.store.stirred(1))

    def step(self):
        for number, process in enumerate(self.processes):
            try:
                process.round()
                self.observe(process.store)
                self.decide(process.store)
            except Death:
                self.deaths["process"] += 1
                self.processes[number] = Process(self, process.bare)

    def decide(self, store):
        """A person looks at what needs one, now and then."""
        if self.trouble and self.random.random() < 0.8:
            return
        for each in self.store.approvals(ApprovalQuery()):
            if each.task_id is not None:
                approval.approve(self.office(store), each.approval_id, "go on", "operator:test", self.budget)

    def disturb(self):
        luck = self.random.random() / (self.step_s / 600)
        if luck < 0.002:
            self.clock.jump(self.random.uniform(60, 6 * 3600))
        elif luck < 0.004:
            self.clock.jump(-self.random.uniform(60, 6 * 3600))
            self.set_back.append((self.store.now(), self.desk.sql(NEWEST_SLOT)[0][0]))
        elif luck < 0.008:
            self.clock.advance(self.random.uniform(3600, 14 * 3600))
        elif luck < 0.012:
            self.order_pause(paused=not self.paused)

    def order_pause(self, *, paused):
        if paused != self.paused:
            self.paused = paused
            self.store.pause(PauseOrder(scope="all", paused=paused, reason="lunch", actor="operator:test"))


def hush(_word):
    """Nobody is warned."""


def stamp(moment):
    return moment.isoformat().replace("+00:00", "Z")


# --- the two countings ------------------------------------------------------------------------------------------------


def complaints(month):
    """Everything in which the tables and the world differ; nothing where the month went well."""
    tasks = list(every_task(month.store))
    return [
        *month.wrong,
        *origin_complaints(tasks),
        *slot_complaints(month, tasks),
        *overlap_complaints(month),
        *sensor_complaints(month, tasks),
        *quest_complaints(month, tasks),
        *work_complaints(month, tasks),
        *message_complaints(month),
        *(f"{day}: {spent} tokens of {DAY_TOKENS}" for day, spent in month.spent.items() if spent > DAY_TOKENS),
    ]


def slot_complaints(month, tasks):
    """Every due moment is in exactly one row, and every row that says so has exactly one task."""
    queued = Counter(slot.task_id for slot in every_slot(month) if slot.status == "enqueued")
    asked = Counter(task.task_id for task in tasks if task.schedule_id is not None)
    if queued != asked or any(number > 1 for number in queued.values()):
        yield f"slots and tasks differ: {list((queued - asked) + (asked - queued))[:3]}"
    for each in month.store.schedules():
        yield from moment_complaints(month, each.name, each.schedule_id)


def moment_complaints(month, name, schedule_id):
    """The moments of one schedule follow each other as its interval says, from the one at which it was made."""
    seconds, more = SCHEDULES[name]
    every, evaluations = timedelta(seconds=seconds), defaultdict(list)
    for slot in every_slot(month):
        if slot.schedule_id == schedule_id:
            evaluations[slot.recorded_at].append(slot)
    before, place, first_at = None, 0, month.made_at[name] + (every if "once" in more else timedelta(0))
    if not evaluations:
        yield f"{name} has never been due"
    for now, slots in evaluations.items():
        first, number = min(slot.first_due_at for slot in slots), sum(slot.count for slot in slots)
        due = 1 if "once" in more else (now - first) // every + 1
        if number != due:
            yield f"{name} at {now}: {number} moments from {first} are not those that were due"
        expected = first_at if before is None else before + every
        if first != expected and not is_put_right(month, (before, place), (first, slots[0].place), every):
            yield f"{name} at {now}: the first moment is {first}, after an evaluation at {before}"
        before, place = now, slots[-1].place


def is_put_right(month, last, this, every):
    """Between two evaluations the clock was set back: the next moment is at most an interval after that was seen."""
    (before, place), (first, next_place) = last, this
    if before is None:
        return False
    between = [now for now, newest in month.set_back if place <= newest < next_place]
    return first < before + every and any(now < before and now + every <= first for now in between)


def overlap_complaints(month):
    """A slot is skipped because the task before it is open then, and for nothing else; if it is open, it is skipped.

    Told by the order in which things were written, so that no clock has a say in it.
    """
    places = defaultdict(dict)
    skips = []
    for place, kind, task_id in month.desk.sql(STEPS):
        places[kind][task_id] = place  # the last one: a task that somebody freed is finished later
        skips += [place] if kind == "schedule_slots_skipped" else []
    names = {each.schedule_id: each.name for each in month.store.schedules()}
    newest = {}
    for slot in every_slot(month):
        name, before = names[slot.schedule_id], newest.get(slot.schedule_id)
        if slot.status == "enqueued":
            place = places["schedule_task_created"].get(slot.task_id)
            newest[slot.schedule_id] = slot.task_id
        elif slot.status == "skipped":
            place = skips.pop(0) if skips else None
        else:
            continue
        begun, done = (places[kind].get(before) for kind in ("schedule_task_created", "task_finished"))
        is_open = None not in {place, begun, done} and begun < place < done
        wanted = "skipped" if is_open and SCHEDULES[name][1].get("overlap") != "queue" else "enqueued"
        if slot.status != wanted or (wanted == "skipped" and before not in slot.reason):
            yield f"{name} at {slot.recorded_at} was {slot.status} after {before}: {slot.reason}"
    if skips:
        yield f"{len(skips)} more slots were skipped than there are rows"


def origin_complaints(tasks):
    """Every task has been asked for by a schedule, an event or a workflow, and by one of them."""
    for task in tasks:
        asked = (task.schedule_id is not None, "key" in task.payload, task.workflow_ref is not None)
        if sum(asked) != 1:
            yield f"task {task.task_id} ({task.source}) was asked for by {sum(asked)}"


def sensor_complaints(month, tasks):
    """Every event has one row; each that is fresh and proposes a task has one task, and no other has any."""
    rows = {(name, key): (status, repeats) for name, key, status, repeats in every_seen(month)}
    if rows.keys() != month.emitted.keys():
        yield f"events differ: {list(rows.keys() ^ month.emitted.keys())[:3]}"
    started = Counter(task.payload["key"] for task in tasks if "key" in task.payload)
    for (name, key), event in month.emitted.items():
        fresh = "freshness_deadline" not in event
        if started[key] != (fresh and "proposed_task" in event):
            yield f"event {key} of {name} has started {started[key]} tasks"
        answers = [month.answers[name, key, answer] for answer in ("recorded", "deduped")]
        expected = ("accepted" if fresh else "stale", answers[1])
        if answers[0] != 1 or rows.get((name, key)) != expected:
            yield f"event {key} of {name} is {rows.get((name, key))}, and was answered {answers}"
    told = month.desk.sql("SELECT COUNT(*) FROM events WHERE event_type = 'sensor_event_deduped'")[0][0]
    if told != sum(repeats for _, repeats in rows.values()):
        yield f"{told} events tell of what was known already"


def every_seen(month):
    """Sensor, key, status and repeats of every event, read from the table itself."""
    return month.desk.sql("SELECT sensor_id, dedupe_key, status, repeats FROM sensor_events")


def every_slot(month):
    """Every slot in order, read from the table itself."""
    for place, schedule_id, status, first, count, reason, task_id, recorded in month.desk.sql(SLOTS):
        yield Slot(place, schedule_id, status, moment(first), count, reason, task_id, moment(recorded))


def quest_complaints(month, tasks):
    """Every quest that was begun is done, and was where its script leads it, once each, in that order.

    Each of its stays has asked for one task.
    """
    refs = [(task.workflow_ref, task.payload) for task in tasks if task.workflow_ref is not None]
    asked = Counter((ref.instance_key, ref.state_id, int(payload["iteration"])) for ref, payload in refs)
    wanted = Counter((key, *stay) for key in month.quests_begun() for stay in way(month.scripts[key])[:-1])
    if asked != wanted:
        yield f"tasks of quests differ: {list((asked - wanted) + (wanted - asked))[:3]}"
    found = {each.record.instance_key: each for each in month.store.workflows(WorkflowQuery(limit=1000))}
    if found.keys() != month.quests_begun():
        yield f"quests differ: {sorted(found.keys() ^ month.quests_begun())}"
    for key, quest in found.items():
        visits = [(each.state, each.visit) for each in month.store.visits(quest.record.workflow_id)]
        if quest.record.status != "completed" or visits != way(month.scripts[key]):
            yield f"{key} is {quest.record.status} ({quest.record.reason}) after {visits}; {way(month.scripts[key])}"


def way(script):
    """The visits of a quest whose verifier says this."""
    seen, visits, state = Counter(), [], "plan"
    while True:
        seen[state] += 1
        visits.append((state, seen[state]))
        if state == "done":
            return visits
        signal = script[seen[state] - 1] if state == "verify" else "continue"
        state = {"plan": "execute", "execute": "verify", "verify": NEXT.get(signal)}[state]


NEXT = {"continue": "execute", "revise_plan": "plan", "complete": "done"}


def work_complaints(month, tasks):
    """Every task is done; an agent has worked for it, and not more often than attempts were begun."""
    for task in tasks:
        attempts = month.store.attempts(task.task_id, 1000)
        begun = sum(each.bundle_id is not None for each in attempts)
        done = sum(each.exit_status == "ok" and each.retry_class == "none" for each in attempts)
        if task.status != "completed" or done != 1:
            yield f"task {task.task_id} ({task.source}) is {task.status}, {done} times: {task.last_error}"
        if not 1 <= month.runs[task.task_id] <= begun:
            yield f"task {task.task_id} was worked on {month.runs[task.task_id]} times in {begun} attempts"


def message_complaints(month):
    """Every message has arrived; a second time only where its sender died before it could say so."""
    rows = dict(month.desk.sql("SELECT key, status FROM outbox"))
    left = [key for key, status in rows.items() if status != "delivered"]
    if left:
        yield f"messages are not delivered: {left[:3]}"
    if rows.keys() != month.inbox.arrived.keys():
        yield f"messages differ: {list(rows.keys() ^ month.inbox.arrived.keys())[:3]}"
    for key, number in month.inbox.arrived.items():
        if number > 1 + month.inbox.unsure[key]:
            yield f"message {key} arrived {number} times, after {month.inbox.unsure[key]} deaths of its senders"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--store", choices=("sqlite", "postgres"), default="sqlite")
    parser.add_argument("--days", type=float, default=30.0)
    parser.add_argument("--step", type=float, default=600.0, help="Seconds between two rounds, more or less.")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--months", type=int, default=1, help="So many, with the seeds after the first.")
    given = parser.parse_args()
    failed = 0
    for seed in range(given.seed, given.seed + given.months):
        with tempfile.TemporaryDirectory() as folder, opened(given.store, Path(folder)) as desk:
            month = Month(desk, Path(folder), seed, days=given.days, step_s=given.step)
            month.run()
            found = complaints(month)
            failed += bool(found)
            line = {"store": given.store, "seed": seed, **told(month), "complaints": found[:20]}
            sys.stdout.write(f"{json.dumps(line)}\n")
    return 1 if failed else 0


def told(month):
    """The month in numbers."""
    slots = list(every_slot(month))
    return {
        "days": month.days,
        "tasks": len(list(every_task(month.store))),
        "slots": sum(each.count for each in slots),
        "slot_rows": dict(Counter(each.status for each in slots)),
        "events": len(month.emitted),
        "repeats": sum(row[-1] for row in every_seen(month)),
        "quests": len(month.store.workflows(WorkflowQuery(limit=1000))),
        "messages": len(month.inbox.arrived),
        "deaths": sum(month.deaths.values()),
        "set_back": len(month.set_back),
    }


@contextmanager
def postgres():
    with ExitStack() as stack:
        place = stack.enter_context(tempfile.TemporaryDirectory(prefix="keisei-postgres-"))
        running = stack.enter_context(server(Path(place)))
        yield stack.enter_context(postgres_desk(running.database()))


def opened(kind, folder):
    """A desk over an empty database."""
    return sqlite_desk(folder) if kind == "sqlite" else postgres()


if __name__ == "__main__":
    sys.exit(main())
