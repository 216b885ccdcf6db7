"""Errors, sorted by who can do something about it.

KeiseiError
  AuthorError         a file needs an edit                     problems: path, line, column, code, hint
  OperatorError       a setting or the machine does            hint
    MissingAtom       no atom has this id                      hint
    MissingProgram    no program answers for a package         hint
  ContractViolation   data at a door has another shape         schema id, JSON paths
  Refused             policy says no                           hint
  IllegalMove         a move that is not allowed               our bug, or a lost race
  WorldFault          git, disk, process, network              retryable

An agent that fails its task is an outcome and a predicate that does not hold is a finding; neither is an error.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from keisei.records.problem import Problem


class KeiseiError(Exception):
    """Anything that keisei says on purpose. Its text names the thing and what was expected; the hint says what next."""

    def __init__(self, message: str, hint: str | None = None) -> None:
        """Keep the sentence and the next step apart, so that a door can set them apart."""
        super().__init__(message)
        self.message = message
        self.hint = hint


class AuthorError(KeiseiError):
    """Authored files need an edit. Carries every problem that was found, not only the first."""

    def __init__(self, problems: Iterable[Problem]) -> None:
        """Keep the problems in the order of the files."""
        self.problems = tuple(problems)
        self.salvaged: object = None
        """What is left of the file without its faulty parts, so that the rest can be checked in the same breath."""
        super().__init__("\n".join(problem.render() for problem in self.problems))


class OperatorError(KeiseiError):
    """A setting, an argument or the machine needs attention."""


class MissingAtom(OperatorError):
    """No atom has this id."""


class MissingProgram(OperatorError):
    """A package's program is not installed."""


class ContractViolation(KeiseiError):
    """Data at a door does not have the published shape."""

    def __init__(self, name: str, complaints: Iterable[str]) -> None:
        """Name the record and every place where the data differs."""
        self.name = name
        self.complaints = tuple(complaints)
        super().__init__(
            f"not a valid {name}: " + "; ".join(self.complaints),
            f"`keisei schema show {name}` prints the schema with examples",
        )


class Refused(KeiseiError):
    """Policy says no."""


class IllegalMove(KeiseiError):
    """A move the state machine does not know."""


class WorldFault(KeiseiError):
    """The world did not do its part: disk, git, process, network."""

    def __init__(self, message: str, hint: str | None = None, *, retryable: bool = False) -> None:
        """Say whether trying again could help."""
        super().__init__(message, hint)
        self.retryable = retryable
