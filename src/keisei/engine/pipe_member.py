"""Members of a pipe: what an earlier row means now, and the row that a call leaves behind."""

from collections.abc import Callable
from typing import Any, Literal, NamedTuple

from msgspec import Struct
from msgspec.structs import replace

from keisei.contracts.validator import complaints
from keisei.engine.invoke import InvokeOrder, Tools, call, secrets_of
from keisei.engine.pipe_secret import holds_secret
from keisei.engine.ports import TransformCache
from keisei.records.atom_spec import AtomSpec
from keisei.records.id import AttemptId, InvocationId
from keisei.records.invocation import InvocationError, Invoked
from keisei.records.pipe_plan import PlannedStep
from keisei.records.pipe_run import CacheKey, MemberState, PipeMember
from keisei.rules.atom_effect import is_safe_again, retries
from keisei.rules.invocation import value_digest

INTERRUPTED = frozenset({"timeout", "killed", "schema-out"})
"""Errors behind which the work may have been done all the same."""
OPEN = frozenset({"running", "unknown", "undo_failed"})
"""States in which nobody can say whether a member is done."""
UNKNOWN = "it was interrupted, and doing it again might do it twice"
NOT_KEPT = "it is done, but what came out was not kept, and doing it again would do it twice"


class Unit(Struct, frozen=True, kw_only=True):
    """One call that is to be made."""

    step: PlannedStep
    """Of which step."""
    index: int
    """Of which item."""
    input: Any
    """What goes in, every reference resolved."""
    input_sha: str
    """Its digest."""
    invocation_id: InvocationId
    """Its id: a new one, or that of the call that is made again."""
    tries: int = 1
    """Which try it is."""


class Performed(NamedTuple):
    """A unit, done by a hand."""

    unit: Unit
    invoked: Invoked | None
    """The call; None where the cache answered."""
    output: Any
    """What came out."""
    note: str | None = None
    """What the cache said."""
    kept: bool = True
    """False where a secret stands in the output."""


class Caller(NamedTuple):
    """Everything a hand needs to make a call."""

    tools: Tools
    cache: TransformCache | None
    code_sha: Callable[[AtomSpec], str]
    actor: str
    attempt_id: AttemptId | None
    secretive: frozenset[str]
    """Atoms that may be handed a secret."""
    hidden: frozenset[str]
    """Steps of whose outputs something is handed to a place that is marked: nothing of them is kept."""

    def is_kept(self, output: Any, unit: Unit, order: InvokeOrder) -> bool:  # noqa: ANN401 - any JSON
        """Whether an output may be written down: no secret stands in it."""
        if unit.step.name in self.hidden:
            return False
        if not self.tools.secrets and order.spec.id not in self.secretive:
            return True
        return not holds_secret(output, secrets_of(self.tools, order))


def order_of(caller: Caller, unit: Unit) -> InvokeOrder:
    """The call."""
    return InvokeOrder(
        spec=unit.step.spec,
        input=unit.input,
        actor=caller.actor,
        attempt_id=caller.attempt_id,
        invocation_id=unit.invocation_id,
    )


def performed(caller: Caller, unit: Unit) -> Performed:
    """Ask the cache, where the step may; else call. A validated success that holds no secret is kept for others."""
    tools, order = caller.tools, order_of(caller, unit)
    key = _cache_key(caller, unit)
    hit = caller.cache.find(key) if caller.cache is not None and key is not None else None
    if (
        hit is not None
        and hit.found
        and not complaints(f"{unit.step.spec.spec_sha}:out", unit.step.spec.output_schema, hit.output)
    ):
        return Performed(unit, None, hit.output, hit.why, caller.is_kept(hit.output, unit, order))
    invoked = call(tools, order)
    done = invoked.record.error is None
    kept = not done or caller.is_kept(invoked.output, unit, order)
    if done and kept and caller.cache is not None and key is not None:
        caller.cache.keep(key, invoked.output)
    return Performed(unit, invoked, invoked.output, hit.why if hit else None, kept)


def _cache_key(caller: Caller, unit: Unit) -> CacheKey | None:
    spec = unit.step.spec
    if not unit.step.cached or caller.cache is None:
        return None
    return CacheKey(
        atom=spec.id,
        version=spec.manifest.version,
        spec_sha=spec.spec_sha,
        code_sha=caller.code_sha(spec),
        input_sha=unit.input_sha,
    )


class Choice(NamedTuple):
    """What is done about a member, seeing what is known of it."""

    what: Literal["take", "call", "block"]
    """Take what it came to before, call it, or leave it to a person."""
    invocation_id: InvocationId | None = None
    """With `call`: the id of the earlier call that is made again; None for a new one."""
    why: str = ""
    """With `block`: why, in one sentence."""


CALL = Choice("call")


class Wish(NamedTuple):
    """What whoever resumes wants of a step."""

    force: bool
    """Members that may have been done are done again."""
    again: bool
    """Nothing that was done before counts."""
    is_asked: bool
    """Something refers to its output."""


