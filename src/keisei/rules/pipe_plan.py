"""Plans: a pipe thought through before anything runs. Every problem of the file is told at once."""

from collections.abc import Callable, Iterator
from hashlib import sha256
from typing import Any, NamedTuple

import msgspec

from keisei.contracts.check import data_of
from keisei.records.atom import AtomManifest
from keisei.records.atom_spec import AtomSpec
from keisei.records.error import AuthorError
from keisei.records.pipe import PipeDefinition, PipeHead
from keisei.records.pipe_plan import PipePlan, PlannedStep
from keisei.records.problem import Problem
from keisei.rules.atom_effect import conflict, may_cache
from keisei.rules.pipe_check import Check
from keisei.rules.pipe_input import Complaint, is_envelope
from keisei.rules.pipe_order import Wait, before, behind, leads_elsewhere, ordered, waits
from keisei.rules.pipe_reading import Draft, Reading
from keisei.rules.pipe_type import Typed
from keisei.rules.pipe_words import FEW, beside_words, cache_words, meeting, member_words, names, retry_rule, wait_words
from keisei.rules.reference import Path

MOST = 200
"""Problems, and warnings, that are told of one pipe."""
PAIRS = 20
"""Pairs that go against the order of the file, and are told one by one."""


Complain = Callable[..., Problem]
"""Makes a problem of a place in the file, as `Document.problem` does."""


def plan(definition: PipeDefinition, complain: Complain, atom: Callable[[str], AtomSpec], *, name: str) -> PipePlan:
    """Every decision about a pipe. Raises AuthorError with every problem at once; `atom` is asked once for each id."""
    head = definition.pipe or PipeHead()
    reading = Reading(definition.steps, atom)
    complaints = [*reading.complaints, *Check(reading, head).complaints()]
    errors = [each for each in complaints if each.severity == "error"]
    if errors:
        raise AuthorError([*_told(errors, complain), *reading.foreign])
    links = _linked(reading)
    data = data_of(definition)
    notes = _noted(complaints)
    steps = _Steps(reading.drafts, links, data["steps"], notes)
    return PipePlan(
        name=head.name or name,
        steps=tuple(steps.step(draft) for draft in reading.drafts),
        order=tuple(links.order),
        max_parallel=head.max_parallel,
        on_failure=head.on_failure,
        definition=data,
        definition_sha=_digest(data),
        warnings=tuple(_told([*_warnings(complaints), *_turned(links, reading.drafts)], complain)),
    )


def envelopes(plan: PipePlan) -> frozenset[str]:
    """The steps behind which `.result` means nothing, for `reference.resolved` and `Condition.holds`."""
    return frozenset(step.name for step in plan.steps if _lists(step.spec, step.step.for_each) or _is_bare(step.spec))


def _lists(spec: AtomSpec, for_each: str | None) -> bool:
    return for_each is not None or spec.manifest.kind == "stream"


def _is_bare(spec: AtomSpec) -> bool:
    return is_envelope(Typed(spec.output_schema, spec.output_schema))


def _told(complaints: list[Complaint], complain: Complain) -> list[Problem]:
    """Complaints as problems, in the order of the file, each once."""
    different = list(dict.fromkeys(complaints))
    problems = [_problem(each, complain) for each in different[:MOST]]
    problems.sort(key=lambda problem: (problem.line or 0, problem.column or 0, problem.message))
    if len(different) > MOST:
        more = f"and {len(different) - MOST} more of this pipe"
        problems.append(complain("more", (), more, severity=different[MOST].severity))
    return problems


def _problem(each: Complaint, complain: Complain) -> Problem:
    inside = {} if each.within is None else {"within": each.within}
    return complain(each.code, each.path, each.message, each.hint, at=each.at, severity=each.severity, **inside)


def _warnings(complaints: list[Complaint]) -> list[Complaint]:
    return [each for each in complaints if each.severity == "warning"]


def _noted(complaints: list[Complaint]) -> dict[int, list[str]]:
    """What stands among the words of a step, by its position."""
    found: dict[int, list[str]] = {}
    for each in complaints:
        if each.severity == "note":
            found.setdefault(int(each.path[1]), []).append(each.message)
    return found


class _Links(NamedTuple):
    """Who waits for whom."""

    order: list[int]
    edges: list[set[int]]
    """All that a step waits for, its stream included."""
    waits: list[list[Wait]]
    """For each step what it waits for only because of effects."""
    consumes: dict[int, int]
    """Consumers that take items as they come, and their streams."""
    specs: dict[int, AtomSpec]
    manifests: dict[int, AtomManifest]


def _linked(reading: Reading) -> _Links:
    specs = {draft.position: draft.spec for draft in reading.drafts if draft.spec is not None}
    manifests = {position: spec.manifest for position, spec in specs.items()}
    first = ordered(reading.needs)
    ancestors = before(first, reading.needs)
    only: list[list[Wait]] = [[] for _ in reading.drafts]
    edges = [set(each) for each in reading.needs]
    for wait in waits(first, manifests):
        if not ancestors[wait.later] >> wait.earlier & 1 and wait.earlier not in edges[wait.later]:
            only[wait.later].append(wait)
            edges[wait.later].add(wait.earlier)
    consumes = dict(_live(reading, manifests, edges))
    return _Links(ordered(edges) if consumes else first, edges, only, consumes, specs, manifests)


