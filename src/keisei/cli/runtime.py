"""`kei-runtime`: the originals' program for atoms. Its verbs are ours under other names."""

import click

from keisei import __version__
from keisei.cli.lazy import LazyGroup

TABLE = {
    "invoke": ("keisei.cli.invoke:command", "Call one atom; its result as JSON."),
    "pipe": ("keisei.cli.pipe:group", "Run a pipe; plan, resume and show it."),
    "list-atoms": ("keisei.cli.atom_list_command:command", "Every atom there is, by id."),
    "lint": ("keisei.cli.schema_lint:command", "Check pages, schemas and packages."),
}

program = LazyGroup(
    "kei-runtime",
    table=TABLE,
    help="Call atoms, compose them, list them, check them.",
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
click.version_option(__version__, "-V", "--version", message="%(prog)s %(version)s")(program)
