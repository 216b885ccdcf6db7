"""Inputs of pipe steps, checked before anything runs: what references lead to, and whether it may stand there."""

from collections.abc import Collection, Iterator, Mapping
from typing import Any, Literal, NamedTuple

from keisei.contracts.check import Violation, differences
from keisei.contracts.words import TYPES, nearest, shown
from keisei.records.atom_spec import AtomSpec
from keisei.rules.pipe_fact import NOTHING, Facts
from keisei.rules.pipe_type import (
    ANYTHING,
    Gap,
    Text,
    TextPlace,
    Typed,
    Verdict,
    example,
    judged,
    kinds_of,
    longest,
    many,
    names_of,
    part_of,
    sample,
    without_null,
)
from keisei.rules.reference import GIVEN, BadReference, Path, Reference, listed_names, template, told
from keisei.rules.schema_part import EVERY, NUMBERS

SURE = frozenset({"Type", "Required", "AdditionalProperties", "PropertyNames"})
"""What a validator says of an object whatever the values in it are."""
UNSURE = frozenset({"then", "else", "dependencies", "not", "contains"})
RUN_TIME = "checked at run time"
REMEMBERED = 5_000
"""Answers about schemas that are kept for the next pipe."""


class Complaint(NamedTuple):
    """A problem before it has a line."""

    code: str
    path: Path
    message: str
    hint: str | None = None
    at: Literal["key", "value"] = "value"
    severity: Literal["error", "warning", "note"] = "error"
    """A note stands among the words of its step."""
    within: str | int | None = None
    """The piece of a text that is meant, or the character it begins with, from 0."""


class Trouble(NamedTuple):
    """Why a reference leads nowhere."""

    message: str
    hint: str | None


class _Known:
    """What was found out about schemas. It holds whatever pipe asks; objects that are kept alive keep their ids."""

    def __init__(self) -> None:
        self.outputs: dict[tuple[str, int], Typed] = {}
        self.targets: dict[str, Target] = {}
        self.parts: dict[tuple[int, bool, str | int | None], tuple[Typed, Typed | Gap]] = {}
        self.kinds: dict[int, tuple[Typed, frozenset[str]]] = {}
        self.filled: dict[int, tuple[Typed, Typed]] = {}
        self.samples: dict[int, tuple[Typed, tuple[str, float]]] = {}
        self.texts: dict[int, tuple[Typed, TextPlace]] = {}
        self.judged: dict[tuple[int, int], tuple[Typed, Typed, Verdict]] = {}

    @property
    def is_full(self) -> bool:
        """Whether it is time to begin anew."""
        return max(len(self.parts), len(self.judged), len(self.targets)) > REMEMBERED


