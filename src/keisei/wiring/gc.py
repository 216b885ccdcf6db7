"""Making room: what is left over in a project and may go, each with its reason; nothing that a living runner holds."""

from keisei.wiring.gc_folder import environments, evidence, indexes, pipe_runs, run_folders, sockets
from keisei.wiring.gc_worktree import references, worktrees
from keisei.wiring.leftover import Leftover, Premises


def leftovers(around: Premises) -> list[Leftover]:
    """Everything that may go, worktrees first: their work becomes a reference before they are removed."""
    found: list[Leftover] = []
    for look in (worktrees, references, environments, run_folders, sockets, evidence, pipe_runs, indexes):
        found.extend(look(around))
    return found