def _live(reading: Reading, manifests: dict[int, AtomManifest], edges: list[set[int]]) -> Iterator[tuple[int, int]]:
    """Consumers that can run beside their streams. A stream starts when its consumer can, so it waits for the same."""
    for draft in reading.drafts:
        stream = reading.positions.get(draft.source.root) if draft.source is not None else None
        if stream is None or not _takes_whole(draft, reading.drafts[stream], manifests[stream]):
            continue
        if conflict(manifests[stream], manifests[draft.position]) or leads_elsewhere(draft.position, stream, edges):
            continue
        edges[stream] |= edges[draft.position] - {stream}
        yield draft.position, stream


def _takes_whole(draft: Draft, stream: Draft, manifest: AtomManifest) -> bool:
    """Whether the step goes through a whole stream, and uses nothing else of it."""
    uses = [found for found, _ in draft.references if found.root == stream.name]
    is_stream = manifest.kind == "stream" and stream.step.for_each is None
    return is_stream and len(uses) == 1 and uses[0].path in ((), ("result",))


def _turned(links: _Links, drafts: list[Draft]) -> Iterator[Complaint]:
    """Pairs that nothing orders but their effects, and that do not go as they stand in the file.

    Those that do go as everybody reads them; the words of the step say so.
    """
    pairs = [wait for each in links.waits for wait in each if wait.earlier > wait.later]
    for wait in pairs[:PAIRS]:
        first, second = drafts[wait.earlier].name, drafts[wait.later].name
        message = f"`{first}` goes before `{second}`, which stands above it: {meeting(wait, links.manifests)}"
        place: Path = ("steps", wait.later, "atom")
        hint = f'write `needs = ["{second}"]` into `{first}` or the other way round, if the order matters'
        yield Complaint("file-order", place, message, hint, "value", "warning")
    if len(pairs) > PAIRS:
        message = f"and {len(pairs) - PAIRS} more pairs of steps go against the order of the file"
        yield Complaint("file-order", ("steps",), message, None, "value", "warning")


class _Steps:
    """Makes the planned steps."""

    def __init__(
        self, drafts: list[Draft], links: _Links, data: list[dict[str, Any]], notes: dict[int, list[str]]
    ) -> None:
        self._notes = notes
        self._quoted = [f"`{draft.name}`" for draft in drafts]
        self._links = links
        self._data = data
        self._streams = {stream: consumer for consumer, stream in links.consumes.items()}
        self._before = before(links.order, links.edges)
        self._behind = behind(links.order, links.edges)
        self._all = (1 << len(drafts)) - 1

    def step(self, draft: Draft) -> PlannedStep:
        """One step, with every decision."""
        position = draft.position
        spec, manifest = self._links.specs[position], self._links.manifests[position]
        streamed = position in self._streams
        retry = retry_rule(draft.step, manifest, streamed=streamed)
        serial = conflict(manifest, manifest) if draft.step.for_each is not None else ()
        return PlannedStep(
            name=draft.name,
            position=position,
            step=draft.step,
            step_sha=_sha(self._data[position], spec),
            spec=spec,
            undo=draft.undo,
            needs=tuple(sorted(draft.needs)),
            after=tuple(sorted(self._links.edges[position].difference(draft.needs))),
            serial=bool(serial),
            consumes=self._links.consumes.get(position),
            streamed=streamed,
            retry=retry,
            cached=may_cache(manifest),
            words=tuple(self._words(draft, manifest, retry.why, serial)),
        )

    def _words(self, draft: Draft, manifest: AtomManifest, retry: str, serial: tuple[str, ...]) -> Iterator[str]:
        position, waits = draft.position, self._links.waits[draft.position]
        if draft.needs:
            yield f"needs {names(sorted(draft.needs), len(draft.needs), self._quoted)}"
        yield from (wait_words(wait, self._links.manifests, self._quoted) for wait in waits[:FEW])
        if len(waits) > FEW:
            yield f"waits for {len(waits) - FEW} more steps, because of effects"
        yield beside_words(self._beside(position), self._quoted)
        yield retry
        yield cache_words(manifest)
        yield from member_words(draft.step, manifest, serial)
        yield from self._stream_words(draft, manifest)
        if draft.undo is not None:
            yield f"taken back by {draft.undo.id}, when a later step fails"
        yield from dict.fromkeys(self._notes.get(position, ()))

    def _stream_words(self, draft: Draft, manifest: AtomManifest) -> Iterator[str]:
        consumes, consumer = self._links.consumes.get(draft.position), self._streams.get(draft.position)
        if consumes is not None:
            yield f"takes the items of {self._quoted[consumes]} as they come"
        if consumer is not None:
            yield f"a stream: {self._quoted[consumer]} takes its items as they come"
        elif manifest.kind == "stream":
            yield "a stream: its items are collected into a list"

    def _beside(self, position: int) -> int:
        """Everything that is neither before nor behind; a stream and its consumer run together."""
        pair = self._streams.get(position, self._links.consumes.get(position))
        together = 0 if pair is None else 1 << pair
        return self._all & ~self._before[position] & ~self._behind[position] & ~(1 << position) | together


def _sha(step: dict[str, Any], spec: AtomSpec) -> str:
    """What a kept result depends on. Name, needs, retry and undo may change without doing the step again."""
    return _digest({key: step.get(key) for key in ("atom", "input", "for_each", "if")} | {"spec": spec.spec_sha})


def _digest(data: object) -> str:
    """sha256 of sorted JSON, which is compared only with others that were made here."""
    return sha256(msgspec.json.encode(data, order="sorted")).hexdigest()
