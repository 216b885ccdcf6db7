"""A shop for tests of running pipes: a real store, atoms that are functions, and runs that can be killed anywhere."""

import itertools
import threading
from contextlib import closing, contextmanager
from datetime import UTC, datetime

from msgspec.structs import replace

from keisei.engine.invoke import Tools
from keisei.engine.pipe import Pipe
from keisei.engine.pipe_order import PipeOrder, PipeTools, new_run, taken_run
from keisei.engine.pipe_value import members_of
from keisei.records.invocation import Answer, InvocationError
from keisei.records.pipe_run import CacheHit
from keisei.store import open_store
from tests.rules.pipe_world import obj, planned, spec

ANY = obj((), closed=False)
ERRORS = (("Gone", 404), ("Busy", 503))
NAMED = obj(("id",), id={})
ATOMS = {
    each.id: each
    for each in (
        spec("kei-x::pure", takes=ANY, gives=ANY),
        spec(
            "kei-x::ask",
            kind="query",
            effects=("read:db",),
            takes=ANY,
            gives=ANY,
            errors=ERRORS,
        ),
        spec("kei-x::put", kind="command", effects=("write:a",), idempotent=True, takes=ANY, gives=ANY),
        spec("kei-x::add", kind="command", effects=("write:b",), takes=ANY, gives=ANY, errors=(("Busy", 503),)),
        spec("kei-x::send", kind="command", effects=("network:c",), takes=ANY, gives=ANY),
        spec("kei-x::key", kind="command", effects=("write:d",), keyed=True, takes=ANY, gives=ANY),
        spec("kei-x::drop", kind="command", effects=("write:e",), idempotent=True, takes=NAMED, gives=ANY),
        spec("kei-x::drop-once", kind="command", effects=("write:e",), takes=NAMED, gives=ANY),
        spec("kei-x::tail", kind="stream", effects=("read:f",), idempotent=True, takes=ANY, gives=ANY),
        spec("kei-x::feed", kind="stream", effects=("write:g",), takes=ANY, gives=ANY),
        spec(
            "kei-x::login",
            kind="query",
            effects=("read:db",),
            takes=obj((), token={"type": "string", "writeOnly": True}, user={"type": "string"}),
            gives=ANY,
        ),
    )
}
HELD = spec("kei-y::held", kind="query", effects=("read:q",), takes=ANY, gives=ANY)
METADATA = replace(HELD.package.metadata, env=("KEI_TOKEN",))
ATOMS[HELD.id] = replace(HELD, package=replace(HELD.package, metadata=METADATA))
"""Its package has a variable of its own."""


class Killed(BaseException):
    """The runner process is gone: nothing of it runs any more."""


class Crew:
    """Whoever runs atoms: a function each, which gets the input and the order."""

    def __init__(self):
        self.does, self.calls, self.canceled = {}, [], threading.Event()
        self.running, self.most = 0, 0
        self._lock = threading.Lock()

    def call(self, order):
        if self.canceled.is_set():
            return fails("killed", "canceled", exit_code=130)
        with self._lock:
            self.calls.append((order.spec.verb, order.input, order.invocation_id))
            self.running += 1
            self.most = max(self.most, self.running)
        try:
            found = self.does.get(order.spec.verb, lambda given, _: given)(order.input, order)
        finally:
            with self._lock:
                self.running -= 1
        return found if isinstance(found, Answer) else Answer(output=found)

    def follow(self, order):
        with self._lock:
            self.calls.append((order.spec.verb, order.input, order.invocation_id))
        return Following(self.does[order.spec.verb](order.input, order), self.canceled)

    def cancel(self):
        self.canceled.set()

    def verbs(self):
        return [verb for verb, _, _ in self.calls]

    def inputs(self, verb):
        return [given for each, given, _ in self.calls if each == verb]

    def ids(self, verb):
        return [each for name, _, each in self.calls if name == verb]


