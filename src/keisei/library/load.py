"""Loading: a document as the record of a published name. All problems of a file at once, each with its place."""

from copy import deepcopy
from typing import Any, NamedTuple

import msgspec

from keisei.contracts.check import Violation, convert, tried, violations
from keisei.contracts.dialect import translate
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
    record, found = tried(name, translation.data)
    if not found:
        return Loaded(record, document, _dialect_warning(document, translation.notes, prefix))
    problems = [
        document.problem(each.code, (*prefix, *each.path), _named(each, prefix), each.hint, at=each.at)
        for each in found[:MOST]
    ]
    problems.sort(key=lambda problem: (problem.line or 0, problem.column or 0, problem.message))
    if len(found) > MOST:
        problems.append(document.problem("more", prefix, f"and {len(found) - MOST} more problems in this file"))
    refusal = AuthorError(problems)
    refusal.salvaged = _salvaged(document, name, translation.data, found, prefix)
    raise refusal


def _salvaged(
    document: Document, name: str, data: object, found: list[Violation], prefix: tuple[str | int, ...]
) -> Loaded | None:
    """The record without its faulty parts, or None where nothing is left that is a record."""
    rest = deepcopy(data)
    faulty: dict[tuple[str | int, ...], set[str | int]] = {}
    for each in found:
        if each.path and each.code != "missing-key":
            faulty.setdefault(each.path[:-1], set()).add(each.path[-1])
    for path in sorted(faulty, key=len, reverse=True):
        _cut_out(rest, path, faulty[path], document, prefix)
    if not faulty or violations(name, rest):
        return None
    try:
        return Loaded(convert(name, rest), document, ())
    except msgspec.ValidationError:
        return None


def _cut_out(
    data: Any,  # noqa: ANN401 - any JSON
    path: tuple[str | int, ...],
    steps: set[str | int],
    document: Document,
    prefix: tuple[str | int, ...],
) -> None:
    """Take members out of one table or list. What moves up in a list is still found where it was written."""
    for step in path:
        data = data[step]
    if isinstance(data, dict):
        for step in steps:
            data.pop(step, None)
    elif isinstance(data, list):
        kept = [index for index in range(len(data)) if index not in steps]
        document.renamed |= {(*prefix, *path, new): (*prefix, *path, old) for new, old in enumerate(kept) if new != old}
        data[:] = [data[index] for index in kept]


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
