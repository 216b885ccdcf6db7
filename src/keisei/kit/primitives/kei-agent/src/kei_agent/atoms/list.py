"""kei-agent::list."""

from kei_agent.context import Context, Data
from keisei.wiring.agency import open_agency
from keisei.wiring.agent_verb import listed
from keisei.wiring.verb_error import coded


def run(given: Data, context: Context) -> Data:
    """A page of tasks. Raises UnknownTask, NotAllowed for a `before` that is none."""
    with coded(context.error), open_agency() as agency:
        return listed(agency, given)
