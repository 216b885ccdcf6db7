"""Tables: the grammars of common programs. Data only; `grammar` says how they are written."""

from keisei.rules.shell.target.grammar import Grammar
from keisei.rules.shell.target.table.archive import ARCHIVERS
from keisei.rules.shell.target.table.builder import BUILDERS
from keisei.rules.shell.target.table.coreutils import COREUTILS
from keisei.rules.shell.target.table.editor import EDITORS
from keisei.rules.shell.target.table.formatter import FORMATTERS
from keisei.rules.shell.target.table.git import GIT
from keisei.rules.shell.target.table.network import NETWORK
from keisei.rules.shell.target.table.reader import READERS
from keisei.rules.shell.target.table.system import SYSTEM


def _keyed(table: dict[str, Grammar]) -> dict[str, Grammar]:
    """Names of `same` cannot hold blanks: `git_diff-tree` is the verb `diff-tree` of git."""
    return {name.replace("_", " "): grammar for name, grammar in table.items()}


GRAMMARS: dict[str, Grammar] = {
    name: grammar
    for table in (COREUTILS, SYSTEM, ARCHIVERS, EDITORS, FORMATTERS, BUILDERS, NETWORK, GIT, READERS)
    for name, grammar in _keyed(table).items()
}
"""By program, or by program and verb."""
