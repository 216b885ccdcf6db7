"""Calls: one program or verb with its options and operands, ready to be asked."""

from typing import NamedTuple

from keisei.rules.shell.target.grammar import Grammar
from keisei.rules.shell.target.path import literal


class Call(NamedTuple):
    """One program or verb with its words read by its grammar."""

    program: str
    """The program, or the program and its verb."""
    grammar: Grammar
    """What the words are read by."""
    words: tuple[str, ...]
    """Everything after the program, as it is written."""
    items: tuple[tuple[str, str | None], ...]
    """Options and operands in order: (name, value); an operand has no name."""
    operands: tuple[str, ...]
    """What is no option and no option's value."""
    found: dict[str, list[str]]
    """The values of the options that are given, by name."""
    loose: bool
    """Some word may be anything: an option, an operand or several."""

    def has(self, *names: str) -> bool:
        """Whether any of the options is given."""
        return any(name in self.found for name in names)

    def values(self, name: str) -> list[str]:
        """Every value the option is given, in order."""
        return self.found.get(name, [])

    def value(self, name: str) -> str | None:
        """The last value the option is given."""
        return self.found[name][-1] if self.found.get(name) else None

    def any_of(self, names: str) -> bool:
        """Whether any of the options, separated by blanks, is given; `*` always is."""
        return names == "*" or self.has(*names.split())

    @property
    def tree(self) -> bool:
        """Whether everything below an operand is meant."""
        return self.any_of(self.grammar.tree)

    @property
    def files(self) -> tuple[str, ...]:
        """The operands that are files."""
        skipped = 0 if self.any_of(self.grammar.given) else self.grammar.skip
        files = tuple(literal(each) if self.grammar.plain else each for each in self.operands[skipped:])
        return files or ((self.grammar.default,) if self.grammar.default else ())
