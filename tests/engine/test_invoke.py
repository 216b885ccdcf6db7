"""Invoke: one record with one outcome for everything that can happen to a call, and no secret in any of it."""

import itertools
import math
from contextlib import contextmanager, suppress
from datetime import UTC, datetime

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from keisei.contracts.check import build, data_of
from keisei.engine import invoke as engine
from keisei.engine.invoke import InvokeOrder, Tools
from keisei.records.atom import AtomError, AtomInput, AtomManifest, AtomOutput, PackageFile
from keisei.records.atom_spec import AtomPackage, AtomSpec
from keisei.records.error import IllegalMove, MissingProgram, OperatorError, WorldFault
from keisei.records.invocation import Answer, InvocationError
from keisei.rules.canonical import digest
from keisei.testing.strategies import json_values
from keisei.workers.answer import own_error
from keisei.workers.frame import SAID, Inbox
from keisei.workers.host import shown
from keisei.workers.program import _exited, _own_error

QUICK = settings(max_examples=60, deadline=None, database=None)
NOW = datetime(2026, 11, 16, 3, 0, tzinfo=UTC)
SECRET = "tr0ub4dor-and-3"  # noqa: S105 - of nobody
LONG_SECRET = "JWT.ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-ZYXWVUTSRQPONMLKJIHGFEDCB"  # noqa: S105 - of nobody
INPUT = {
    "type": "object",
    "required": ["title"],
    "properties": {"title": {"type": "string"}, "key": {"type": "string", "writeOnly": True, "maxLength": 20}},
}
OUTPUT = {"type": "object", "required": ["id"], "properties": {"id": {"type": "integer"}}}
numbers = itertools.count()


def spec_of(kind="command", *, output=OUTPUT, errors=("DuplicateTitle",), env=(), timeout_ms=30_000, deprecated=None):
    manifest = AtomManifest(
        atom="kei-task::create",
        kind=kind,
        version="1.2.3",
        input=AtomInput(schema="schemas/in.json"),
        output=AtomOutput(schema="schemas/out.json"),
        errors=tuple(AtomError(code=code, description="x") for code in errors),
        side_effects=(),
        idempotent=False,
        timeout_ms=timeout_ms,
        stability="stable",
        deprecated=deprecated,
    )
    package = AtomPackage(
        name="kei-task",
        version="1.2.3",
        folder="/p",
        atoms="/p/atoms",
        metadata=PackageFile(backend="memory", env=env),
        language="python",
        import_root="/p",
        import_name=None,
    )
    return AtomSpec(
        manifest=manifest,
        summary="",
        page="/p/atoms/create.md",
        package=package,
        input_schema=INPUT,
        output_schema=output,
        spec_sha=f"{next(numbers):064x}",
        function="/p/atoms/create.py",
    )


class Stream:
    """A stream of a fake worker: values, then how it ends."""

    def __init__(self, items, answer):
        self._items, self._answer, self.closed, self.ended = iter(items), answer, False, False

    def __iter__(self):
        for item in self._items:
            if self.closed:
                return
            yield item
        self.ended = True

    def close(self):
        self.closed = True

    @property
    def answer(self):
        if self.ended:
            return self._answer
        return Answer(error=InvocationError(kind="killed", message="canceled"), exit_code=130, said=self._answer.said)


class Crew:
    """Values in, values out."""

    def __init__(self, answer=None, *, items=()):
        self.answer, self.items = answer or Answer(output={"id": 1}), items
        self.orders = []

    def call(self, order):
        self.orders.append(order)
        if isinstance(self.answer, BaseException):
            raise self.answer
        return self.answer

    def follow(self, order):
        self.orders.append(order)
        if isinstance(self.answer, BaseException):
            raise self.answer
        self.stream = Stream(self.items, self.answer)
        return self.stream

    def cancel(self):
        raise NotImplementedError


class Databases:
    def __init__(self, found=None):
        self.found = found

    def database(self, package):
        assert package.name == "kei-task"
        if isinstance(self.found, Exception):
            raise self.found
        return self.found