class Following:
    """A stream out of an iterator; an Answer in it ends it so."""

    def __init__(self, items, canceled):
        self._items, self._canceled, self._answer, self._count = items, canceled, None, 0
        self.closed = False

    def __iter__(self):
        for item in self._items:
            if self.closed or self._canceled.is_set():
                return
            if isinstance(item, Answer):
                self._answer = item
                return
            self._count += 1
            yield item
        self._answer = Answer(output=self._count)

    def close(self):
        self.closed = True

    @property
    def answer(self):
        return self._answer or fails("killed", "canceled", exit_code=130)


class Cache:
    """A cache in memory."""

    def __init__(self):
        self.kept, self.asked = {}, []

    def find(self, key):
        self.asked.append(key)
        found = key in self.kept
        return CacheHit(found=found, output=self.kept.get(key), why="kept" if found else "never called")

    def keep(self, key, output):
        self.kept[key] = output


class Runs:
    """A store that can be told to fail, or to kill whoever writes."""

    def __init__(self, store):
        self._store, self.moves, self.trouble = store, 0, {}

    def __getattr__(self, name):
        return getattr(self._store, name)

    def move_run(self, move):
        self.moves += 1
        before, after = self.trouble.pop(("before", self.moves), None), self.trouble.pop(("after", self.moves), None)
        if before is not None:
            raise before
        done = self._store.move_run(move)
        if after is not None:
            raise after
        return done


class Shop:
    """Everything around one run after the other."""

    def __init__(self, store):
        self.store, self.crew, self.cache, self.told = store, Crew(), Cache(), []
        self.runs = Runs(store)
        self.secrets, self.env = (), {}
        self.code = "c"
        self._ids = (f"id-{number:05}" for number in itertools.count())

    @property
    def tools(self):
        return Tools(
            workers=self.crew,
            databases=self,
            environment=lambda *_: self.env,
            new_id=lambda: next(self._ids),
            now=lambda: datetime.now(UTC),
            cwd="/",
            secrets=self.secrets,
        )

    def database(self, _package):
        return None

    def pipe(self, order):
        cache = self.cache
        tools = PipeTools(self.runs, self.tools, cache, lambda _: self.code, tell=self.told.append, chance=lambda: 0.0)
        return Pipe(tools, order)

    def begin(self, text, given=None):
        """A run, begun, and the session that runs it."""
        plan = planned(text, ATOMS)
        run = new_run(plan, "/dag.toml", given, "operator:ann", self.tools)
        self.store.begin_run(run)
        return self.pipe(PipeOrder(plan=plan, run=run, input=given, actor="operator:ann")), run

    def run(self, text, given=None):
        """Run it to its end."""
        pipe, run = self.begin(text, given)
        return pipe.run(), run

    def resume(self, run, text, given=None, **wishes):
        """Take it over with another crew, and run it to its end."""
        crew, self.crew = self.crew, Crew()
        self.crew.does = crew.does
        plan = planned(text, ATOMS)
        kept = self.store.pipe_run(run.run_id)
        given = kept.input if given is None else given
        taken = self.store.take_run(taken_run(kept, plan, "/dag.toml", given, self.tools))
        order = PipeOrder(plan=plan, run=taken, input=given, actor="operator:bob", **wishes)
        return self.pipe(order).run()

    def rows(self, run, step):
        return list(members_of(self.store, run.run_id, step))

    def states(self, run, step):
        return [row.state for row in self.rows(run, step)]

    def outputs(self, run, step):
        return [row.output for row in self.rows(run, step) if row.state == "done"]

    def ledger(self):
        return [entry.kind for entry in self.store.entries(limit=1000)]


def fails(kind="atom", message="no", *, code=None, exit_code=2):
    return Answer(error=InvocationError(kind=kind, code=code, message=message), exit_code=exit_code)


@contextmanager
def open_shop(folder):
    with closing(open_store(f"sqlite://{folder}/state.db")) as store:
        yield Shop(store)
