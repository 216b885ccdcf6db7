"""kei-agent::wait."""

from collections.abc import Iterator

from kei_agent.context import Context, Data
from keisei.wiring.agency import open_agency
from keisei.wiring.agent_verb import changes
from keisei.wiring.verb_error import coded

PATIENCE_S, SPARE_S = 600.0, 2.0
"""How long it waits unless it is told, and what it leaves of its own time to end in."""


def run(given: Data, context: Context) -> Iterator[Data]:
    """Every change of a task. Raises UnknownTask, NotAllowed."""
    wait_s = min(float(given.get("timeout_s", PATIENCE_S)), context.remaining_s() - SPARE_S)
    with coded(context.error), open_agency() as agency:
        yield from changes(agency, given["task_id"], wait_s)
