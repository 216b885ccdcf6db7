"""Containment: is every document of one schema a document of another, and if not, which one is not?

Proved by jsonschema-rs, whose containment is experimental: a yes is its own, a no is shown on a document where one is
found, and everything it cannot model, cannot bound or panics at is `unknown`, which needs a person or a run-time check.
"""

import json
from collections.abc import Callable, Iterator
from functools import lru_cache
from itertools import chain
from typing import Any, Literal, NamedTuple

import jsonschema_rs

from keisei.contracts.witness import documents, ordinary, pointed
from keisei.records.problem import tidy

Answer = Literal["yes", "no", "unknown"]
MOST_PARTS, FEW_PARTS, MOST_CASES, LARGEST = 1500, 120, 16, 100_000
"""Parts and cases (branches multiplied out) of a schema, and characters of its text, that are still compared. Taking
one schema from another is cubic, so it is done for fewer."""
WIDEST = 80
"""Properties of one object that are still compared; the prover's work grows with a high power of them."""
REMEMBERED = 2048
SHOWN, LONG = 160, 60
"""Characters of a value that is shown, and of a text in it."""


class Fit(NamedTuple):
    """Whether one schema's documents are all another's."""

    answer: Answer
    """`unknown` where neither can be shown."""
    example: str | None
    """What does not fit, in words: `"title" of 81 to 200 characters`. Also a suspicion where the answer is unknown."""


def fits(source: object, target: object) -> Fit:
    """Whether every document of `source` is one of `target`. Bundled draft-07; never raises, bounded in time."""
    texts = _texts(source, target)
    return Fit("unknown", None) if texts is None else _fits(*texts)


def misfit(source: object, target: object) -> str | None:
    """What is to be expected of `source` and refused by `target`, in words; None where only the unusual is refused."""
    texts = _texts(source, target)
    return None if texts is None else _misfit(*texts)


def refusing(target: object) -> Callable[[object], str | None]:
    """Says a document in words where `target` refuses it. A schema that does not compile refuses nothing."""
    texts = _texts(target, target)
    validator = None if texts is None else _compiled(texts[0])
    if validator is None:
        return lambda _: None
    return lambda document: None if _takes(validator, document) else _told_value(document)


def impossible(one: object, other: object) -> bool:
    """Whether certainly no document is one of both. False wherever that is not certain. Never raises."""
    texts = _texts(one, other)
    return texts is not None and _impossible(*texts)


def empty_parts(schema: object) -> tuple[str, ...]:
    """JSON pointers of parts that certainly admit nothing and were not written as `false`; empty where unsure."""
    texts = _texts(schema, True)  # noqa: FBT003 - the schema of everything
    return () if texts is None else _empty_parts(texts[0])


def _texts(one: object, other: object) -> tuple[str, str] | None:
    """The two schemas as text, without what is for people; None for what is no JSON or too much of it."""
    try:
        texts = tuple(json.dumps(_plain(each), sort_keys=True, allow_nan=False) for each in (one, other))
    except (TypeError, ValueError, RecursionError):
        return None
    return (texts[0], texts[1]) if all(len(text) <= LARGEST for text in texts) else None


def _plain(schema: object) -> object:
    """The schema without its address and draft, which a part of a schema does not have either."""
    if isinstance(schema, dict):
        return {key: value for key, value in schema.items() if key not in ("$id", "$schema", "$comment")}
    return schema


@lru_cache(maxsize=REMEMBERED)
def _fits(source_text: str, target_text: str) -> Fit:
    if source_text == target_text:
        return Fit("yes", None)
    source, target = json.loads(source_text), json.loads(target_text)
    if not (is_small(source) and is_small(target)):
        return Fit("unknown", None)
    answer = _asked(lambda: str(_canonical(target).covers(_canonical(source))), "unknown")
    if answer == "yes":
        return Fit("yes", None)
    found = _shown(source, target, chain(documents(source), _remaining(source, target)))
    if found is not None:
        return Fit("no", found)
    return Fit("no" if answer == "no" else "unknown", _described((), _left(source, target)))


def _left(source: object, target: object) -> object:
    """What the source takes and the target refuses, as a schema; None where that is not known, or is long work."""
    if not (is_small(source, FEW_PARTS) and is_small(target, FEW_PARTS)):
        return None
    return _asked(lambda: _canonical(source).subtract(_canonical(target)).to_json_schema(), None)


@lru_cache(maxsize=REMEMBERED)
def _misfit(source_text: str, target_text: str) -> str | None:
    source, target = json.loads(source_text), json.loads(target_text)
    return _shown(source, target, ordinary(source))


@lru_cache(maxsize=REMEMBERED)
def _compiled(text: str) -> jsonschema_rs.Draft7Validator | None:
    return _validator(json.loads(text))


