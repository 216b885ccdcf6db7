"""Strategies: a random valid record of any published name, every optional field sometimes there. Needs Hypothesis."""

from collections.abc import Callable
from datetime import UTC
from functools import cache, reduce
from operator import add, or_
from typing import Any, Protocol, TypeVar

import msgspec
from hypothesis import strategies as st
from msgspec import inspect

from keisei.contracts.registry import record_type
from keisei.records.agent import AgentIdentity
from keisei.records.approval import ApprovalRecord
from keisei.records.atom import PackageFile
from keisei.records.attempt import TaskAttempt
from keisei.records.capability import GatePart, VerifyPart
from keisei.records.decision import GateDecision
from keisei.records.finding import FindingRecord
from keisei.records.form import Record
from keisei.records.invocation import InvocationRecord
from keisei.records.landing import LandingRecord
from keisei.records.outcome import TaskOutcome
from keisei.records.task import TERMINAL, TaskRecord
from keisei.records.workflow import WorkflowRecord

T = TypeVar("T")
Fields = dict[str, Any]

SAFE_INTEGER = 2**53 - 1
"""The largest integer every JSON reader keeps exact; ours refuse larger ones."""

CHARACTERS = st.characters(codec="utf-8")
"""What JSON text may hold: anything but lone surrogates."""


class Draw(Protocol):
    """What Hypothesis hands to a composite strategy."""

    def __call__(self, strategy: st.SearchStrategy[T], /) -> T:
        """One value of that strategy."""


def record(name: str) -> st.SearchStrategy[Any]:
    """Valid records of a published name or form. Raises OperatorError where nothing has that name.

    Valid means: the published schema accepts it, and it comes back equal from its JSON.
    """
    return of_type(record_type(name))


def of_type(annotation: object) -> st.SearchStrategy[Any]:
    """Valid values of a record class, of a union of them, or of the type of a field."""
    return _of(inspect.type_info(annotation))


def json_values() -> st.SearchStrategy[Any]:
    """Any JSON value that survives a round trip: finite floats, integers that fit a float, no lone surrogates."""
    leaves: st.SearchStrategy[Any] = (
        st.none() | st.booleans() | _integers() | _floats() | st.text(CHARACTERS, max_size=8)
    )
    return st.recursive(leaves, lambda inner: st.lists(inner, max_size=3) | _objects(inner), max_leaves=4)


def json_objects() -> st.SearchStrategy[dict[str, Any]]:
    """JSON objects with any keys."""
    return _objects(json_values())


def timestamps() -> st.SearchStrategy[Any]:
    """Moments in UTC, to the microsecond."""
    return st.datetimes(timezones=st.just(UTC))


def _objects(values: st.SearchStrategy[T]) -> st.SearchStrategy[dict[str, T]]:
    return st.dictionaries(st.text(CHARACTERS, max_size=8), values, max_size=3)


def _integers(low: int | None = None, high: int | None = None) -> st.SearchStrategy[int]:
    return st.integers(-SAFE_INTEGER if low is None else low, SAFE_INTEGER if high is None else high)


def _floats(
    low: float | None = None, high: float | None = None, *, above_low: bool = False, below_high: bool = False
) -> st.SearchStrategy[float]:
    return st.floats(low, high, exclude_min=above_low, exclude_max=below_high, allow_nan=False, allow_infinity=False)


def _of(info: inspect.Type) -> st.SearchStrategy[Any]:
    """Values of one inspected type. Raises TypeError for a type no record has had so far."""
    for kind, strategy in _BY_KIND.items():
        if isinstance(info, kind):
            return strategy(info)
    message = f"there is no strategy for {info!r}: add one to keisei.testing.strategies"
    raise TypeError(message)


def _integer(info: inspect.IntType) -> st.SearchStrategy[int]:
    low = info.ge if info.gt is None else info.gt + 1
    high = info.le if info.lt is None else info.lt - 1
    return _integers(low, high)


def _float(info: inspect.FloatType) -> st.SearchStrategy[float]:
    low = info.ge if info.gt is None else info.gt
    high = info.le if info.lt is None else info.lt
    return _floats(low, high, above_low=info.gt is not None, below_high=info.lt is not None)


