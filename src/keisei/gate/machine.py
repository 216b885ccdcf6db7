"""The machine: this world, as rules ask for it."""

from typing import Any

from keisei.gate.path import Paths
from keisei.gate.shell import Parser
from keisei.records.effect import UNKNOWN
from keisei.rules.effect import shell_effects
from keisei.rules.shell.ground import TooMuch, Unreadable


class Machine(Paths):
    """The world, as rules ask for it: paths of this machine, and the grammar of bash."""

    def __init__(self, parser: Parser, home: str, variables: dict[str, str] | None = None) -> None:
        """One parser serves many machines: it remembers what it has parsed."""
        super().__init__(home, variables)
        self.parser = parser

    def parse(self, text: str) -> dict[str, Any]:
        """The syntax tree of shell text. Raises Unreadable."""
        return self.parser.parse(text)


def command_lines(text: str, machine: Machine, cwd: str) -> tuple[str, ...]:
    """The simple commands of a check command, as an allow-list has to know them. Empty where it is unreadable."""
    try:
        found = shell_effects(text, machine, cwd)
    except (Unreadable, TooMuch):
        return ()
    return tuple(command.exact for command in found.commands if command.listed and UNKNOWN not in command.exact)
