"""Drafts judged: every field held against what an atom may be, and a request made of those that are sound."""

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, Final, NamedTuple, get_args

import msgspec

from keisei.library.atom_new import LONGEST_TEXT
from keisei.library.atom_request import AtomRequest
from keisei.library.inference import value_fault
from keisei.library.package_place import LONGEST, is_name
from keisei.library.schema_row_draft import schema_in, side_of
from keisei.library.source import LIMIT
from keisei.library.template import one_line
from keisei.records.atom import AtomError, EffectOp, SideEffect
from keisei.records.draft import AtomDraft, FieldProblem
from keisei.rules.atom_effect import READING

LONGEST_MS: Final = 86_400_000
MOST: Final = 100
"""Errors, effects or keywords of one draft."""
NAME: Final = "lower-case letters and digits, words joined by `-`, as in `kei-thing`"
CODE: Final = "write it like `NotFound`: a capital letter, then letters and digits"
EFFECT: Final = (
    f"the op is one of {', '.join(get_args(EffectOp))}; the domain has no spaces, as in `fs` or `kei-task-db`"
)


class Judged(NamedTuple):
    """A draft's fields, looked at one by one."""

    atom: str
    """The id; empty parts where a name is missing."""
    request: AtomRequest | None
    """What is sound of it; None where it has no usable name."""
    problems: tuple[FieldProblem, ...]


def judged(draft: AtomDraft, folder: Path) -> Judged:
    """What is wrong with each field, and what can be planned nevertheless. Never raises."""
    atom = f"{draft.package}::{draft.verb}"
    problems = [*_names(draft), *_texts(draft), *_kind(draft)]
    errors, found = _errors(draft)
    effects, more = _effects(draft)
    schemas, rest = _schemas(draft, atom)
    problems += [*found, *more, *rest]
    if any(each.field in ("package", "verb") for each in problems):
        return Judged(atom, None, tuple(problems))
    own_body, own_code = (text if text is not None and text.strip() else None for text in (draft.body, draft.code))
    request = AtomRequest(
        atom=atom,
        folder=folder,
        kind=draft.kind,
        description=_sound(draft.description) or "",
        language=draft.language or None,
        backend=draft.backend or None,
        input_schema=schemas[0],
        output_schema=schemas[1],
        errors=errors,
        effects=effects,
        idempotent=draft.idempotent,
        timeout_ms=min(max(draft.timeout_ms, 1), LONGEST_MS),
        stability=draft.stability,
        keywords=tuple(filter(None, (one_line(_sound(each) or "") for each in draft.keywords[:MOST]))),
        code=_sound(own_code),
        body=_sound(own_body),
    )
    return Judged(atom, request, tuple(problems))


def _sound(text: str | None) -> str | None:
    """Text that a file can hold; None for any other, which is told."""
    return None if text is None or _text_fault(text) else text


def _text_fault(text: str) -> str | None:
    if "\0" in text:
        return "holds a NUL"
    if len(text) > LIMIT // 4:
        return f"is longer than {LIMIT // 4} characters"
    return "holds half a character" if value_fault(text) else None


def _names(draft: AtomDraft) -> Iterator[FieldProblem]:
    for field, text, what in (("package", draft.package, "a package"), ("verb", draft.verb, "a verb")):
        if not text:
            yield FieldProblem(field=field, message=f"{what} needs a name", hint=NAME)
        elif not is_name(text):
            message = f"`{one_line(text)[:LONGEST]}` cannot be {what}'s name"
            yield FieldProblem(field=field, message=message, hint=NAME)
    if len(draft.package) + len(draft.verb) + 2 > LONGEST:
        yield FieldProblem(field="verb", message=f"an atom's id has at most {LONGEST} characters", hint="shorten it")


