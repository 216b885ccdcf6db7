"""How far the reading of Python code has come."""

import itertools
from dataclasses import dataclass

from keisei.rules.shell.code.python.value import Choice

STEPS = 12_000
"""After so many steps loops are walked once and functions are not followed: the rest costs no more than its length."""
MOST_STEPS = 40_000
"""After so many steps nothing is computed and no text is evaluated any more."""
DEEP = 12
"""So many calls and evaluations inside each other are followed."""


@dataclass(slots=True)
class State:
    """Steps taken, calls entered, and loops whose rounds are not counted."""

    steps: int = 0
    depth: int = 0
    loose: int = 0

    @property
    def is_spent(self) -> bool:
        """Whether nothing more is followed."""
        return self.steps > STEPS

    @property
    def is_exhausted(self) -> bool:
        """Whether nothing more is computed."""
        return self.steps > MOST_STEPS

    def charge(self, *values: object) -> None:
        """Large values take as many steps as they take time."""
        for value in values:
            if isinstance(value, str | bytes):
                self.steps += len(value) >> 6
            elif isinstance(value, list | tuple | dict):
                parts = [part for part in itertools.islice(value, 8) if isinstance(part, list | tuple | dict)]
                self.steps += (len(value) + sum(map(len, parts))) >> 3
            elif isinstance(value, Choice):
                self.charge(*value.values)
