"""Groups whose help needs no import and whose commands are imported one at a time."""

from collections.abc import Mapping, Sequence
from importlib import import_module
from typing import Any

import click

Table = Mapping[str, tuple[str, str]]
"""By name: where the command stands, `module:attribute`, and what it is for."""


class LazyGroup(click.Group):
    """A group by a table."""

    def __init__(
        self,
        name: str | None = None,
        *,
        table: Table,
        sections: Mapping[str, Sequence[str]] | None = None,
        **options: Any,  # noqa: ANN401 - click's own
    ) -> None:
        """`sections` puts the commands under what they are for; without it they stand in one list."""
        super().__init__(name, **options)
        self._table = table
        self._sections = sections or {"Commands": list(table)}

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Every command's name."""
        return sorted({*super().list_commands(ctx), *self._table})

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The command, imported now."""
        if cmd_name not in self._table:
            return super().get_command(ctx, cmd_name)
        module, attribute = self._table[cmd_name][0].split(":")
        found: click.Command = getattr(import_module(module), attribute)
        return found

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """The commands by what they are for, from the table and not from the modules."""
        widest = max(map(len, self.list_commands(ctx)))
        for section, names in self._sections.items():
            with formatter.section(section):
                formatter.write_dl([(name.ljust(widest), self._table[name][1]) for name in names])
