"""Drafts that come back from a form: what nobody touched is as it was, though no field of a form could hold it.

A field of one line drops line ends, words with commas between them are split anew, a number comes back as its text.
"""

import json
from typing import Any

from msgspec.structs import replace

from keisei.library.schema_row_draft import schema_in, side_of
from keisei.records.draft import AtomDraft, ErrorDraft, SchemaDraft


def restored(draft: AtomDraft, was: AtomDraft) -> AtomDraft:
    """The draft with every part that a form gives back for an untouched one as it was before. Never raises."""
    errors = {_error(each): each for each in was.errors}
    same_words = _keywords(draft.keywords) == _keywords(was.keywords)
    return replace(
        draft,
        description=was.description if draft.description == _line(was.description) else draft.description,
        errors=tuple(errors.get(_error(each), each) for each in draft.errors),
        keywords=was.keywords if same_words else draft.keywords,
        input=_side(draft.input, was.input, "input"),
        output=_side(draft.output, was.output, "output"),
    )


def _side(draft: SchemaDraft, was: SchemaDraft, field: str) -> SchemaDraft:
    """The same where both make the same schema, or nothing is said."""
    if draft == SchemaDraft():
        return was
    side = side_of("", field)
    now, problems = schema_in(draft, side)
    before, _ = schema_in(was, side)
    return was if now is not None and not problems and _text(now) == _text(before) else draft


def _text(schema: object) -> str:
    """The schema with its order, numbers as a browser writes them."""
    return json.dumps(_plain(schema))


def _plain(value: Any) -> Any:  # noqa: ANN401 - any JSON
    if isinstance(value, dict):
        return {key: _plain(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return list(map(_plain, value))
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _error(error: ErrorDraft) -> tuple[str, str, str]:
    analog = "" if error.http_analog is None else str(error.http_analog)
    return error.code, analog, _line(error.description)


def _keywords(words: tuple[str, ...]) -> list[str]:
    return [word for each in _line(", ".join(words)).split(",") if (word := each.strip())]


def _line(text: str) -> str:
    """Text as a field of one line gives it back."""
    return text.replace("\r", "").replace("\n", "")
