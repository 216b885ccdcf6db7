"""Variables: what a shell's variables can hold. Values only gather: every value ever given counts."""

from typing import Final

from keisei.records.effect import UNKNOWN
from keisei.rules.shell.atom import LONGEST, MOST, Fields

BLANKS: Final = " \t\n"


class Variables:
    """What the shell's variables can hold. Values only gather: every value ever given counts."""

    def __init__(self, known: dict[str, str]) -> None:
        """`known` are variables of the surroundings whose value is certain."""
        self.known = known
        self.values: dict[str, dict[str, None]] = {}
        self.arrays: dict[str, dict[Fields, None]] = {}
        self.positional: dict[Fields, None] = {}
        self.shifted = False
        self.foreign_arguments = False
        """Whether positional parameters come from outside the text."""

    def assign(self, name: str, value: str, *, append: bool = False) -> None:
        """One more value for a variable."""
        held = self.values.setdefault(name, {})
        news = [old + value for old in (*held, "")] if append else [value]
        if UNKNOWN in held and len(held) == 1 and append:
            return
        for each in news:
            if len(held) < MOST and len(each) <= LONGEST:
                held[each] = None
            elif each not in held:
                held.clear()
                held[UNKNOWN] = None
                return

    def assign_array(self, name: str, elements: Fields, *, append: bool = False) -> None:
        """One more row of elements for an array; appended to every row there is."""
        rows = self.arrays.setdefault(name, {})
        news = [row + elements for row in (*rows, ())] if append else [elements]
        for row in news:
            if len(rows) < MOST and len(row) <= LONGEST:
                rows[row] = None
            elif row not in rows:
                rows.clear()
                rows[(UNKNOWN,)] = None
                return

    def call(self, arguments: Fields) -> None:
        """One more row of positional parameters."""
        if len(self.positional) < MOST:
            self.positional[arguments] = None

    def scalar(self, name: str) -> tuple[str, ...]:
        """Every value a variable can have."""
        if name.isdigit() and name != "0":
            return self._argument(int(name))
        if name in self.values:
            return tuple(self.values[name])
        if name in self.arrays:
            return tuple(dict.fromkeys(row[0] if row else "" for row in self.arrays[name]))
        return (self.known.get(name, UNKNOWN),)

    def rows(self, name: str) -> tuple[Fields, ...]:
        """Every row of fields `$@`, or an array, can have."""
        if name in "@*":
            rows = tuple(self.positional) or ((UNKNOWN,) if self.foreign_arguments else (),)
            return tuple(row[start:] for row in rows for start in range(len(row) + 1)) if self.shifted else rows
        if name in self.arrays:
            return tuple(self.arrays[name])
        return tuple((value,) for value in self.scalar(name))

    def separators(self) -> tuple[str, ...]:
        """What may separate fields."""
        return tuple(dict.fromkeys((BLANKS, *self.values.get("IFS", ()))))

    def _argument(self, number: int) -> tuple[str, ...]:
        found = dict.fromkeys(
            row[index]
            for row in self.positional
            for index in (range(number - 1, len(row)) if self.shifted else (number - 1,))
            if index < len(row)
        )
        return tuple(found) or ((UNKNOWN,) if self.foreign_arguments or self.positional else ("",))
