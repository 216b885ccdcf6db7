"""Steps of a pipe against the atoms they call: types, retry, undo and streams. Complaints only; nothing is decided."""

from collections.abc import Generator, Iterator
from typing import Any

from keisei.contracts.words import nearest, shown
from keisei.records.atom_spec import AtomSpec
from keisei.records.pipe import PipeHead, PipeRetry
from keisei.rules.atom_effect import may_retry, may_retry_code, may_retry_words
from keisei.rules.condition import Condition
from keisei.rules.pipe_condition import condition_complaints
from keisei.rules.pipe_fact import NOTHING, Facts, facts, together
from keisei.rules.pipe_input import (
    RUN_TIME,
    Complaint,
    Trouble,
    Values,
    absent,
    kind_words,
    literal_complaints,
    reference_complaints,
    text_complaints,
    written,
)
from keisei.rules.pipe_reading import Draft, Reading
from keisei.rules.pipe_type import ANYTHING, COUNT, Text, Typed
from keisei.rules.pipe_undo import given_types, undo_complaints
from keisei.rules.reference import GIVEN, Path, Reference, listed_names, template
from keisei.rules.schema_part import EVERY

Items = dict[str, Typed]


class Check:
    """The checks of one pipe."""

    def __init__(self, reading: Reading, head: PipeHead) -> None:
        """Look at every step's output once."""
        self._reading = reading
        self._head = head
        self._values = Values()
        for draft in reading.drafts:
            is_stream = draft.spec is not None and draft.spec.manifest.kind == "stream"
            self._values.add(draft.name, draft.spec, is_stream + (draft.step.for_each is not None))
        self._facts = {draft.position: facts(draft.condition) for draft in reading.drafts if draft.condition}

    def _before(self, draft: Draft) -> Facts:
        """What held when the steps it needs ran. Members of a fan-out may all have been left out."""
        drafts = self._reading.drafts
        held = (self._facts[need] for need in draft.needs if need in self._facts and drafts[need].step.for_each is None)
        return together(each.others() for each in held) if self._facts else NOTHING

    def complaints(self) -> Iterator[Complaint]:
        """Everything, in the order of the file."""
        for draft in self._reading.drafts:
            start: Path = ("steps", draft.position)
            known = self._before(draft)
            items = yield from self._each(draft, known)
            if draft.condition is not None:
                yield from _placed((*start, "if"), self._condition(draft, draft.condition, items, known))
                known = together((known, self._facts[draft.position]))
            yield from _placed((*start, "input"), self._input(draft, items, known))
            if draft.step.retry is not None and draft.spec is not None:
                yield from _placed((*start, "retry"), self._retry(draft.step.retry, draft.spec))
            if draft.undo is not None and draft.spec is not None:
                yield from _placed((*start, "undo"), self._undo(draft, draft.spec, draft.undo, items))
            yield from _deprecated(draft)
        yield from self._streams()

    def _each(self, draft: Draft, known: Facts) -> Generator[Complaint, None, Items]:
        """Complaints of `for_each`; returns what `$item` and `$index` are."""
        place: Path = ("steps", draft.position, "for_each")
        items: Items = {"index": COUNT, "item": ANYTHING._replace(sure=True)}
        if draft.source is None:
            return items
        typed = self._values.typed(draft.source, {}, known)
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
            yield Complaint("unproven", place, message, None, "value", "note" if kinds == EVERY else "warning")
        if isinstance(item, Typed):
            items["item"] = item._replace(sure=True)
        return items

    def _is_loose(self, draft: Draft, found: Reference) -> bool:
        """Whether nobody knows its type: what the run is given, items of that, results of an atom that is missing."""
        if found.root == "item":
            return draft.source is None or self._is_loose(draft, draft.source)
        position = self._reading.positions.get(found.root)
        return found.root == "input" or (position is not None and self._reading.drafts[position].spec is None)

    def _input(self, draft: Draft, items: Items, known: Facts) -> Iterator[Complaint]:
        wanted = self._values.target(draft.spec) if draft.spec is not None else None
        if wanted is not None:
            yield from literal_complaints(wanted, draft.step.input, draft.places)
        texts: set[Path] = set()
        for found in draft.inputs:
            here = wanted.at(found.place) if wanted is not None else None
            typed = self._values.typed(found, items, known)
            yield from self._reference(draft, found, here, typed)
            if isinstance(typed, Typed) and not typed.sure and not self._is_loose(draft, found):
                first = self._values.doubtful(found, items, known)
                yield absent(found, first, is_declared=self._values.kinds(typed) != EVERY)
            if not found.whole and here is not None and found.place not in texts:
                texts.add(found.place)
                yield from self._text(draft.step.input, found, here, items)

    def _text(self, value: Any, found: Reference, wanted: Typed, items: Items) -> Iterator[Complaint]:  # noqa: ANN401
        """A text with references in it: as long as what stands around them, or longer."""
        for part in found.place:
            value = value[part]
        pieces = [self._piece(piece, items) for piece in template(value)]
        samples, least, most = zip(*pieces, strict=True)
        return text_complaints(found, Text("".join(samples), sum(least), sum(most)), wanted, self._values)

    def _piece(self, piece: str | Reference, items: Items) -> Text:
        if isinstance(piece, str):
            return Text(piece, len(piece), len(piece))
        is_there = piece.root in GIVEN or piece.root in self._reading.positions
        text, most = self._values.sample(self._values.typed(piece, items) if is_there else ANYTHING)
        return Text(text, 0, most)

    def _reference(
        self, draft: Draft, found: Reference, wanted: Typed | None, typed: Typed | Trouble
    ) -> Iterator[Complaint]:
        if isinstance(typed, Trouble):
            within = None if found.whole else written(found)
            yield Complaint("bad-reference", found.place, typed.message, typed.hint, within=within)
        elif not self._is_loose(draft, found):
            yield from reference_complaints(found, typed, wanted, self._values)

    def _condition(self, draft: Draft, when: Condition, items: Items, known: Facts) -> Iterator[Complaint]:
        types: dict[Reference, Typed] = {}
        for found in when.references:
            typed = self._values.typed(found, items, known)
            if isinstance(typed, Trouble):
                yield Complaint("bad-reference", (), typed.message, typed.hint, within=found.text)
                typed = ANYTHING._replace(sure=True)
            types[found] = typed._replace(sure=True) if self._is_loose(draft, found) else typed
        yield from condition_complaints(when, types.__getitem__, self._values.kinds)

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
        wanted = self._values.target(spec)

        def typed(key: str) -> Typed:
            known = self._values.typed(whole[key], items) if key in whole else wanted.at((key,))
            return known if isinstance(known, Typed) else ANYTHING._replace(sure=True)

        given = {} if self._is_stream(draft.source) else given_types(draft.step.input, typed)
        yield from undo_complaints(spec, undo, given, self._values)

    def _is_stream(self, source: Reference | None) -> bool:
        """Whether `for_each` takes items of a stream: they are gone when the step is undone, and so is its input."""
        position = None if source is None else self._reading.positions.get(source.root)
        stream = None if position is None else self._reading.drafts[position]
        return stream is not None and stream.spec is not None and stream.spec.manifest.kind == "stream"

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
    for code, path, message, hint, at, severity, within in complaints:
        yield Complaint(code, (*start, *path), message, hint, at, severity, within)


def _deprecated(draft: Draft) -> Iterator[Complaint]:
    for key, spec in (("atom", draft.spec), ("undo", draft.undo)):
        if spec is not None and spec.manifest.deprecated is not None:
            message = f"`{spec.id}` is deprecated: {spec.manifest.deprecated}"
            yield Complaint("deprecated", ("steps", draft.position, key), message, None, "value", "warning")