# Drawn in a few large steps: `from_regex` goes character by character, and then these take most of the time of a test.
_LETTERS, _DIGITS = "abcdefghijklmnopqrstuvwxyz", "0123456789"
_WORDS = st.builds(add, st.sampled_from(_LETTERS), st.text(_LETTERS + _DIGITS, max_size=8))
_SLUGS = st.builds(add, st.sampled_from(_LETTERS), st.text(_LETTERS + _DIGITS + "-", max_size=63))
_KEBAB = st.lists(_WORDS, min_size=1, max_size=3).map("-".join)


def _hashes(size: int) -> st.SearchStrategy[str]:
    return st.binary(min_size=size, max_size=size).map(bytes.hex)


_QUICK: dict[str, st.SearchStrategy[str]] = {
    "^[0-9a-f]{64}$": _hashes(32),
    "^([0-9a-f]{40}|[0-9a-f]{64})$": _hashes(20) | _hashes(32),
    "^[a-z][a-z0-9-]{0,63}::[a-z][a-z0-9-]{0,63}$": st.builds("{}::{}".format, _SLUGS, _SLUGS),
    "^[a-z][a-z0-9]*(-[a-z0-9]+)*::[a-z][a-z0-9]*(-[a-z0-9]+)*$": st.builds("{}::{}".format, _KEBAB, _KEBAB),
}
"""Patterns that stand in nearly every record."""


def _string(info: inspect.StrType) -> st.SearchStrategy[str]:
    shortest, longest = info.min_length or 0, info.max_length
    if info.pattern is None:
        # Without a bound Hypothesis draws long texts that show nothing a short one does not.
        return st.text(CHARACTERS, min_size=shortest, max_size=min(longest or 12, shortest + 12))
    matching = _QUICK[info.pattern] if info.pattern in _QUICK else _matching(info.pattern)
    return matching.filter(lambda text: shortest <= len(text) and (longest is None or len(text) <= longest))


def _matching(pattern: str) -> st.SearchStrategy[str]:
    """Text the pattern accepts. A pattern without an end accepts anything after it, as JSON Schema means it."""
    return st.from_regex(pattern, fullmatch=pattern.endswith("$"), alphabet=CHARACTERS)


def _literal(info: inspect.LiteralType) -> st.SearchStrategy[Any]:
    return st.sampled_from(info.values)


def _tuple(info: inspect.VarTupleType) -> st.SearchStrategy[tuple[Any, ...]]:
    shortest = info.min_length or 0
    longest = shortest + 3 if info.max_length is None else info.max_length
    return st.lists(_of(info.item_type), min_size=shortest, max_size=longest).map(tuple)


def _dict(info: inspect.DictType) -> st.SearchStrategy[dict[str, Any]]:
    return st.dictionaries(_of(info.key_type), _of(info.value_type), max_size=3)


def _union(info: inspect.UnionType) -> st.SearchStrategy[Any]:
    return reduce(or_, (_of(member) for member in info.types))


def _struct(info: inspect.StructType) -> st.SearchStrategy[Any]:
    return _records(info.cls)


@cache
def _records(cls: type[Record]) -> st.SearchStrategy[Any]:
    """Records of one class: fields by their types, then whatever its invariants ask for."""
    info = inspect.type_info(cls)
    assert isinstance(info, inspect.StructType), cls
    required = {field.name: _of(field.type) for field in info.fields if field.required}
    optional = {field.name: _present(field) for field in info.fields if not field.required}
    settle = _INVARIANTS.get(cls)

    @st.composite
    def build(draw: Draw) -> Any:  # noqa: ANN401 - a record of `cls`
        fields: Fields = draw(st.fixed_dictionaries(required, optional=optional))
        if settle is not None:
            settle(draw, fields)
        return cls(**fields)

    return build()


def _present(field: inspect.Field) -> st.SearchStrategy[Any]:
    """An optional field that is there: None would mean that it is not."""
    if field.default is None and isinstance(field.type, inspect.UnionType):
        return reduce(or_, (_of(kind) for kind in field.type.types if not isinstance(kind, inspect.NoneType)))
    return _of(field.type)


_BY_KIND: dict[type[inspect.Type], Callable[[Any], st.SearchStrategy[Any]]] = {
    inspect.AnyType: lambda _: json_values(),
    inspect.NoneType: lambda _: st.none(),
    inspect.BoolType: lambda _: st.booleans(),
    inspect.IntType: _integer,
    inspect.FloatType: _float,
    inspect.StrType: _string,
    inspect.DateTimeType: lambda _: timestamps(),
    inspect.DateType: lambda _: st.dates(),
    inspect.LiteralType: _literal,
    inspect.VarTupleType: _tuple,
    inspect.DictType: _dict,
    inspect.UnionType: _union,
    inspect.StructType: _struct,
}


