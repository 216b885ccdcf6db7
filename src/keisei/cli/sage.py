"""`keisei sage` and `kei-sage`: what is authored, found, ranked, related and drawn."""

import click

from keisei import __version__
from keisei.cli.lazy import LazyGroup

TABLE = {
    "search": ("keisei.cli.sage_search:command", "What fits a text, the best first."),
    "related": ("keisei.cli.sage_graph:related", "What a thing leads to, and what leads to it."),
    "rank-atoms": ("keisei.cli.sage_graph:rank_atoms", "Atoms by how much leads to them."),
    "graph": ("keisei.cli.sage_graph:graph", "A picture of what stands around a thing."),
    "facet-query": ("keisei.cli.sage_family:facet_query", "By taxonomy."),
    "lineage": ("keisei.cli.sage_family:lineage", "What a thing was made from, and what from it."),
    "author": ("keisei.cli.sage_family:author", "By who made it."),
    "index": ("keisei.cli.sage_index:index", "Where the index is, and what it holds."),
    "watch": ("keisei.cli.sage_index:watch", "Follow changes, and tell each."),
}
HELP = """Find, rank, relate and draw what is authored.

Atoms, capabilities, roles, skills, workflows, task types and rules of all layers are kept in an index that follows
their files. It may be deleted at any time.
"""

group = LazyGroup("sage", table=TABLE, help=HELP)
program = LazyGroup(
    "kei-sage",
    table=TABLE,
    help=HELP,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
click.version_option(__version__, "-V", "--version", message="%(prog)s %(version)s")(program)
