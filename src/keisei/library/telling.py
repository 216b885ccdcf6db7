"""Telling: which of a file's problems its author hears, and that none of them hides another."""

from collections.abc import Callable, Iterable, Iterator

from keisei.library.load import MOST, Loaded
from keisei.records.error import AuthorError, KeiseiError
from keisei.records.problem import Problem


def bounded(problems: Iterable[Problem]) -> Iterator[Problem]:
    """The problems of one file, at most 200 errors and 200 warnings. Warnings never crowd out an error."""
    errors = warnings = 0
    for problem in problems:
        if problem.severity == "error":
            errors += 1
            yield problem
        elif warnings < MOST:
            warnings += 1
            yield problem
        if errors == MOST:
            yield Problem(code="more", path=problem.path, message=f"this file has {MOST} problems or more")
            return


CERTAIN = frozenset(
    (
        "bad-agent-id",
        "bad-function",
        "bad-glob",
        "bad-name",
        "bad-pattern",
        "bad-schema",
        "bypass-flag",
        "cycle",
        "dangling",
        "duplicate-error",
        "duplicate-name",
        "effect-spelling",
        "effects",
        "example-mismatch",
        "identity-conflict",
        "long-name",
        "not-keyed",
        "not-spawnable",
        "required-mismatch",
        "schema-draft",
        "secret-in-file",
        "style-mismatch",
        "text-refers",
        "text-too-long",
        "version-mismatch",
    )
)
"""Problems that something is there, and not that something is missing: they hold whatever else was cut out."""


def rest_of(error: AuthorError, check: Callable[[Loaded], Iterable[Problem]]) -> list[Problem]:
    """The problems of a file that does not fit its schema: why it was refused, and what is wrong with the rest."""
    told = list(error.problems)
    if isinstance(error.salvaged, Loaded):
        try:
            told.extend(problem for problem in check(error.salvaged) if problem.code in CERTAIN)
        except KeiseiError:
            return told  # a file it leans on is broken too, and told there
    return told