# One function per record whose fields depend on each other. It changes drawn fields instead of refusing them, so that
# no example is thrown away.


def _draw_field(draw: Draw, cls: type[Record], name: str) -> Any:  # noqa: ANN401 - whatever the field holds
    """A value for a field that must not be None."""
    field = next(field for field in msgspec.structs.fields(cls) if field.name == name)
    info = inspect.type_info(field.type)
    kinds = info.types if isinstance(info, inspect.UnionType) else (info,)
    return draw(reduce(or_, (_of(kind) for kind in kinds if not isinstance(kind, inspect.NoneType))))


def _need(draw: Draw, cls: type[Record], fields: Fields, *names: str) -> None:
    """Give a value to each of these fields that has none."""
    for name in names:
        if fields.get(name) is None:
            fields[name] = _draw_field(draw, cls, name)


def _identity(_draw: Draw, fields: Fields) -> None:
    fields["agent_id"] = fields["internal_name"]


def _gate(draw: Draw, fields: Fields) -> None:
    if fields.get("kind") == "script":
        _need(draw, GatePart, fields, "path")


def _verify(draw: Draw, fields: Fields) -> None:
    if fields.get("kind") == "script":
        _need(draw, VerifyPart, fields, "path")


def _decision(draw: Draw, fields: Fields) -> None:
    if fields["decision"] == "deny":
        _need(draw, GateDecision, fields, "reason")


def _finding(draw: Draw, fields: Fields) -> None:
    if fields["status"] != "held":
        _need(draw, FindingRecord, fields, "reason")


def _invocation(draw: Draw, fields: Fields) -> None:
    if fields["exit_code"] == 0:
        fields["error"] = None
    else:
        _need(draw, InvocationRecord, fields, "error")


def _landing(draw: Draw, fields: Fields) -> None:
    if fields["status"] in ("landed", "reverted"):
        _need(draw, LandingRecord, fields, "after_commit")


def _package(draw: Draw, fields: Fields) -> None:
    if fields["backend"] == "sqlite":
        _need(draw, PackageFile, fields, "db_env", "db_default")


def _approval(draw: Draw, fields: Fields) -> None:
    if fields.get("status", "open") == "open":
        fields["decided_at"] = None
    else:
        _need(draw, ApprovalRecord, fields, "decided_at")


def _attempt(draw: Draw, fields: Fields) -> None:
    if fields["exit_status"] is None:
        fields["ended_at"] = None
    else:
        _need(draw, TaskAttempt, fields, "ended_at")


def _outcome(draw: Draw, fields: Fields) -> None:
    if fields["status"] == "completed":
        fields["machine_status"] = "ok"
    elif fields["status"] == "operator_canceled":
        fields["machine_status"] = "canceled"
    elif fields["machine_status"] == "canceled":
        fields["machine_status"] = draw(st.sampled_from(["ok", "needs_retry", "blocked", "failed"]))


def _task(draw: Draw, fields: Fields) -> None:
    status, outcome = fields["status"], fields["outcome"]
    if status not in TERMINAL:
        return
    _need(draw, TaskRecord, fields, "finished_at")
    if outcome is not None or status == "completed":
        drawn = outcome or _draw_field(draw, TaskRecord, "outcome")
        machine = {"completed": "ok", "operator_canceled": "canceled"}.get(status, "failed")
        fields["outcome"] = msgspec.structs.replace(drawn, status=status, machine_status=machine)


def _workflow(draw: Draw, fields: Fields) -> None:
    if fields["status"] == "completed":
        _need(draw, WorkflowRecord, fields, "completed_at")
    else:
        fields["completed_at"] = None


_INVARIANTS: dict[type[Record], Callable[[Draw, Fields], None]] = {
    AgentIdentity: _identity,
    FindingRecord: _finding,
    GateDecision: _decision,
    GatePart: _gate,
    InvocationRecord: _invocation,
    LandingRecord: _landing,
    PackageFile: _package,
    ApprovalRecord: _approval,
    TaskAttempt: _attempt,
    TaskOutcome: _outcome,
    TaskRecord: _task,
    VerifyPart: _verify,
    WorkflowRecord: _workflow,
}