class Values:
    """What is known of everything a pipe can refer to. A process that plans many pipes finds out about schemas once."""

    _shared = _Known()

    def __init__(self) -> None:
        """No step yet."""
        if Values._shared.is_full:
            Values._shared = _Known()
        self._known = Values._shared
        self._roots: dict[str, tuple[Typed, AtomSpec | None]] = {}

    def add(self, name: str, spec: AtomSpec | None, lists: int) -> None:
        """A step, and how many lists its outputs stand in."""
        key = (spec.spec_sha if spec else "", lists)
        outputs = self._known.outputs
        if key not in outputs:
            typed = Typed(spec.output_schema, spec.output_schema) if spec else ANYTHING
            for _ in range(lists if spec else 0):
                typed = many(typed)
            outputs[key] = typed
        self._roots.setdefault(name, (outputs[key], spec))

    def target(self, spec: AtomSpec) -> "Target":
        """The input of an atom, looked at once."""
        found = self._known.targets.get(spec.spec_sha)
        return found or self._known.targets.setdefault(spec.spec_sha, target(spec))

    def typed(self, found: Reference, items: Mapping[str, Typed], known: Facts = NOTHING) -> Typed | Trouble:
        """What is known of a reference. `items` holds `item` and `index`, where they mean something."""
        if found.root in GIVEN:
            return self._walked(found, items.get(found.root, ANYTHING), 0, known)
        typed, _ = self._roots[found.root]
        is_skipped = found.path[:1] == ("result",) and is_envelope(typed)
        return self._walked(found, typed, int(is_skipped), known)

    def _walked(self, found: Reference, typed: Typed, start: int, known: Facts) -> Typed | Trouble:
        typed = self._granted(found, typed, start, known) if known.present else typed
        for length in range(start, len(found.path)):
            inner = self.part(typed, found.path[length])
            if isinstance(inner, Gap):
                return self._trouble(found, found.path[start:length], found.path[length], inner)
            typed = self._granted(found, inner, length + 1, known) if known.present else inner
        return typed

    def _granted(self, found: Reference, typed: Typed, length: int, known: Facts) -> Typed:
        """The value as conditions that held leave it: there, not null, the first of a list that is not empty."""
        key = (found.root, found.path[:length])
        if key in known.filled:
            if id(typed.schema) not in self._known.filled:
                self._known.filled[id(typed.schema)] = (typed, without_null(typed))
            return self._known.filled[id(typed.schema)][1]._replace(sure=True)
        is_first = length and found.path[length - 1] == 0 and (found.root, found.path[: length - 1]) in known.full
        return typed._replace(sure=True) if is_first or key in known.present else typed

    def sample(self, typed: Typed | Trouble) -> tuple[str, float]:
        """How a value may look like inside a text, and how long it is at most. Asked once for each schema."""
        typed = ANYTHING if isinstance(typed, Trouble) else typed
        if id(typed.schema) not in self._known.samples:
            self._known.samples[id(typed.schema)] = (typed, (sample(typed), longest(typed)))
        return self._known.samples[id(typed.schema)][1]

    def doubtful(self, found: Reference, items: Mapping[str, Typed], known: Facts) -> Reference:
        """The outermost part of a reference that may be absent."""
        for length in range(len(found.path)):
            outer = found._replace(path=found.path[:length])
            typed = self.typed(outer, items, known)
            if isinstance(typed, Typed) and not typed.sure:
                return outer
        return found

    def part(self, typed: Typed, part: str | int | None) -> Typed | Gap:
        """As `part_of`, asked once for each schema; what is kept alive keeps its id."""
        key = (id(typed.schema), typed.sure, part)
        if key not in self._known.parts:
            self._known.parts[key] = (typed, part_of(typed, part))
        return self._known.parts[key][1]

    def kinds(self, typed: Typed) -> frozenset[str]:
        """As `kinds_of`, asked once for each schema."""
        if id(typed.schema) not in self._known.kinds:
            self._known.kinds[id(typed.schema)] = (typed, kinds_of(typed))
        return self._known.kinds[id(typed.schema)][1]

    def _trouble(self, found: Reference, path: Path, part: str | int, gap: Gap) -> Trouble:
        start = f"${found.root}{told(path)}"
        if gap.kinds:
            what = "index" if isinstance(part, int) else "property"
            hint = f"take one item by its index: `{start}.0`" if gap.kinds == {"array"} else None
            message = (
                f"`{found.text}` leads nowhere: `{start}` is {kind_words(gap.kinds)} and has no {what} {shown(part)}"
            )
            return Trouble(message, hint)
        spec = self._roots[found.root][1] if found.root in self._roots else None
        of = f", the output of `{spec.id}`," if spec and not path else ""
        if isinstance(part, int) and not gap.names:
            return Trouble(f"`{found.text}` leads nowhere: the list `{start}`{of} never has an item {part}", None)
        hint = f"available: {listed_names(str(part), gap.names)}"
        near = nearest(part, gap.names)
        message = f"`{found.text}` leads nowhere: `{start}`{of} has no {shown(part)}"
        return Trouble(message, f"{near} {hint}" if near else hint)

    def judged(self, source: Typed, target: Typed) -> Verdict:
        """As in pipe_type, asked once for each pair."""
        key = (id(source.schema), id(target.schema))
        if key not in self._known.judged:
            self._known.judged[key] = (source, target, judged(source, target))
        return self._known.judged[key][2]

    def judged_text(self, text: Text, target: Typed) -> Verdict:
        """As `TextPlace.judged`; each place is looked at once."""
        if id(target.schema) not in self._known.texts:
            self._known.texts[id(target.schema)] = (target, TextPlace(target))
        return self._known.texts[id(target.schema)][1].judged(text)


