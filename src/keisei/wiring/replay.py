"""Replay: an attempt once more, from what the ledger and its evidence say. Nothing runs that an agent would see.

Three questions, each with its own answer. Is the evidence what the ledger says, and the bundle what it was? Would
today's files make the same bundle, and if not, what has drifted? Would today's rules judge the same calls and the same
candidate as they were judged then?
"""

import secrets
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, Final

import msgspec
from msgspec import Struct

from keisei.contracts.check import build
from keisei.engine.approval import answers_of
from keisei.engine.bundle import Compiled, compile_bundle
from keisei.engine.gather import BundleOrder, task_file
from keisei.engine.workflow import state_of
from keisei.records.attempt import TaskAttempt
from keisei.records.bundle import BundleRecord, BundleWorkspace
from keisei.records.error import KeiseiError, OperatorError
from keisei.records.finding import FindingRecord
from keisei.records.intent import Budget
from keisei.records.ledger import LedgerEntry
from keisei.records.move import Claimed, EntryQuery, LandingQuery
from keisei.records.task import TaskRecord
from keisei.records.task_spec import SpecTask, TaskSpec
from keisei.rules.bundle_hash import bundle_hash
from keisei.rules.evidence import Keys, keys_of
from keisei.rules.section import Earlier, Files
from keisei.wiring.examination import OWN, Inquest, examine
from keisei.wiring.execute import Hold
from keisei.wiring.policy import Setting, spec_policy
from keisei.wiring.registry import CatalogRegistry
from keisei.wiring.replay_gate import judged_again
from keisei.wiring.returned import decoded
from keisei.wiring.shop import BEFORE, GATE_LOG, Before, Shop
from keisei.wiring.site import ROOM
from keisei.wiring.spawn import called
from keisei.wiring.switch import Switch
from keisei.wiring.workshop import HISTORY, MEMORY

SETTLED: Final = "attempt_settled"
FORKED: Final = "agent_forked"
PLACES: Final = frozenset(("prompt.sha256", "prompt.chars", "role.policy_digest"))
"""What follows from the rest, or from where an attempt stood: told on its own, if nothing else has drifted."""
FOREVER_S: Final = 86_400.0
MANY: Final = 200


class Drift(Struct, frozen=True, kw_only=True):
    """One thing that is not what it was."""

    what: str
    """Its place in the bundle."""
    was: Any
    """Then; null where it was not there."""
    now: Any
    """Today."""


class Rejudged(Struct, frozen=True, kw_only=True):
    """One predicate, asked again."""

    capability: str
    """Which."""
    run_from: str
    """Where."""
    was: str | None
    """Its answer then; null where it was not asked."""
    now: str | None
    """Its answer today; null where nobody asks any more."""
    reason: str | None
    """Why, today."""


class Replay(Struct, frozen=True, kw_only=True):
    """What a replay came to."""

    attempt_id: str
    """Which attempt."""
    rows: tuple[int, ...]
    """Ledger rows it was read from."""
    complaints: tuple[str, ...]
    """Where evidence, ledger and store disagree about the past; nothing else counts then."""
    drift: tuple[Drift, ...] = ()
    """What today's files would put into the bundle instead."""
    inputs: tuple[str, str | None] = ("", None)
    """The hash of the inputs, then and today; null where none could be made."""
    bundle_fault: str | None = None
    """Why no bundle could be made today."""
    gate: dict[str, Any] | None = None
    """Every recorded call, judged again; null where no gate was asked."""
    findings: tuple[Rejudged, ...] = ()
    """Every predicate whose candidate is still there, asked again."""
    findings_fault: str | None = None
    """Why they could not be asked."""

    @property
    def is_same(self) -> bool:
        """Whether nothing has drifted and nobody would judge otherwise."""
        judged = self.gate is None or (
            self.gate["chain"] == "whole" and not any(each["changed"] for each in self.gate["calls"])
        )
        asked = self.findings_fault is None and all(each.was == each.now for each in self.findings)
        return not (self.complaints or self.drift or self.bundle_fault) and judged and asked


def replay(shop: Shop, attempt: TaskAttempt, *, asks: bool = True) -> Replay:
    """Replay an attempt; `asks` says whether its verifies are run again. Raises OperatorError where nothing is left."""
    keys = keys_of(attempt.attempt_id, attempt.started_at)
    raw, bundle = shop.evidence.get(keys.bundle), shop.store.bundle(attempt.attempt_id)
    if raw is None or bundle is None:
        raise OperatorError(
            f"the bundle of attempt {attempt.attempt_id} is not on this machine",
            "it was never prepared, ran elsewhere, or its evidence was removed",
        )
    rows = _rows(shop, attempt)
    complaints = tuple(_complaints(shop, keys, rows, raw, bundle))
    found = Replay(attempt_id=attempt.attempt_id, rows=tuple(row.seq for row in rows), complaints=complaints)
    if complaints:
        return found
    document = msgspec.json.decode(raw)
    found = _compiled_again(shop, attempt, document, bundle, found)
    found = msgspec.structs.replace(found, gate=_gate(shop, attempt, keys, document))
    return _asked_again(shop, attempt, found) if asks else found


