"""Errors of keisei as errors of an atom: every sentence keisei says on purpose has a code that a page declares."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from keisei.engine.delegate import OutOfRole, OverBudget, TooDeep, TooMany
from keisei.records.error import AuthorError, ContractViolation, KeiseiError, MissingAtom, Refused
from keisei.settings import Settings, read_settings

CODES: tuple[tuple[type[KeiseiError], str], ...] = (
    (OutOfRole, "RoleNotAllowed"),
    (TooDeep, "TooDeep"),
    (TooMany, "RateLimited"),
    (OverBudget, "BudgetExceeded"),
    (Refused, "NotAllowed"),
    (ContractViolation, "BadIntent"),
    (AuthorError, "BrokenFiles"),
    (MissingAtom, "UnknownAtom"),
    (KeiseiError, "StoreAway"),
)
"""The first that fits holds. What nobody can name better is a machine that does not do its part."""


class VerbError(KeiseiError):
    """An error whose code is known where it is made."""

    def __init__(self, code: str, message: str, hint: str | None = None) -> None:
        """The code is PascalCase, and stands on the page of the atom."""
        super().__init__(message, hint)
        self.code = code


@contextmanager
def coded(error: Callable[[str, str], Exception]) -> Iterator[None]:
    """What keisei says on purpose meanwhile is raised as `error(code, message)` makes it."""
    try:
        yield
    except KeiseiError as told:
        code = (
            told.code if isinstance(told, VerbError) else next(code for kind, code in CODES if isinstance(told, kind))
        )
        hint = f" (hint: {told.hint})" if told.hint else ""
        raise error(code, f"{told.message}{hint}") from told


@contextmanager
def as_code(code: str, *kinds: type[KeiseiError]) -> Iterator[None]:
    """What keisei says on purpose meanwhile, of these kinds, has this code."""
    try:
        yield
    except kinds as told:
        raise VerbError(code, told.message, told.hint) from told


def outside_attempts(settings: Settings | None, what: str, hint: str) -> Settings:
    """The settings, those of this process unless given. Raises VerbError with `what` where an attempt asks."""
    own = read_settings() if settings is None else settings
    if own.attempt_id:
        raise VerbError("NotAllowed", f"inside an attempt {what}", hint)
    return own