class Ledger:
    def __init__(self, failure=None):
        self.rows, self.failure = [], failure

    def append(self, entry):
        if self.failure is not None:
            raise self.failure
        self.rows.append(entry)
        return entry


def tools_of(crew, *, database=None, secrets=(), env=None):
    return Tools(
        workers=crew,
        databases=Databases(database),
        environment=lambda _package, found: {"PATH": "/bin", **({"DB": found} if found else {}), **(env or {})},
        new_id=lambda: "inv-1",
        now=lambda: NOW,
        cwd="/work",
        secrets=secrets,
        monotonic=iter(range(1000)).__next__,
    )


def called(answer=None, *, spec=None, value=None, **given):
    crew = Crew(answer)
    order = InvokeOrder(spec=spec or spec_of(), input={"title": "x"} if value is None else value, actor="operator:ann")
    return engine.call(tools_of(crew, **given), order), crew


def test_a_call_that_succeeds_is_recorded_whole():
    invoked, crew = called(database="/db")

    assert invoked.output == {"id": 1}
    assert invoked.record.exit_code == 0
    assert invoked.record.error is None
    assert invoked.record.input_sha == digest({"title": "x"})
    assert invoked.record.output_sha == digest({"id": 1})
    assert invoked.record.duration_ms == 1000.0
    assert invoked.record.started_at == NOW
    (order,) = crew.orders
    assert order.env == {"PATH": "/bin", "DB": "/db", "KEISEI_ATOM": "kei-task::create", "KEISEI_DATABASE": "/db"}
    assert (order.database, order.cwd, order.timeout_s, order.invocation_id) == ("/db", "/work", 30.0, "inv-1")


def test_an_input_that_does_not_fit_is_never_called():
    invoked, crew = called(value={"title": 3})

    assert crew.orders == []
    assert (invoked.record.error.kind, invoked.record.exit_code) == ("schema-in", 2)
    assert invoked.record.error.message == "title: must be a string, not an integer"


@pytest.mark.parametrize("number", [2**53, math.nan, math.inf], ids=str)
def test_an_input_without_canonical_form_is_one_sentence(number):
    invoked, crew = called(value={"title": "x", "n": number})

    assert crew.orders == []
    assert invoked.record.error.kind == "schema-in"
    assert "no canonical form" in invoked.record.error.message


@pytest.mark.parametrize(
    ("output", "told"),
    [
        ({"id": "one"}, "id: must be an integer, not a string"),
        (None, "document: must be an object, not null"),
        ({"id": 2**60}, "no canonical form"),
        ({"id": 1, "x": math.nan}, "no canonical form"),
    ],
    ids=["type", "nothing", "large", "nan"],
)
def test_an_atom_that_lies_about_its_output_is_told(output, told):
    invoked, _ = called(Answer(output=output, said="hello"))

    assert (invoked.record.error.kind, invoked.record.exit_code) == ("schema-out", 2)
    assert told in invoked.record.error.message
    assert (invoked.output, invoked.record.output_sha, invoked.said) == (None, None, "hello")


@pytest.mark.parametrize(
    ("kind", "code"), [("atom", 2), ("timeout", 5), ("killed", 1), ("killed", 130), ("io", 1), ("schema-out", 2)]
)
def test_what_the_worker_says_is_what_is_recorded(kind, code):
    invoked, _ = called(Answer(error=InvocationError(kind=kind, message="because"), exit_code=code))

    assert (invoked.record.error.kind, invoked.record.error.message) == (kind, "because")
    assert invoked.record.exit_code == code


def test_a_failure_that_claims_success_gets_the_code_of_its_kind():
    invoked, _ = called(Answer(error=InvocationError(kind="timeout", message="late"), exit_code=0))

    assert invoked.record.exit_code == 5


