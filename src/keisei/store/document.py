"""Documents: records as JSON in a `record` column, written so that they can be read again."""

from collections.abc import Callable
from typing import TypeVar

import msgspec

from keisei.records.error import ContractViolation, OperatorError
from keisei.store.row import json

T = TypeVar("T")
LARGEST = 2**53 - 1
"""The largest number that every reader of JSON keeps exact."""

_UNREADABLE = (msgspec.MsgspecError, ValueError, TypeError, OverflowError, RecursionError)
"""What decoding raises for text that is no such record."""


def document(kind: str, record: object, decode: Callable[[str], object]) -> str:
    """The record as JSON, mended where text cannot be kept. Raises ContractViolation for one that nobody could read."""
    try:
        written = json(record)
        decode(written)
    except _UNREADABLE as error:
        raise ContractViolation(kind, [_said(error)]) from error
    return written


def opened(written: str | None, decode: Callable[[str], T]) -> tuple[T | None, str | None]:
    """The record, or why it cannot be read."""
    try:
        return decode(written or ""), None
    except _UNREADABLE as error:
        return None, _said(error)


def required(what: str, written: str | None, decode: Callable[[str], T]) -> T:
    """The record. Raises OperatorError where the row holds no such thing: somebody else wrote to the database."""
    try:
        return decode(written or "")
    except _UNREADABLE as error:
        hint = "another version of keisei, or another program, wrote it: restore the row from a backup"
        raise OperatorError(f"the stored {what} cannot be read: {_said(error)}", hint) from error


def number(kind: str, value: int) -> int:
    """A number that a column and every reader of JSON can hold. Raises ContractViolation otherwise."""
    if not 0 <= value <= LARGEST:
        raise ContractViolation(kind, [f"{str(value)[:40]} is not a number from 0 to {LARGEST}"])
    return value


def _said(error: Exception) -> str:
    return str(error).partition("\n")[0][:200] or type(error).__name__
