"""Loading: a document as the record of a published name. All problems of a file at once, each with its place."""

from typing import Any, NamedTuple

import msgspec

from keisei.contracts.check import Violation, invariant, violations
from keisei.contracts.dialect import translate
from keisei.contracts.registry import record_type
from keisei.library.document import Document
from keisei.records.error import AuthorError
from keisei.records.problem import Problem

MOST = 200
"""Problems of one file that are told; a file with more is not read by anybody."""


class Loaded(NamedTuple):
    """A record, the document it stands in, and what deserves a warning."""

    record: Any
    document: Document
    warnings: tuple[Problem, ...]


def load(document: Document, name: str, *, data: object = None, prefix: tuple[str | int, ...] = ()) -> Loaded:
    """The record. Raises AuthorError with every problem. `data` and `prefix` name a part of the document."""
    translation = translate(name, document.data if data is None else data)
    document.renamed |= {(*prefix, *new): (*prefix, *old) for new, old in translation.renamed.items()}
    found = violations(name, translation.data)
    if not found:
        try:
            record = msgspec.convert(translation.data, record_type(name))
        except msgspec.ValidationError as error:
            found = [invariant(error)]
        else:
            return Loaded(record, document, _dialect_warning(document, translation.notes, prefix))
    problems = [
        document.problem(each.code, (*prefix, *each.path), _named(each, prefix), each.hint, at=each.at)
        for each in found[:MOST]
    ]
    problems.sort(key=lambda problem: (problem.line or 0, problem.column or 0, problem.message))
    if len(found) > MOST:
        problems.append(document.problem("more", prefix, f"and {len(found) - MOST} more problems in this file"))
    raise AuthorError(problems)


def _named(violation: Violation, prefix: tuple[str | int, ...]) -> str:
    """The message; a part of a document is called by its key and not `document`."""
    if violation.path or not prefix:
        return violation.message
    return violation.message.replace("document must", f"`{prefix[-1]}` must", 1)


def _dialect_warning(document: Document, notes: list[str], prefix: tuple[str | int, ...]) -> tuple[Problem, ...]:
    if not notes:
        return ()
    message = "written in an older dialect: " + ", ".join(dict.fromkeys(notes))
    return (document.problem("dialect", prefix, message, severity="warning"),)