def choice(step: PlannedStep, earlier: PipeMember | None, input_sha: str, wish: Wish) -> Choice:
    """What is done about a member whose input is this now."""
    if earlier is None or earlier.state == "undone" or earlier.invocation_id is None:
        return CALL
    same = earlier.step_sha == step.step_sha and earlier.input_sha == input_sha and not wish.again
    if earlier.state == "done" or (earlier.state == "skipped" and earlier.error is None):  # done, and left out since
        return _done(step, earlier, wish) if same else CALL
    is_keyed = step.spec.manifest.keyed and earlier.state != "undo_failed"
    if earlier.state in ("failed", "skipped") or is_safe_again(step.spec.manifest) or is_keyed:
        return Choice("call", earlier.invocation_id if same else None)
    return CALL if wish.force else Choice("block", why=UNKNOWN)


def _done(step: PlannedStep, earlier: PipeMember, wish: Wish) -> Choice:
    if earlier.output_kept or not wish.is_asked:
        return Choice("take")
    if is_safe_again(step.spec.manifest) or step.spec.manifest.keyed:
        return Choice("call", earlier.invocation_id)
    return CALL if wish.force else Choice("block", why=NOT_KEPT)


def needs_mark(step: PlannedStep) -> bool:
    """Whether a row stands before the call, so that a runner that dies in it leaves a trace."""
    return not is_safe_again(step.spec.manifest)


def running(unit: Unit) -> PipeMember:
    """The row that stands before the call."""
    return _row(unit, "running")


def ended(done: Performed, place: int) -> PipeMember:
    """The row that stands behind the call. What holds a secret is not in it."""
    error = None if done.invoked is None else done.invoked.record.error
    return PipeMember(
        step=done.unit.step.name,
        index=done.unit.index,
        state="done" if error is None else state_after(done.unit.step, error),
        step_sha=done.unit.step.step_sha,
        input_sha=done.unit.input_sha,
        output=done.output if done.kept and error is None else None,
        output_kept=done.kept,
        error=error,
        invocation_id=done.unit.invocation_id,
        source="cache" if done.invoked is None else "ran",
        note=done.note,
        tries=done.unit.tries,
        finished=place,
    )


def state_after(step: PlannedStep, error: InvocationError) -> MemberState:
    """What a member is that failed so."""
    manifest = step.spec.manifest
    again = is_safe_again(manifest) or manifest.keyed
    return "failed" if again or error.kind not in INTERRUPTED else "unknown"


def tries_again(step: PlannedStep, error: InvocationError, exit_code: int, tries: int) -> bool:
    """Whether the runner tries once more by itself."""
    rule = step.retry
    final = {127, 130}  # a program does not appear by itself, and who was canceled is not called again
    if tries > rule.max or exit_code in final or (rule.on and error.code not in rule.on):
        return False
    return retries(step.spec.manifest, error)


def backoff_s(step: PlannedStep, tries: int, chance: float) -> float:
    """How long it waits before the next try: the first wait doubled each time, and up to half as much again."""
    return float(min(step.retry.backoff_ms * 2 ** (tries - 1), 3_600_000) / 1000 * (1 + chance / 2))


def failed(step: PlannedStep, index: int, error: InvocationError, earlier: PipeMember | None) -> PipeMember:
    """The row of a member that could not be called. What is known of an earlier call stays: it took place."""
    if earlier is not None and earlier.invocation_id is not None and earlier.state != "undone":
        if earlier.state not in ("running", "failed"):
            return earlier
        return replace(earlier, state="unknown" if earlier.state == "running" else "failed", error=error)
    return PipeMember(step=step.name, index=index, state="failed", step_sha=step.step_sha, error=error)


def skipped(step: PlannedStep, index: int, why: str, earlier: PipeMember | None = None) -> PipeMember:
    """The row of a member that is not called. What is known of an earlier call stays in it, should it count again."""
    if earlier is not None and earlier.state in OPEN:
        return replace(earlier, state="unknown") if earlier.state == "running" else earlier
    if earlier is not None and earlier.state != "undone" and earlier.step_sha == step.step_sha:
        return replace(earlier, state="skipped", note=why)
    return PipeMember(step=step.name, index=index, state="skipped", step_sha=step.step_sha, note=why)


def told(step: PlannedStep, index: int) -> str:
    """A member as people call it."""
    return f"`{step.name}`" if step.step.for_each is None else f"`{step.name}` [{index}]"


def digest_of(value: Any) -> str:  # noqa: ANN401 - any JSON
    """As a call's own record has it."""
    return value_digest(value)[0]


def _row(unit: Unit, state: MemberState) -> PipeMember:
    return PipeMember(
        step=unit.step.name,
        index=unit.index,
        state=state,
        step_sha=unit.step.step_sha,
        input_sha=unit.input_sha,
        invocation_id=unit.invocation_id,
        tries=unit.tries,
    )
