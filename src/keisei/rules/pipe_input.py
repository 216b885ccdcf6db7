"""Inputs of pipe steps, checked before anything runs: what references lead to, and whether it may stand there."""

from collections.abc import Collection, Iterator, Mapping
from typing import Any, Literal, NamedTuple

from keisei.contracts.check import Violation, differences
from keisei.contracts.words import TYPES, nearest, shown
from keisei.records.atom_spec import AtomSpec
from keisei.rules.pipe_type import ANYTHING, Gap, Typed, judged, kinds_of, many, names_of, part_of
from keisei.rules.reference import GIVEN, BadReference, Path, Reference, listed_names, template, told
from keisei.rules.schema_part import EVERY, NUMBERS

SURE = frozenset({"Type", "Required", "AdditionalProperties", "PropertyNames"})
"""What a validator says of an object whatever the values in it are."""
UNSURE = frozenset({"then", "else", "dependencies", "not", "contains"})
RUN_TIME = "checked at run time"
Verdict = tuple[Literal["fits", "never", "perhaps"], str | None]


class Complaint(NamedTuple):
    """A problem before it has a line."""

    code: str
    path: Path
    message: str
    hint: str | None = None
    at: Literal["key", "value"] = "value"
    severity: Literal["error", "warning"] = "error"


class Trouble(NamedTuple):
    """Why a reference leads nowhere."""

    message: str
    hint: str | None


class Values:
    """What is known of everything a pipe can refer to."""

    def __init__(self) -> None:
        """Nothing yet."""
        self._roots: dict[str, tuple[Typed, AtomSpec | None]] = {}
        self._outputs: dict[tuple[str, int], Typed] = {}
        self._parts: dict[tuple[int, bool, str | int | None], tuple[Typed, Typed | Gap]] = {}
        self._kinds: dict[int, tuple[Typed, frozenset[str]]] = {}
        self._judged: dict[tuple[int, int], tuple[Typed, Typed, Verdict]] = {}

    def add(self, name: str, spec: AtomSpec | None, lists: int) -> None:
        """A step, and how many lists its outputs stand in."""
        key = (spec.spec_sha if spec else "", lists)
        if key not in self._outputs:
            typed = Typed(spec.output_schema, spec.output_schema) if spec else ANYTHING
            for _ in range(lists if spec else 0):
                typed = many(typed)
            self._outputs[key] = typed
        self._roots.setdefault(name, (self._outputs[key], spec))

    def typed(self, found: Reference, items: Mapping[str, Typed]) -> Typed | Trouble:
        """What is known of a reference. `items` holds `item` and `index`, where they mean something."""
        if found.root in GIVEN:
            return self._walked(found, items.get(found.root, ANYTHING), found.path)
        typed, _ = self._roots[found.root]
        is_skipped = found.path[:1] == ("result",) and is_envelope(typed)
        return self._walked(found, typed, found.path[1:] if is_skipped else found.path)

    def _walked(self, found: Reference, typed: Typed, path: Path) -> Typed | Trouble:
        for length, part in enumerate(path):
            inner = self.part(typed, part)
            if isinstance(inner, Gap):
                return self._trouble(found, path[:length], part, inner)
            typed = inner
        return typed

    def part(self, typed: Typed, part: str | int | None) -> Typed | Gap:
        """As `part_of`, asked once for each schema; what is kept alive keeps its id."""
        key = (id(typed.schema), typed.sure, part)
        if key not in self._parts:
            self._parts[key] = (typed, part_of(typed, part))
        return self._parts[key][1]

    def kinds(self, typed: Typed) -> frozenset[str]:
        """As `kinds_of`, asked once for each schema."""
        if id(typed.schema) not in self._kinds:
            self._kinds[id(typed.schema)] = (typed, kinds_of(typed))
        return self._kinds[id(typed.schema)][1]

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
        if key not in self._judged:
            self._judged[key] = (source, target, judged(source, target))
        return self._judged[key][2]


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

    def at(self, place: Path) -> Typed | None:
        """What is wanted at a place; None where nothing is declared."""
        if not place:
            return Typed(self.spec.input_schema, self.spec.input_schema)
        if place not in self.places:
            outer = self.at(place[:-1])
            found = None if outer is None else part_of(outer, place[-1])
            self.places[place] = found if isinstance(found, Typed) else None
        return self.places[place]


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
    return Target(spec, validator, {})


def literal_complaints(wanted: Target, value: dict[str, Any], places: Collection[Path]) -> Iterator[Complaint]:
    """Everything that is certainly wrong with an input, whatever stands at the places of its references."""
    said: set[Path] = set()
    for each in _violations(wanted, _filled(value), places):
        said.add(each.path)
        yield Complaint(each.code, each.path, each.message, each.hint, each.at)
    for key in value:
        if (key,) not in said and wanted.at((key,)) is None:
            names = names_of(Typed(wanted.spec.input_schema, wanted.spec.input_schema))[0]
            hint = nearest(key, names) or f"known keys: {listed_names(key, names)}"
            yield Complaint(
                "unknown-key", (key,), f"`{wanted.spec.id}` declares no key {shown(key)}", hint, "key", "warning"
            )


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
    """What is wrong with a reference where it stands, or is only known at run time. A text is judged by itself."""
    if not source.sure:
        yield _unproven(found, f"`{found.text}` may be absent: {RUN_TIME}")
    if not found.whole:
        yield from _text_complaints(found, values.kinds(source))
    elif wanted is not None:
        yield from stand_in_complaints(found, source, wanted, values)


def stand_in_complaints(found: Reference, source: Typed, wanted: Typed, values: Values) -> Iterator[Complaint]:
    """Whether the one may stand where the other is wanted."""
    verdict, example = values.judged(source, wanted)
    if verdict == "fits":
        return
    what = f"`{found.text}`" if found.whole else f"the text with `{found.text}`"
    place = f"`{found.place[-1]}`" if found.place else "here"
    if verdict == "never":
        yield Complaint("wrong-type", found.place, f"{what} is {_is(source)}, and {place} must be {_is(wanted)}")
    else:
        doubt = f" ({example} would not)" if example else ""
        yield _unproven(found, f"{what} is not certain to fit {place}{doubt}: {RUN_TIME}")


def _unproven(found: Reference, message: str) -> Complaint:
    return Complaint("unproven", found.place, message, None, "value", "warning")


def _text_complaints(found: Reference, kinds: frozenset[str]) -> Iterator[Complaint]:
    if kinds == {"null"}:
        yield Complaint("wrong-type", found.place, f"`{found.text}` is always null, and null is no text")
    elif "null" in kinds and kinds != EVERY:
        yield _unproven(found, f"`{found.text}` may be null, and null is no text: {RUN_TIME}")


def _is(typed: Typed) -> str:
    schema = typed.schema
    if isinstance(schema, dict) and isinstance(schema.get("enum"), list):
        return f"one of {', '.join(shown(each) for each in schema['enum'][:8])}"
    return kind_words(kinds_of(typed))
