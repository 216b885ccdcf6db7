"""Steps of a pipe against the atoms they call: types, retry, undo and streams. Complaints only; nothing is decided."""

from collections.abc import Generator, Iterator
from typing import Any

from keisei.contracts.words import nearest, shown
from keisei.records.atom_spec import AtomSpec
from keisei.records.pipe import PipeHead, PipeRetry
from keisei.rules.atom_effect import may_retry, may_retry_code, may_retry_words
from keisei.rules.condition import Condition
from keisei.rules.pipe_condition import condition_complaints
from keisei.rules.pipe_input import (
    RUN_TIME,
    Complaint,
    Target,
    Trouble,
    Values,
    kind_words,
    literal_complaints,
    reference_complaints,
    stand_in_complaints,
    target,
)
from keisei.rules.pipe_reading import Draft, Reading
from keisei.rules.pipe_type import ANYTHING, COUNT, TEXT, Typed
from keisei.rules.pipe_undo import given_types, undo_complaints
from keisei.rules.reference import Path, Reference, listed_names, template
from keisei.rules.schema_part import ALWAYS

Items = dict[str, Typed]


class Check:
    """The checks of one pipe."""

    def __init__(self, reading: Reading, head: PipeHead) -> None:
        """Look at every step's output once."""
        self._reading = reading
        self._head = head
        self._values = Values()
        self._targets: dict[str, Target] = {}
        self._texts: dict[int, Typed] = {0: TEXT}
        for draft in reading.drafts:
            is_stream = draft.spec is not None and draft.spec.manifest.kind == "stream"
            self._values.add(draft.name, draft.spec, is_stream + (draft.step.for_each is not None))

    def complaints(self) -> Iterator[Complaint]:
        """Everything, in the order of the file."""
        for draft in self._reading.drafts:
            start: Path = ("steps", draft.position)
            items = yield from self._each(draft)
            yield from _placed((*start, "input"), self._input(draft, items))
            if draft.condition is not None:
                yield from _placed((*start, "if"), self._condition(draft, draft.condition, items))
            if draft.step.retry is not None and draft.spec is not None:
                yield from _placed((*start, "retry"), self._retry(draft.step.retry, draft.spec))
            if draft.undo is not None and draft.spec is not None:
                yield from _placed((*start, "undo"), self._undo(draft, draft.spec, draft.undo, items))
            yield from _deprecated(draft)
        yield from self._streams()

    def _each(self, draft: Draft) -> Generator[Complaint, None, Items]:
        """Complaints of `for_each`; returns what `$item` and `$index` are."""
        place: Path = ("steps", draft.position, "for_each")
        items: Items = {"index": COUNT, "item": ANYTHING._replace(sure=True)}
        if draft.source is None:
            return items
        typed = self._values.typed(draft.source, {})
        if isinstance(typed, Trouble):
            yield Complaint("bad-reference", place, typed.message, typed.hint)
            return items
        kinds = self._values.kinds(typed)
        item = self._values.part(typed, None)
        if "array" not in kinds or not isinstance(item, Typed):
            message = f"`for_each` needs a list, and `{draft.source.text}` is {kind_words(kinds)}"
            yield Complaint("wrong-type", place, message)
        elif not self._is_loose(draft, draft.source) and (kinds != {"array"} or not typed.sure):
            message = f"`{draft.source.text}` is not certain to be a list: {RUN_TIME}"
            yield Complaint("unproven", place, message, None, "value", "warning")
        if isinstance(item, Typed):
            items["item"] = item._replace(sure=True)
        return items

    def _is_loose(self, draft: Draft, found: Reference) -> bool:
        """Whether nobody knows its type: what the run is given, items of that, results of an atom that is missing."""
        if found.root == "item":
            return draft.source is None or self._is_loose(draft, draft.source)
        position = self._reading.positions.get(found.root)
        return found.root == "input" or (position is not None and self._reading.drafts[position].spec is None)

    def _target(self, spec: AtomSpec) -> Target:
        if spec.id not in self._targets:
            self._targets[spec.id] = target(spec)
        return self._targets[spec.id]

    def _input(self, draft: Draft, items: Items) -> Iterator[Complaint]:
        wanted = self._target(draft.spec) if draft.spec is not None else None
        if wanted is not None:
            yield from literal_complaints(wanted, draft.step.input, draft.places)
        texts: set[Path] = set()
        for found in draft.inputs:
            here = wanted.at(found.place) if wanted is not None else None
            yield from self._reference(draft, found, here, items)
            if not found.whole and here is not None and found.place not in texts:
                texts.add(found.place)
                yield from stand_in_complaints(found, self._text(draft.step.input, found.place), here, self._values)

    def _text(self, value: Any, place: Path) -> Typed:  # noqa: ANN401 - any JSON
        """A text with references in it: as long as what stands around them, or longer."""
        for part in place:
            value = value[part]
        least = sum(len(piece) for piece in template(value) if isinstance(piece, str))
        return self._texts.setdefault(least, Typed({"type": "string", "minLength": least}, ALWAYS))

    def _reference(self, draft: Draft, found: Reference, wanted: Typed | None, items: Items) -> Iterator[Complaint]:
        typed = self._values.typed(found, items)
        if isinstance(typed, Trouble):
            yield Complaint("bad-reference", found.place, typed.message, typed.hint)
        elif not self._is_loose(draft, found):
            yield from reference_complaints(found, typed, wanted, self._values)

    def _condition(self, draft: Draft, when: Condition, items: Items) -> Iterator[Complaint]:
        known: dict[Reference, Typed] = {}
        for found in when.references:
            typed = self._values.typed(found, items)
            if isinstance(typed, Trouble):
                yield Complaint("bad-reference", (), typed.message, typed.hint)
                typed = ANYTHING
            known[found] = typed._replace(sure=True) if self._is_loose(draft, found) else typed
        yield from condition_complaints(when, known.__getitem__, self._values.kinds)

    def _retry(self, retry: PipeRetry, spec: AtomSpec) -> Iterator[Complaint]:
        if not may_retry(spec.manifest):
            if retry.max:
                yield Complaint("not-retryable", (), may_retry_words(spec.manifest), "remove `retry`")
            return
        codes = [each.code for each in spec.manifest.errors]
        for number, code in enumerate(retry.on):
            if code not in codes:
                hint = nearest(code, codes) or f"it declares: {listed_names(code, codes)}"
                yield Complaint("wrong-value", ("on", number), f"`{spec.id}` declares no error {shown(code)}", hint)
            elif not may_retry_code(spec.manifest, code):
                message = f"`{code}` of `{spec.id}` is never tried again: it would come out the same"
                yield Complaint("not-retryable", ("on", number), message)

    def _undo(self, draft: Draft, spec: AtomSpec, undo: AtomSpec, items: Items) -> Iterator[Complaint]:
        if self._head.on_failure == "continue":
            message = 'is never called: with `on_failure = "continue"` nothing is undone'
            yield Complaint("unused", (), f"`{undo.id}` {message}", None, "value", "warning")
        whole = {found.place[0]: found for found in draft.inputs if found.whole and len(found.place) == 1}
        wanted = self._target(spec)

        def typed(key: str) -> Typed:
            known = self._values.typed(whole[key], items) if key in whole else wanted.at((key,))
            return known if isinstance(known, Typed) else ANYTHING._replace(sure=True)

        yield from undo_complaints(spec, undo, given_types(draft.step.input, typed), self._values)

    def _streams(self) -> Iterator[Complaint]:
        """A stream is read once, so one step takes it."""
        drafts = self._reading.drafts
        streams = {each.name for each in drafts if each.spec is not None and each.spec.manifest.kind == "stream"}
        taken: dict[str, int] = {}
        for draft in drafts if streams else ():
            for found, place in draft.references:
                first = taken.setdefault(found.root, draft.position) if found.root in streams else draft.position
                if first != draft.position:
                    other = drafts[first].name
                    message = f"`{found.root}` is a stream and has one consumer: `{other}` takes it already"
                    yield Complaint("contradiction", place, message, f"refer to what `{other}` made of it")


def _placed(start: Path, complaints: Iterator[Complaint]) -> Iterator[Complaint]:
    for each in complaints:
        yield each._replace(path=(*start, *each.path))


def _deprecated(draft: Draft) -> Iterator[Complaint]:
    for key, spec in (("atom", draft.spec), ("undo", draft.undo)):
        if spec is not None and spec.manifest.deprecated is not None:
            message = f"`{spec.id}` is deprecated: {spec.manifest.deprecated}"
            yield Complaint("deprecated", ("steps", draft.position, key), message, None, "value", "warning")