@lru_cache(maxsize=REMEMBERED)
def _impossible(one_text: str, other_text: str) -> bool:
    one, other = json.loads(one_text), json.loads(other_text)
    if not (is_small(one) and is_small(other)):
        return False
    both = _asked(lambda: str(_canonical(one).intersect(_canonical(other)).satisfiability()), "unknown")
    return both == "no" and _common(one, other) is None


@lru_cache(maxsize=REMEMBERED)
def _empty_parts(text: str) -> tuple[str, ...]:
    schema = json.loads(text)
    if not is_small(schema):
        return ()
    found: dict[str, Any] = _asked(
        lambda: dict(jsonschema_rs.canonical.find_unsatisfiable(schema, draft=7, validate_formats=True, offline=True)),
        {},
    )
    return tuple(place for place in sorted(found) if pointed(schema, f"#{place}") is not False)


def _canonical(schema: Any) -> jsonschema_rs.CanonicalSchema:  # noqa: ANN401 - any JSON
    return jsonschema_rs.canonicalize(schema, draft=7, validate_formats=True, offline=True)


def _asked(question: Callable[[], Any], otherwise: Any) -> Any:  # noqa: ANN401 - what the question is answered with
    """The answer, or the other one where there is none: a panic in Rust arrives as a BaseException."""
    try:
        return question()
    except (KeyboardInterrupt, SystemExit):
        raise
    except BaseException:  # noqa: BLE001 - as above
        return otherwise


def _common(one: object, other: object) -> Any:  # noqa: ANN401 - a validator or None
    """A document of the one that the other takes too, in a tuple: a proof upstream could be wrong about."""
    first, second = _validator(one), _validator(other)
    if first is None or second is None:
        return None
    both = (each for each in documents(one) if _takes(first, each) and _takes(second, each))
    return next(((each,) for each in both), None)


def _shown(source: object, target: object, drawn: Iterator[Any]) -> str | None:
    """A document of the source that the target refuses, in words; None where none of those drawn is one."""
    taking, refusing = _validator(source), _validator(target)
    if taking is None or refusing is None:
        return None
    for document in drawn:
        if _takes(taking, document) and not _takes(refusing, document):
            return _words(document, refusing, source, target)
    return None


def _remaining(source: object, target: object) -> Iterator[Any]:
    """Documents of the difference: they know of bounds that only the target has."""
    left = _left(source, target)
    yield from () if left is None else documents(left)


def _validator(schema: Any) -> jsonschema_rs.Draft7Validator | None:  # noqa: ANN401 - any JSON
    patterns = jsonschema_rs.FancyRegexOptions(backtrack_limit=10_000)
    validator: jsonschema_rs.Draft7Validator | None = _asked(
        lambda: jsonschema_rs.Draft7Validator(schema, validate_formats=True, offline=True, pattern_options=patterns),
        None,
    )
    return validator


def _takes(validator: jsonschema_rs.Draft7Validator, document: object) -> bool:
    return bool(_asked(lambda: validator.is_valid(document), False))  # noqa: FBT003 - not taken


def _words(document: Any, refusing: jsonschema_rs.Draft7Validator, source: object, target: object) -> str:  # noqa: ANN401
    """What the document has that the target refuses: at best a whole range of it, else the document itself."""
    error = _asked(lambda: next(iter(refusing.iter_errors(document))), None)
    if error is None:
        return _told_value(document)
    path, kind = tuple(error.instance_path), error.kind
    if hasattr(kind, "property"):
        return f"{_place(path)} without {_quoted(kind.property)}"
    if hasattr(kind, "unexpected"):
        return f"{_place(path)} with {', '.join(_quoted(each) for each in kind.unexpected[:3])}"
    left = _left(_part(source, path), _part(target, path))
    return _described(path, left) or _told_value(_at(document, path), path)


def _told_value(value: object, path: tuple[str | int, ...] = ()) -> str:
    """A value at a place: itself, or how long it is where it is long."""
    if isinstance(value, str) and len(value) > LONG:
        return f"{_place(path) if path else 'a text'} of {len(value)} characters"
    if isinstance(value, list) and len(json.dumps(value)) > SHOWN:
        return f"{_place(path) if path else 'a list'} of {len(value)} items"
    return f"{_place(path)}: {_quoted(value)}" if path else _quoted(value)


def _at(document: Any, path: tuple[str | int, ...]) -> object:  # noqa: ANN401 - any JSON
    for step in path:
        document = document[step]
    return document


def _part(root: Any, path: tuple[str | int, ...]) -> object:  # noqa: ANN401 - any JSON
    """The schema of a place in the document, complete in itself, as far as it stands there plainly; else None."""
    schema = root
    for step in path:
        schema = pointed(root, schema["$ref"]) if isinstance(schema, dict) and "$ref" in schema else schema
        if not isinstance(schema, dict):
            return None
        inner = schema.get("items" if isinstance(step, int) else "properties")
        schema = inner if isinstance(step, int) else inner.get(step) if isinstance(inner, dict) else None
    beside = root.get("definitions") if isinstance(root, dict) else None
    return schema | {"definitions": beside} if isinstance(schema, dict) and beside else schema