def _texts(draft: AtomDraft) -> Iterator[FieldProblem]:
    for field, text in (("description", draft.description), ("code", draft.code), ("body", draft.body)):
        if text is not None and (fault := _text_fault(text)):
            yield FieldProblem(field=field, message=fault)
    described = one_line(draft.description)
    if not described:
        message = "nothing says what it does"
        yield FieldProblem(field="description", message=message, hint="a sentence is enough", severity="warning")
    elif len(described) > LONGEST_TEXT and draft.edits is None:
        message = f"is cut after {LONGEST_TEXT} characters"
        yield FieldProblem(field="description", message=message, hint="say the rest on the page", severity="warning")
    for index, word in enumerate(draft.keywords):
        if index >= MOST or not one_line(word) or _text_fault(word):
            yield FieldProblem(field=f"keywords[{index}]", message="is no word to find it by", hint="leave it out")
    if not 1 <= draft.timeout_ms <= LONGEST_MS:
        yield FieldProblem(field="timeout_ms", message=f"is between 1 and {LONGEST_MS}")


def _kind(draft: AtomDraft) -> Iterator[FieldProblem]:
    effects = draft.effects or ()
    if draft.kind == "transform" and effects:
        yield FieldProblem(field="effects", message="a transform has no effects", hint="choose another kind, or none")
    if draft.kind == "query":
        for index, each in enumerate(effects):
            if each.op in get_args(EffectOp) and each.op not in READING:
                message = f"a query only reads; this effect is `{each.op}`"
                yield FieldProblem(field=f"effects[{index}].op", message=message, hint="choose the kind `command`")


def _errors(draft: AtomDraft) -> tuple[tuple[AtomError, ...], list[FieldProblem]]:
    sound: dict[str, AtomError] = {}
    problems = list(_too_many("errors", draft.errors))
    for index, each in enumerate(draft.errors[:MOST]):
        here = f"errors[{index}]"
        analog = each.http_analog if each.http_analog != "" else None
        data: dict[str, Any] = {"code": each.code, "description": one_line(each.description)}
        number = int(analog) if isinstance(analog, str) and analog.isascii() and analog.isdigit() else analog
        if each.code in sound:
            problems.append(FieldProblem(field=f"{here}.code", message=f"the error `{each.code}` is given twice"))
        elif not _fits(data, AtomError) and not _fits({**data, "description": "x"}, AtomError):
            problems.append(FieldProblem(field=f"{here}.code", message="is no error's code", hint=CODE))
        elif not data["description"] or _text_fault(each.description):
            problems.append(FieldProblem(field=f"{here}.description", message="say what happened and what to do"))
        elif not _fits({**data, "http_analog": number}, AtomError):
            hint = "leave it out, or write a status from 400 to 599"
            problems.append(FieldProblem(field=f"{here}.http_analog", message="is no HTTP status", hint=hint))
        else:
            sound[each.code] = msgspec.convert({**data, "http_analog": number}, AtomError)
    return tuple(sound.values()), problems


def _effects(draft: AtomDraft) -> tuple[tuple[SideEffect, ...] | None, list[FieldProblem]]:
    if draft.effects is None:
        return None, []
    sound: list[SideEffect] = []
    problems = list(_too_many("effects", draft.effects))
    for index, each in enumerate(draft.effects[:MOST]):
        data = {"op": each.op, "domain": each.domain}
        allowed = {"transform": (), "query": tuple(READING)}.get(draft.kind, get_args(EffectOp))
        if not _fits(data, SideEffect):
            wrong = "op" if each.op not in get_args(EffectOp) else "domain"
            problems.append(FieldProblem(field=f"effects[{index}].{wrong}", message="is no effect", hint=EFFECT))
        elif each.op in allowed:
            sound.append(msgspec.convert(data, SideEffect))
    return tuple(dict.fromkeys(sound)), problems


def _schemas(
    draft: AtomDraft, atom: str
) -> tuple[tuple[dict[str, Any] | None, dict[str, Any] | None], list[FieldProblem]]:
    given, found = schema_in(draft.input, side_of(atom, "input"))
    gives, more = schema_in(draft.output, side_of(atom, "output"))
    return (given, gives), [*found, *more]


def _too_many(field: str, given: Iterable[object]) -> Iterator[FieldProblem]:
    if len(tuple(given)) > MOST:
        yield FieldProblem(field=field, message=f"are at most {MOST}")


def _fits(data: object, kind: type) -> bool:
    try:
        msgspec.convert(data, kind)
    except (msgspec.ValidationError, ValueError):
        return False
    return True
