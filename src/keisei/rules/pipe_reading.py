"""Steps of a pipe, read: their names, what they call, what they refer to and what they therefore need."""

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from keisei.contracts.words import nearest, shown
from keisei.records.atom_spec import AtomSpec
from keisei.records.error import AuthorError, KeiseiError, MissingAtom
from keisei.records.pipe import PipeStep
from keisei.records.problem import Problem
from keisei.rules.condition import BadCondition, Condition, condition
from keisei.rules.pipe_input import Complaint, written
from keisei.rules.pipe_order import circles
from keisei.rules.reference import GIVEN, BadReference, Path, Reference, listed_names, reference, scanned

FEW = 8


class Draft(NamedTuple):
    """One step, read; what could not be read is left out, and complained of."""

    position: int
    name: str
    step: PipeStep
    spec: AtomSpec | None
    undo: AtomSpec | None
    source: Reference | None
    """What `for_each` goes through."""
    condition: Condition | None
    inputs: tuple[Reference, ...]
    """References of the input, with their places in it."""
    places: frozenset[Path]
    """Where in the input something else will stand at run time."""
    needs: dict[int, Path]
    """The steps it needs, and where that is written."""
    references: tuple[tuple[Reference, Path], ...]
    """Every reference with its place in the file."""


class Reading:
    """A whole pipe, read. `drafts` stand in the order of the file."""

    def __init__(self, steps: Sequence[PipeStep], atom: Callable[[str], AtomSpec]) -> None:
        """Read everything at once; complaints are collected."""
        self.complaints: list[Complaint] = []
        self.foreign: dict[Problem, None] = {}
        """Problems of the atoms' own files."""
        self._atom = atom
        self._specs: dict[str, AtomSpec | KeiseiError] = {}
        self._names = self._named(steps)
        pairs = reversed(list(enumerate(self._names)))
        self.positions = {name: position for position, name in pairs if name not in GIVEN}
        self.drafts = [self._read(position, step) for position, step in enumerate(steps)]
        self.needs = [set(draft.needs) for draft in self.drafts]
        self.complaints += self._circles()

    def _named(self, steps: Sequence[PipeStep]) -> list[str]:
        names = [step.capture_as or f"step-{number}" for number, step in enumerate(steps, 1)]
        first = {name: number for number, name in reversed(list(enumerate(names)))}
        first |= {names[number]: number for number, step in enumerate(steps) if step.capture_as is None}
        for number, step in enumerate(steps):
            place = ("steps", number, "capture_as")
            if step.capture_as in GIVEN:
                message = f"`{step.capture_as}` is reserved: `${step.capture_as}` means something else"
                self.complaints.append(Complaint("bad-name", place, message, "choose another name"))
            elif step.capture_as is not None and first[step.capture_as] != number:
                message = f"step {first[step.capture_as] + 1} is already called `{step.capture_as}`"
                self.complaints.append(Complaint("duplicate-name", place, message, "choose another name"))
        return names

    def _read(self, position: int, step: PipeStep) -> Draft:
        start: Path = ("steps", position)
        inputs, places = self._inputs(step, (*start, "input"))
        source, when = self._source(step, (*start, "for_each")), self._condition(step, (*start, "if"))
        known = tuple(
            (found, place)
            for found, place in _references(start, inputs, source, when)
            if self._leads(position, step, found, place)
        )
        usable = {found for found, _ in known}
        return Draft(
            position,
            self._names[position],
            step,
            self._spec(step.atom, (*start, "atom")),
            None if step.undo is None else self._spec(step.undo, (*start, "undo")),
            source if source in usable else None,
            when if when is not None and usable.issuperset(when.references) else None,
            tuple(found for found in inputs if found in usable),
            places,
            self._needs(position, step, known),
            known,
        )

    def _spec(self, atom_id: str, place: Path) -> AtomSpec | None:
        if atom_id not in self._specs:
            try:
                self._specs[atom_id] = self._atom(atom_id)
            except KeiseiError as error:
                self._specs[atom_id] = error
        found = self._specs[atom_id]
        if isinstance(found, AtomSpec):
            return found
        if isinstance(found, AuthorError):
            self.foreign |= dict.fromkeys(found.problems)
            message = f"`{atom_id}` cannot be called: its own files need an edit"
            self.complaints.append(Complaint("dangling", place, message))
        else:
            code = "missing-atom" if isinstance(found, MissingAtom) else "dangling"
            self.complaints.append(Complaint(code, place, found.message, found.hint))
        return None

    def _source(self, step: PipeStep, place: Path) -> Reference | None:
        try:
            return None if step.for_each is None else reference(step.for_each)
        except BadReference as error:
            self.complaints.append(Complaint("bad-reference", place, error.message, error.hint))
            return None

    def _condition(self, step: PipeStep, place: Path) -> Condition | None:
        try:
            return None if step.condition is None else condition(step.condition)
        except BadCondition as error:
            message = f"{error.message} (character {error.column})"
            self.complaints.append(Complaint("bad-condition", place, message, error.hint, within=error.column - 1))
            return None

    def _inputs(self, step: PipeStep, place: Path) -> tuple[tuple[Reference, ...], frozenset[Path]]:
        found: list[Reference] = []
        bad: list[Path] = []
        try:
            for each in scanned(step.input):
                if isinstance(each, Reference):
                    found.append(each)
                    continue
                bad.append(each[0])
                error = each[1]
                self.complaints.append(Complaint("bad-reference", (*place, *each[0]), error.message, error.hint))
        except BadReference as error:
            self.complaints.append(Complaint("too-deep", place, error.message))
        return tuple(found), frozenset([*bad, *(each.place for each in found)])

    def _leads(self, position: int, step: PipeStep, found: Reference, place: Path) -> bool:
        """Whether the root of a reference is there; complains where it is not."""
        complaint: Complaint | None = None
        if found.root in ("item", "index"):
            if step.for_each is None or place[-1] == "for_each":
                message = f"`{found.text}` means something only in `input` and `if` of a step with `for_each`"
                complaint = Complaint("bad-reference", place, message)
        elif found.root == self._names[position]:
            complaint = Complaint("cycle", place, f"step `{found.root}` refers to itself")
        elif found.root != "input" and found.root not in self.positions:
            message = f"`{found.text}` leads nowhere: there is no step `{found.root}`"
            complaint = Complaint("bad-reference", place, message, self._hint(found.root, "input"))
        if complaint is not None:
            is_value = found.whole and place[-1] != "if"
            within = None if is_value else found.text if place[-1] == "if" else written(found)
            self.complaints.append(complaint._replace(within=within))
        return complaint is None

    def _hint(self, name: str, *more: str) -> str:
        available = [*self.positions, *more]
        near = nearest(name, available)
        told = f"available: {listed_names(name, available)}"
        return f"{near} {told}" if near else told

    def _needs(self, position: int, step: PipeStep, known: tuple[tuple[Reference, Path], ...]) -> dict[int, Path]:
        found: dict[int, Path] = {}
        for each, place in known:
            if each.root in self.positions:
                found.setdefault(self.positions[each.root], place)
        for number, name in enumerate(step.needs):
            place = ("steps", position, "needs", number)
            if name == self._names[position]:
                self.complaints.append(Complaint("cycle", place, f"step `{name}` needs itself"))
            elif name not in self.positions:
                message = f"there is no step {shown(name)}"
                self.complaints.append(Complaint("dangling", place, message, self._hint(name)))
            else:
                found.setdefault(self.positions[name], place)
        return found

    def _circles(self) -> Iterator[Complaint]:
        for way in circles(self.needs):
            ring = [*way[:FEW], *([] if len(way) <= FEW else way[-1:]), way[0]]
            told = ", which needs ".join(f"`{self._names[position]}`" for position in ring[1:])
            message = f"step `{self._names[way[0]]}` comes of itself: it needs {told}"
            yield Complaint("cycle", self.drafts[way[0]].needs[way[1]], message, "break the circle")


def _references(
    start: Path, inputs: tuple[Reference, ...], source: Reference | None, when: Condition | None
) -> Iterator[tuple[Reference, Path]]:
    """Every reference of a step with its place in the file."""
    yield from ((each, (*start, "input", *each.place)) for each in inputs)
    if source is not None:
        yield source, (*start, "for_each")
    if when is not None:
        yield from ((each, (*start, "if")) for each in when.references)