def _place(path: tuple[str | int, ...]) -> str:
    """`"title"`, `"steps"[0]."name"`; the document itself is a document."""
    if not path:
        return "a document"
    text = "".join(f"[{step}]" if isinstance(step, int) else f".{_quoted(step)}" for step in path)
    return text.removeprefix(".")


def _quoted(value: object) -> str:
    text = json.dumps(_shortened(value), ensure_ascii=False)
    return tidy(text if len(text) <= SHOWN else text[:SHOWN] + "…")


def _shortened(value: Any) -> Any:  # noqa: ANN401 - any JSON
    """The value with its long texts cut."""
    if isinstance(value, str):
        return value if len(value) <= LONG else f"{value[: LONG // 3]}… ({len(value)} characters)"
    if isinstance(value, dict):
        return {key: _shortened(item) for key, item in value.items()}
    return [_shortened(item) for item in value] if isinstance(value, list) else value


def _described(path: tuple[str | int, ...], schema: object) -> str | None:
    """A plain schema in words at that place; None for one that has no short name."""
    if not isinstance(schema, dict):
        return None
    kind = str(schema.get("type"))
    values = [schema["const"]] if "const" in schema else schema.get("enum")
    if isinstance(values, list) and len(values) == 1:
        return _told_value(values[0], path)
    if isinstance(values, list):
        told = " or ".join(_told_value(each) for each in values[:5])
        return f"{_place(path)}: {told}" if path else told
    if kind not in RANGES:
        return None
    start, low, high, unit = RANGES[kind]
    return _ranged(_place(path) if path else start, schema, (low, high), unit)


def _ranged(start: str, schema: dict[str, Any], bounds: tuple[str, str], unit: str) -> str | None:
    """`"title" of 81 to 200 characters`; None where there is more to it than a range."""
    least, most = (schema.get(bound) for bound in bounds)
    if set(schema) - {"type", *bounds, "$schema", "definitions"} or (least is None and most is None):
        return None
    if least is not None and least == most:
        return f"{start} of {least}{unit}"
    if most is None:
        return f"{start} of {least}{unit} or more"
    return f"{start} of {'at most' if least is None else f'{least} to'} {most}{unit}"


RANGES = {
    "string": ("a text", "minLength", "maxLength", " characters"),
    "array": ("a list", "minItems", "maxItems", " items"),
    "integer": ("an integer", "minimum", "maximum", ""),
    "number": ("a number", "minimum", "maximum", ""),
}


class _TooMuch(Exception):
    """The schema has more parts than are compared."""


def is_small(schema: object, most: int = MOST_PARTS) -> bool:
    """Whether the prover's work is bounded: it multiplies branches out, which a few lines can make endless."""
    counted = [MOST_PARTS - most]
    try:
        return _cases(schema, schema, (), counted) <= MOST_CASES
    except (_TooMuch, RecursionError):
        return False


def _cases(schema: object, root: object, through: tuple[str, ...], counted: list[int]) -> int:
    """How many cases the schema falls into, with references followed. Raises _TooMuch."""
    counted[0] += 1
    if counted[0] > MOST_PARTS:
        raise _TooMuch
    if isinstance(schema, list):
        return max([_cases(each, root, through, counted) for each in schema], default=1)
    if not isinstance(schema, dict):
        return 1
    reference = schema.get("$ref")
    if isinstance(reference, str):
        return 1 if reference in through else _cases(pointed(root, reference), root, (*through, reference), counted)
    found = inner = 1
    for key, value in schema.items():
        if key in BRANCHES:
            found *= BRANCHES[key]([_cases(each, root, through, counted) for each in _branches(value)])
        elif key in ("properties", "patternProperties", "definitions") and isinstance(value, dict):
            if len(value) > WIDEST:
                raise _TooMuch
            inner = max([inner, *(_cases(each, root, through, counted) for each in value.values())])
        elif key not in ("enum", "const", "default", "examples", "required"):
            inner = max(inner, _cases(value, root, through, counted))
    return min(max(found, 1) * inner, MOST_PARTS)


def _branches(value: object) -> list[Any]:
    return value if isinstance(value, list) else list(value.values()) if isinstance(value, dict) else [value]


def _product(numbers: list[int]) -> int:
    total = 1
    for number in numbers:
        total = min(total * number, MOST_PARTS)
    return total


BRANCHES: dict[str, Callable[[list[int]], int]] = {
    "allOf": _product,
    "anyOf": sum,
    "oneOf": lambda each: sum(each) * len(each),
    "dependencies": lambda each: 2 ** min(len(each), 10) * max(each, default=1),
    **dict.fromkeys(("if", "then", "else", "not", "contains"), lambda each: 1 + max(each, default=1)),
}
"""How keywords multiply cases."""