def is_envelope(typed: Typed) -> bool:
    """Whether `.result` behind a step is only the originals' envelope: the output declares no such property."""
    return "result" not in names_of(typed)[0]


def kind_words(kinds: frozenset[str]) -> str:
    """Types in words: `an integer or null`."""
    plain = kinds - {"integer"} if kinds >= NUMBERS else kinds
    return " or ".join(TYPES[kind] for kind in sorted(plain)) or "nothing"


class Target(NamedTuple):
    """An atom's input, as the checks of a whole pipe share it."""

    spec: AtomSpec
    validator: Any
    places: dict[Path, Typed | None]
    stand_ins: dict[Path, Any]

    def at(self, place: Path) -> Typed | None:
        """What is wanted at a place; None where nothing is declared."""
        if not place:
            return Typed(self.spec.input_schema, self.spec.input_schema)
        if place not in self.places:
            outer = self.at(place[:-1])
            found = None if outer is None else part_of(outer, place[-1])
            self.places[place] = found if isinstance(found, Typed) else None
        return self.places[place]

    def stand_in(self, place: Path) -> Any:  # noqa: ANN401 - any JSON
        """Something that fits there; null where nothing is found."""
        if place not in self.stand_ins:
            here = self.at(place)
            self.stand_ins[place] = None if here is None else example(here)
        return self.stand_ins[place]


def target(spec: AtomSpec) -> Target:
    """The input of an atom, compiled. A schema that does not compile takes everything; the call will tell."""
    import jsonschema_rs  # noqa: PLC0415 - a pipe is planned, so it is needed

    patterns = jsonschema_rs.FancyRegexOptions(backtrack_limit=10_000)
    try:
        validator = jsonschema_rs.Draft7Validator(
            spec.input_schema, validate_formats=True, offline=True, pattern_options=patterns
        )
    except ValueError:
        validator = None
    return Target(spec, validator, {}, {})


def literal_complaints(wanted: Target, value: dict[str, Any], places: Collection[Path]) -> Iterator[Complaint]:
    """Everything that is certainly wrong with an input, whatever stands at the places of its references."""
    said: set[Path] = set()
    for each in () if places and _can_fit(wanted, value, places) else _violations(wanted, _filled(value), places):
        said.add(each.path)
        yield Complaint(each.code, each.path, each.message, each.hint, each.at)
    for key in value:
        if (key,) not in said and wanted.at((key,)) is None:
            names = names_of(Typed(wanted.spec.input_schema, wanted.spec.input_schema))[0]
            hint = nearest(key, names) or f"known keys: {listed_names(key, names)}"
            yield Complaint(
                "unknown-key", (key,), f"`{wanted.spec.id}` declares no key {shown(key)}", hint, "key", "warning"
            )


def _can_fit(wanted: Target, value: dict[str, Any], places: Collection[Path]) -> bool:
    """Whether something can stand at the places of references with which the input fits, as is most often so."""
    filled = {key: wanted.stand_in((key,)) if (key,) in places else _filled(item) for key, item in value.items()}
    try:
        return wanted.validator is not None and wanted.validator.is_valid(filled)
    except ValueError:
        return False


def _violations(wanted: Target, value: dict[str, Any], places: Collection[Path]) -> list[Violation]:
    if wanted.validator is None or (not places and wanted.validator.is_valid(value)):
        return []
    try:
        errors = [error for error in wanted.validator.iter_errors(value) if _is_sure(error, places)]
    except ValueError as error:
        return [Violation((), "value", "wrong-value", f"cannot be checked: {error}")]
    try:
        return differences(errors, wanted.spec.input_schema)
    except (LookupError, TypeError, AttributeError):  # a schema that the validator takes and no words are made for
        return [Violation(tuple(each.instance_path), "value", "wrong-value", each.message) for each in errors]


def _is_sure(error: Any, places: Collection[Path]) -> bool:  # noqa: ANN401 - a validator's error
    """Whether it holds whatever stands at the places of references."""
    if not places:
        return True
    path = tuple(error.instance_path)
    if any(path[: len(place)] == place for place in places) or UNSURE & set(map(str, error.schema_path)):
        return False
    return type(error.kind).__name__ in SURE or not any(place[: len(path)] == path for place in places)