# --- the past ---------------------------------------------------------------------------------------------------------


def _rows(shop: Shop, attempt: TaskAttempt) -> list[LedgerEntry]:
    """The engine's rows about an attempt, oldest first."""
    settled = shop.store.find_entries(EntryQuery(subject=attempt.attempt_id, kind=SETTLED, source="engine"))
    task = shop.store.task(attempt.task_id)
    own = called(shop, shop.registry(), task).own if task is not None else attempt.attempt_id
    forks = shop.store.find_entries(EntryQuery(subject=own, kind=FORKED, source="engine", limit=MANY))
    mine = [row for row in forks if row.body.get("attempt_id") == attempt.attempt_id]
    return sorted((*settled, *mine), key=lambda row: row.seq)


def _complaints(shop: Shop, keys: Keys, rows: list[LedgerEntry], raw: bytes, bundle: BundleRecord) -> Iterator[str]:
    try:
        found = bundle_hash(msgspec.json.decode(raw))
    except (msgspec.DecodeError, ValueError, AttributeError):
        yield "bundle.json is no bundle any more"
        return
    if found != bundle.bundle_hash:
        yield f"bundle.json has the hash {found}, and the store says {bundle.bundle_hash}"
    if not any(row.kind == SETTLED for row in rows):
        yield "the ledger has no row that the attempt was settled: it is open, or was lost"
    for row in rows:
        told = row.body.get("bundle_hash")
        if told not in (None, found):
            yield f"row {row.seq} says that the bundle has the hash {told}"
        for name, digest in (row.body.get("evidence") or {}).items():
            stored = shop.evidence.stored(keys.of(name))
            if stored is None:
                yield f"evidence `{name}` is missing; row {row.seq} tells of it"
            elif stored.sha256 != digest:
                yield f"evidence `{name}` is not what row {row.seq} tells of"


# --- the bundle -------------------------------------------------------------------------------------------------------


def _compiled_again(
    shop: Shop, attempt: TaskAttempt, document: dict[str, Any], bundle: BundleRecord, found: Replay
) -> Replay:
    try:
        compiled = _recompiled(shop, attempt, document, bundle)
    except KeiseiError as error:
        return msgspec.structs.replace(found, bundle_fault=error.message, inputs=(bundle.inputs_hash, None))
    now = msgspec.json.decode(compiled.document)
    drift = list(_differences(document, now, ""))
    named = [each for each in drift if each.what not in PLACES]
    prompts = [each for each in drift if each.what == "prompt.sha256"]
    told = tuple(named or prompts)
    return msgspec.structs.replace(found, drift=told, inputs=(bundle.inputs_hash, compiled.record.inputs_hash))


def _recompiled(shop: Shop, attempt: TaskAttempt, document: dict[str, Any], bundle: BundleRecord) -> Compiled:
    """The bundle that today's files make of what was known then. Raises KeiseiError."""
    registry = shop.registry()
    task: TaskRecord = build("task.record", document["task"])
    profile = registry.profile(task.requested_profile_id)
    budget = document["limits"]["budget"]
    order = BundleOrder(
        bundle_id=bundle.bundle_id,
        attempt_id=attempt.attempt_id,
        now=bundle.created_at,
        task=task,
        task_type=registry.task_type(task.task_type),
        profile=profile,
        adapter=registry.adapter(bundle.adapter_id),
        keys=keys_of(attempt.attempt_id, attempt.started_at),
        files=msgspec.convert(document["files"], Files),
        runtime_policy=shop.runner.policy,
        policy=None,
        state=state_of(shop.store, task),
        memory=_memory(shop, task, attempt) if profile.context_policy.include_recent_memory else (),
        earlier=_earlier(shop, attempt),
        answers=tuple(
            each
            for each in answers_of(shop.store, task.task_id)
            if each.decided_at is not None and each.decided_at <= attempt.started_at
        ),
        budget=None if budget is None else msgspec.convert(budget, Budget),
        workspace=None if document["workspace"] is None else msgspec.convert(document["workspace"], BundleWorkspace),
        secret_names=tuple(document["adapter"]["env_file_names"]),
    )
    return compile_bundle(registry.material, order)


def _memory(shop: Shop, task: TaskRecord, attempt: TaskAttempt) -> tuple[TaskRecord, ...]:
    """What was remembered then, as far as it can still be told."""
    found = shop.store.memory(task.agent, task.requested_profile_id, MANY)
    then = [each for each in found if each.finished_at is not None and each.finished_at <= attempt.started_at]
    return tuple(then[:MEMORY])


def _earlier(shop: Shop, attempt: TaskAttempt) -> tuple[Earlier, ...]:
    return tuple(
        Earlier(attempt=each, findings=tuple(shop.store.findings(each.attempt_id)))
        for each in shop.store.attempts(attempt.task_id, HISTORY)
        if each.ended_at is not None and each.ended_at <= attempt.started_at
    )