@pytest.mark.parametrize(("code", "declared"), [("DuplicateTitle", True), ("Surprise", False)])
def test_an_undeclared_code_is_told_with_a_word_about_the_page(code, declared):
    invoked, _ = called(Answer(error=InvocationError(kind="atom", code=code, message="no"), exit_code=2))

    assert invoked.record.error.code == code
    assert ("does not declare `Surprise`" in invoked.record.error.message) is not declared


def test_a_hostile_message_becomes_plain_text_of_some_length():
    words = "\ud800\x1b[31m" * 9000
    invoked, _ = called(Answer(error=InvocationError(kind="atom", code=words, message=words), exit_code=2))

    assert invoked.record.error.message.isprintable()
    assert len(invoked.record.error.message) < 2100
    assert len(invoked.record.error.code) < 1000
    assert digest(engine.entry(invoked, "a").body)


@pytest.mark.parametrize(
    ("failure", "code"), [(OperatorError("it is a link", "name the file"), 1), (WorldFault("disk full"), 1)]
)
def test_a_database_that_cannot_be_used_is_io(failure, code):
    invoked, crew = called(database=failure)

    assert crew.orders == []
    assert (invoked.record.error.kind, invoked.record.exit_code) == ("io", code)
    assert failure.message in invoked.record.error.message


def test_a_missing_program_is_127_with_its_hint():
    invoked, _ = called(MissingProgram("no program `kei-task`", "install it"))

    assert (invoked.record.error.kind, invoked.record.exit_code) == ("io", 127)
    assert invoked.record.error.message == "no program `kei-task` (hint: install it)"


def test_an_interrupt_is_a_canceled_call():
    invoked, _ = called(KeyboardInterrupt())

    assert (invoked.record.error.kind, invoked.record.exit_code) == ("killed", 130)


@pytest.mark.parametrize(("asked", "used"), [(None, 30.0), (500, 0.5), (99_000, 30.0), (0, 0.001), (-5, 0.001)])
def test_a_caller_may_only_shorten_the_time(asked, used):
    crew = Crew()
    engine.call(tools_of(crew), InvokeOrder(spec=spec_of(), input={"title": "x"}, actor="a", timeout_ms=asked))

    assert crew.orders[0].timeout_s == used


@pytest.mark.parametrize("kind", ["command", "stream"])
def test_a_call_is_judged_before_anything_is_made_for_it(kind):
    asked, crew = [], Crew()
    tools = tools_of(crew, database=AssertionError("made"))._replace(judge=lambda order: asked.append(order) or "no")
    order = InvokeOrder(spec=spec_of(kind), input={"title": "x"}, actor="a")

    refused = engine.call(tools, order).record
    unfit = engine.call(tools, msgspec.structs.replace(order, input={"title": 7})).record

    assert (refused.error.kind, refused.error.message, refused.exit_code) == ("refused", "no", 2)
    assert unfit.error.kind == "schema-in"
    assert [(each.input, each.invocation_id, each.database, each.cwd) for each in asked] == [
        ({"title": "x"}, "inv-1", None, "/work")
    ]
    assert crew.orders == []


def test_a_call_that_is_allowed_is_made():
    crew = Crew()
    tools = tools_of(crew, database="/db")._replace(judge=lambda _: None)

    assert engine.call(tools, InvokeOrder(spec=spec_of(), input={"title": "x"}, actor="a")).output == {"id": 1}
    assert crew.orders[0].database == "/db"


def test_a_call_made_again_keeps_its_id():
    crew = Crew()
    order = InvokeOrder(spec=spec_of(), input={"title": "x"}, actor="a", invocation_id="inv-9", attempt_id="att-1")
    invoked = engine.call(tools_of(crew), order)

    assert crew.orders[0].invocation_id == invoked.record.invocation_id == "inv-9"
    assert invoked.record.attempt_id == "att-1"


def test_a_deprecated_atom_runs_with_a_note():
    invoked, _ = called(Answer(output={"id": 1}, said="done"), spec=spec_of(deprecated="use kei-task::add"))

    assert invoked.record.exit_code == 0
    assert invoked.said == "note: `kei-task::create` is deprecated: use kei-task::add\ndone"