def _filled(value: object) -> Any:  # noqa: ANN401 - any JSON
    """The value with null where references stand, and dollars as they are meant."""
    if isinstance(value, str):
        return _plain_text(value) if "$" in value else value
    if isinstance(value, dict):
        return {key: _filled(item) for key, item in value.items()}
    return [_filled(item) for item in value] if isinstance(value, list | tuple) else value


def _plain_text(text: str) -> str | None:
    try:
        pieces = template(text)
    except BadReference:
        return None
    texts = [piece for piece in pieces if isinstance(piece, str)]
    return "".join(texts) if len(texts) == len(pieces) else None


def reference_complaints(found: Reference, source: Typed, wanted: Typed | None, values: Values) -> Iterator[Complaint]:
    """What is wrong with a reference that is there, or is only known at run time. A text is judged by itself."""
    if not found.whole:
        yield from _text_complaints(found, values.kinds(source))
    elif wanted is not None:
        yield from _stand_in(found, source, wanted, values.judged(source, wanted))


def absent(found: Reference, first: Reference, *, is_declared: bool) -> Complaint:
    """That a value may not be there, because `first`, which is it or stands around it, may not.

    Where nobody declared it, nobody can say more: then it is only a note.
    """
    hint = None
    if is_declared and first.path:
        outer, last = first._replace(path=first.path[:-1]).text, first.path[-1]
        asked = outer if isinstance(last, int) else f"'{last}' in {outer}"
        hint = f'ask first: `if = "{asked}"`'
    severity: Literal["warning", "note"] = "warning" if is_declared else "note"
    within = None if found.whole else written(found)
    message = f"`{found.text}` may be absent: {RUN_TIME}"
    return Complaint("unproven", found.place, message, hint, "value", severity, within)


def written(found: Reference) -> str:
    """A reference as it stands inside a text."""
    return f"${{{found.text[1:]}}}"


def text_complaints(found: Reference, text: Text, wanted: Typed, values: Values) -> Iterator[Complaint]:
    """Whether a text with references may stand there."""
    return _stand_in(found, text, wanted, values.judged_text(text, wanted))


def _stand_in(found: Reference, source: Typed | Text, wanted: Typed, verdict: Verdict) -> Iterator[Complaint]:
    """Whether the one may stand where the other is wanted."""
    if verdict.answer == "fits":
        return
    what = f"`{found.text}`" if found.whole else f"the text with `{found.text}`"
    place = f"`{found.place[-1]}`" if found.place else "here"
    if verdict.answer == "never":
        given = source.typed if isinstance(source, Text) else source
        yield Complaint("wrong-type", found.place, f"{what} is {_is(given)}, and {place} must be {_is(wanted)}")
        return
    doubt = f" ({verdict.example} would not)" if verdict.example else ""
    hint = f'ask first: `if = "{found.text} != null"`' if verdict.example == "null" else None
    severity: Literal["warning", "note"] = "warning" if verdict.answer == "likely" else "note"
    message = f"{what} is not certain to fit {place}{doubt}: {RUN_TIME}"
    yield Complaint("unproven", found.place, message, hint, "value", severity)


def _text_complaints(found: Reference, kinds: frozenset[str]) -> Iterator[Complaint]:
    if kinds == {"null"}:
        message = f"`{found.text}` is always null, and null is no text"
        yield Complaint("wrong-type", found.place, message, within=written(found))
    elif "null" in kinds and kinds != EVERY:
        message = f"`{found.text}` may be null, and null is no text: {RUN_TIME}"
        hint = f'ask first: `if = "{found.text} != null"`'
        yield Complaint("unproven", found.place, message, hint, "value", "warning", written(found))


def _is(typed: Typed) -> str:
    schema = typed.schema
    if isinstance(schema, dict) and isinstance(schema.get("enum"), list):
        return f"one of {', '.join(shown(each) for each in schema['enum'][:8])}"
    return kind_words(kinds_of(typed))