def _differences(was: Any, now: Any, place: str) -> Iterator[Drift]:  # noqa: ANN401 - any JSON
    """Where two documents differ, as deep as they are alike."""
    if isinstance(was, dict) and isinstance(now, dict):
        for key in sorted({*was, *now}):
            yield from _differences(was.get(key), now.get(key), f"{place}.{key}" if place else key)
    elif isinstance(was, list) and isinstance(now, list):
        yield from _listed(was, now, place)
    elif was != now:
        yield Drift(what=place, was=was, now=now)


def _listed(was: list[Any], now: list[Any], place: str) -> Iterator[Drift]:
    """Two lists: by name where their members have one, else by place."""
    old, new = _named(was), _named(now)
    if old is not None and new is not None:
        for name in dict.fromkeys((*old, *new)):
            yield from _differences(old.get(name), new.get(name), f"{place}[{name}]")
        if list(old) != list(new) and set(old) == set(new):
            yield Drift(what=f"{place}, in this order", was=list(old), now=list(new))
    elif was != now:
        yield Drift(what=place, was=was, now=now)


def _named(items: list[Any]) -> dict[str, Any] | None:
    for key in ("name", "skill_id", "path"):
        if items and all(isinstance(each, dict) and isinstance(each.get(key), str) for each in items):
            named = {each[key]: each for each in items}
            return named if len(named) == len(items) else None
    return None if items else {}


# --- judged again -----------------------------------------------------------------------------------------------------


def _gate(shop: Shop, attempt: TaskAttempt, keys: Keys, document: dict[str, Any]) -> dict[str, Any] | None:
    """Every call the gate judged, judged by today's rules; paths lead where they lead today."""
    raw = shop.evidence.get(keys.of(GATE_LOG))
    if raw is None:
        return None
    registry = shop.registry()
    task: TaskRecord = build("task.record", document["task"])
    spec = task_file(registry.task_type(task.task_type), task)
    spec = spec or TaskSpec(task=SpecTask(role=registry.profile(task.requested_profile_id).role))
    policy = spec_policy(registry.catalog, spec, _setting(shop, attempt, keys), atoms=_atoms(shop, registry, spec))
    return judged_again(raw.splitlines(), policy, GATE_LOG)


def _setting(shop: Shop, attempt: TaskAttempt, keys: Keys) -> Setting:
    before = shop.evidence.get(keys.of(BEFORE))
    room = shop.home.run / attempt.attempt_id / ROOM
    cwd = Path(decoded(before, keys.of(BEFORE), Before).cwd) if before is not None else room
    return Setting(cwd, shop.home.root, room / "home", (str(room / "tmp"),), past=True)


def _atoms(shop: Shop, registry: CatalogRegistry, spec: TaskSpec) -> dict[str, Any]:
    role = registry.material.resolved_role(spec.task.role)
    if not role.atoms.allowed or shop.yard is None:
        return {}
    from keisei.wiring.atom_grant import granted  # noqa: PLC0415 - few roles have atoms

    return dict(granted(role.name, role.atoms, shop.yard.shelf))


def _asked_again(shop: Shop, attempt: TaskAttempt, found: Replay) -> Replay:
    """Every verify of the role on the candidate as it was merged then. Its reference must still be there."""
    task = shop.store.task(attempt.task_id)
    if task is None:
        return msgspec.structs.replace(found, findings_fault="the task is gone")
    registry = shop.registry()
    landings = shop.store.landings(LandingQuery(task_id=task.task_id))
    landing = next((each for each in landings if each.attempt_id == attempt.attempt_id), None)
    bundle = shop.store.bundle(attempt.attempt_id)
    base = bundle.workspace.commit if bundle is not None and bundle.workspace is not None else None
    hold = Hold(Switch(), lambda: FOREVER_S, secrets.token_hex(16))
    claimed = Claimed(task=task, attempt=attempt, returned=True)
    inquest = Inquest(
        shop,
        registry,
        registry.task_type(task.task_type),
        claimed,
        hold,
        branch=None if landing is None or landing.branch.startswith(OWN) else landing.branch,
        tip=landing.before_commit if landing is not None and landing.before_commit else base,
    )
    try:
        examined = examine(inquest)
    except KeiseiError as error:
        return msgspec.structs.replace(found, findings_fault=error.message)
    asked = tuple(_compared(shop.store.findings(attempt.attempt_id), examined.findings))
    return msgspec.structs.replace(found, findings=asked)


def _compared(then: Iterable[FindingRecord], now: Iterable[FindingRecord]) -> Iterator[Rejudged]:
    """What was said of the last tree, and what is said today. What the engine itself asked is not asked again."""
    new = {(each.capability, each.run_from): each for each in now}
    if not new:
        return
    old = {(each.capability, each.run_from): each for each in then if not each.capability.startswith("engine::")}
    for capability, run_from in dict.fromkeys((*old, *new)):
        before, after = old.get((capability, run_from)), new.get((capability, run_from))
        if before is None and capability.startswith("engine::"):
            continue
        yield Rejudged(
            capability=capability,
            run_from=run_from,
            was=None if before is None else before.status,
            now=None if after is None else after.status,
            reason=None if after is None else after.reason,
        )