@pytest.mark.parametrize("where", ["environment", "input", "caller"])
def test_secrets_stand_in_no_message_and_in_nothing_it_said(where):
    invoked, _ = called(
        Answer(error=InvocationError(kind="atom", message=f"bad {SECRET}"), exit_code=2, said=f"I know {SECRET}"),
        spec=spec_of(env=("API_KEY",)),
        value={"title": "x", "key": SECRET} if where == "input" else {"title": "x"},
        env={"API_KEY": SECRET} if where == "environment" else {},
        secrets=(SECRET,) if where == "caller" else (),
    )

    assert SECRET not in repr(invoked)
    assert SECRET not in repr(engine.entry(invoked, "a"))
    assert "[redacted]" in invoked.record.error.message
    assert "[redacted]" in invoked.said


def pieces_of(secret, text):
    return [secret[at : at + 6] for at in range(len(secret) - 5) if secret[at : at + 6] in text]


def told_with(spec, answer, **given):
    invoked, _ = called(answer, spec=spec, env={"API_KEY": LONG_SECRET}, **given)
    return f"{invoked.record.error.message} {invoked.said}"


def test_wherever_a_message_is_cut_no_piece_of_a_secret_is_left():
    """Each of these is cut somewhere on its way: by the host, by what is read of a program, by the row."""
    spec = spec_of(env=("API_KEY",))
    cutters = [lambda text: own_error(None, text, ""), lambda text: own_error(None, shown(ValueError(text)), "")]
    cutters.append(lambda text: own_error(*_own_error(f"Full: {text}\n", b""), ""))
    for cut, around in itertools.product(cutters, (2000, 16_384, 32_768)):
        for before in range(around - 80, around + 10, 7):
            # secrets that are taken out make room for what stood behind the cut
            text = "y" * (before % 1900) + LONG_SECRET * (before // 66) + "y" * (before % 66) + LONG_SECRET

            assert pieces_of(LONG_SECRET, told_with(spec, cut("y" * before + LONG_SECRET))) == []
            assert pieces_of(LONG_SECRET, told_with(spec, cut(text))) == []


def test_wherever_what_it_said_is_cut_no_piece_of_a_secret_is_left():
    spec = spec_of(env=("API_KEY",))
    for kept in range(1, 67, 5):
        inbox = Inbox(10)
        inbox.hear("stderr", b"x" * 9_000 + LONG_SECRET.encode() + b"z" * (SAID - kept))

        said = told_with(spec, _exited(spec, 1, inbox.said, b""))
        assert pieces_of(LONG_SECRET, said) == []
        assert "zzz" in said


def test_wherever_a_quoted_value_is_cut_no_piece_of_a_secret_is_left():
    short = spec_of(output={"additionalProperties": {"maxLength": 3}}, env=("API_KEY",))
    closed = spec_of(output={"properties": {"n": {}}, "additionalProperties": False}, env=("API_KEY",))
    for before in (*range(70), *range(130, 210, 3)):
        key = "k" * before + LONG_SECRET
        for spec, output in ((short, {"text": key}), (short, {key: "long"}), (closed, {key: "long"})):
            told = told_with(spec, Answer(output=output))

            assert "redacted" in told or "…" in told
            assert pieces_of(LONG_SECRET, told) == []


def test_what_an_author_marks_is_hidden_whatever_its_length():
    wrong = Answer(error=InvocationError(kind="atom", message="wrong PIN 471 for x"), exit_code=2, said="471?")

    invoked, _ = called(wrong, value={"title": "x", "key": "471"})
    unfit, _ = called(value={"title": "x", "key": "m", "other": "m"}, spec=spec_of())

    assert (invoked.record.error.message, invoked.said) == ("wrong PIN [redacted] for x", "[redacted]?")
    assert unfit.record.error is None


def test_words_about_a_value_are_not_taken_for_secrets():
    invoked, _ = called(value={"title": 1, "key": "must"})

    assert invoked.record.error.message == "title: must be a string, not an integer"


def test_a_secret_that_does_not_fit_its_schema_is_not_quoted():
    long = SECRET * 3
    invoked, _ = called(value={"title": "x", "key": long})

    assert invoked.record.error.kind == "schema-in"
    assert long not in repr(invoked.record)


def test_the_values_that_must_not_be_kept_are_told():
    spec = spec_of(env=("API_KEY",))
    order = InvokeOrder(spec=spec, input={"title": "x", "key": SECRET}, actor="a")
    tools = tools_of(Crew(), env={"API_KEY": "env-secret"}, secrets=("own-secret",))

    assert set(engine.secrets_of(tools, order)) == {"own-secret", "env-secret", SECRET}


# --- rows ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("value", [{"title": "x"}, {"title": 3}], ids=["done", "schema-in"])
def test_every_call_leaves_exactly_one_row(value):
    ledger = Ledger()
    order = InvokeOrder(spec=spec_of(), input=value, actor="operator:ann")
    invoked = engine.invoke(tools_of(Crew()), ledger, order)

    (row,) = ledger.rows
    assert (row.kind, row.actor, row.subject) == ("atom_invoked", "operator:ann", "kei-task::create")
    assert row.source == "engine"
    assert row.body == data_of(invoked.record)
    assert build("invocation.record", row.body) == invoked.record


def test_a_row_that_cannot_be_written_keeps_the_output():
    order = InvokeOrder(spec=spec_of(), input={"title": "x"}, actor="a")
    invoked = engine.invoke(tools_of(Crew()), Ledger(WorldFault("the disk is full")), order)

    assert (invoked.record.error.kind, invoked.record.exit_code) == ("io", 1)
    assert "the atom did its work" in invoked.record.error.message
    assert "the disk is full" in invoked.record.error.message
    assert (invoked.output, invoked.record.output_sha) == ({"id": 1}, digest({"id": 1}))


def test_a_failure_without_a_row_tells_both():
    order = InvokeOrder(spec=spec_of(), input={"title": 3}, actor="a")
    invoked = engine.invoke(tools_of(Crew()), Ledger(WorldFault("locked")), order)

    assert "title: must be a string" in invoked.record.error.message
    assert "locked" in invoked.record.error.message


@QUICK
@given(json_values(), json_values(), st.sampled_from([0, 1, 2, 5, 127, 130, 999, -9]), st.booleans(), st.text())
def test_whatever_comes_in_and_out_there_is_one_valid_record(value, output, code, fails, words):
    error = InvocationError(kind="atom", code=words or None, message=words or "x") if fails else None
    ledger = Ledger()
    spec = spec_of(output=True if code == 0 else OUTPUT)
    crew = Crew(Answer(output=output, error=error, exit_code=code, said=words))
    invoked = engine.invoke(tools_of(crew), ledger, InvokeOrder(spec=spec, input=value, actor="a"))

    (row,) = ledger.rows
    assert (invoked.record.exit_code == 0) == (invoked.record.error is None)
    assert invoked.record.error is None or invoked.output is None
    assert build("invocation.record", msgspec.json.decode(msgspec.json.encode(row.body))) == invoked.record


# --- streams ---------------------------------------------------------------------------------------------------------


@contextmanager
def following(items, answer=None, *, ledger=None, value=None, spec=None):
    crew = Crew(answer or Answer(output=len(items)), items=items)
    value = {"title": "x"} if value is None else value
    order = InvokeOrder(spec=spec or spec_of("stream"), input=value, actor="operator:ann")
    with engine.follow(tools_of(crew), order, ledger) as followed:
        yield followed, crew


def test_a_stream_gives_its_items_and_one_row():
    items, ledger = [{"id": number} for number in range(5)], Ledger()
    with following(items, ledger=ledger) as (followed, _):
        assert list(followed) == items

    assert followed.invoked.record.exit_code == 0
    assert followed.invoked.record.output_sha == digest([digest(item) for item in items])
    assert [row.body for row in ledger.rows] == [data_of(followed.invoked.record)]


def test_nothing_is_taken_that_nobody_asks_for():
    taken = []

    def source():
        for number in range(1000):
            taken.append(number)
            yield {"id": number}

    crew = Crew(items=source())
    with engine.follow(
        tools_of(crew), InvokeOrder(spec=spec_of("stream"), input={"title": "x"}, actor="a")
    ) as followed:
        items = iter(followed)
        assert [next(items), next(items)] == [{"id": 0}, {"id": 1}]

        assert taken == [0, 1]


def test_a_stream_that_is_left_early_is_canceled_and_recorded():
    ledger = Ledger()
    with following([{"id": number} for number in range(9)], ledger=ledger) as (followed, crew):
        assert next(iter(followed)) == {"id": 0}

    assert crew.stream.closed
    assert (followed.invoked.record.error.kind, followed.invoked.record.exit_code) == ("killed", 130)
    assert followed.invoked.record.output_sha == digest([digest({"id": 0})])
    assert len(ledger.rows) == 1


def test_a_consumer_that_breaks_leaves_a_row_too():
    ledger = Ledger()
    with suppress(ZeroDivisionError), following([{"id": 1}, {"id": 2}], ledger=ledger) as (followed, _):
        for item in followed:
            raise ZeroDivisionError(item)

    assert ledger.rows[0].body["exit_code"] == 130


def test_an_item_that_does_not_fit_ends_the_stream():
    with following([{"id": 1}, {"id": "two"}, {"id": 3}], Answer(output=3, said="bye")) as (followed, crew):
        assert list(followed) == [{"id": 1}]

    assert crew.stream.closed
    assert followed.invoked.record.error.kind == "schema-out"
    assert followed.invoked.record.error.message == "item 2: id: must be an integer, not a string"
    assert followed.invoked.said == "bye"


def test_a_stream_that_fails_at_its_end_keeps_what_was_taken():
    late = Answer(error=InvocationError(kind="timeout", message="late"), exit_code=5)
    with following([{"id": 1}], late) as (followed, _):
        assert list(followed) == [{"id": 1}]

    assert followed.invoked.record.exit_code == 5


@pytest.mark.parametrize(
    ("given", "kind", "code"),
    [
        ({"value": {}}, "schema-in", 2),
        ({"answer": MissingProgram("none")}, "io", 127),
        ({"spec": spec_of("query")}, "usage", 1),
    ],
    ids=["schema-in", "program", "no-stream"],
)
def test_a_stream_that_cannot_begin_has_no_items_and_one_row(given, kind, code):
    ledger = Ledger()
    with following([{"id": 1}], ledger=ledger, **given) as (followed, _):
        assert list(followed) == []

    assert (followed.invoked.record.error.kind, followed.invoked.record.exit_code) == (kind, code)
    assert followed.invoked.record.output_sha is None
    assert len(ledger.rows) == 1


def test_a_stream_has_one_consumer():
    with following([{"id": 1}]) as (followed, _):
        iter(followed)
        with pytest.raises(IllegalMove):
            iter(followed)


def test_a_stream_that_is_called_is_collected():
    crew = Crew(Answer(output=2), items=[{"id": 1}, {"id": 2}])
    invoked = engine.call(tools_of(crew), InvokeOrder(spec=spec_of("stream"), input={"title": "x"}, actor="a"))

    assert invoked.output == [{"id": 1}, {"id": 2}]
    assert invoked.record.error is None


def test_a_flood_is_not_collected(monkeypatch):
    monkeypatch.setattr(engine, "MOST", 100)
    crew = Crew(items=({"id": number} for number in itertools.count()))
    invoked = engine.call(tools_of(crew), InvokeOrder(spec=spec_of("stream"), input={"title": "x"}, actor="a"))

    assert (invoked.record.error.kind, invoked.record.exit_code) == ("killed", 1)
    assert "larger than 100 bytes" in invoked.record.error.message
    assert invoked.output is None
