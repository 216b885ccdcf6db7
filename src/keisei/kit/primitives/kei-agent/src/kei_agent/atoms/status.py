"""kei-agent::status."""

from kei_agent.context import Context, Data
from keisei.wiring.agency import open_agency
from keisei.wiring.agent_verb import status
from keisei.wiring.verb_error import coded


def run(given: Data, context: Context) -> Data:
    """One task. Raises UnknownTask, NotAllowed."""
    with coded(context.error), open_agency() as agency:
        return status(agency, given["task_id"])
