"""kei-agent::enqueue."""

from kei_agent.context import Context, Data
from keisei.wiring.agency import open_agency
from keisei.wiring.agent_enqueue import enqueue
from keisei.wiring.verb_error import coded


def run(given: Data, context: Context) -> Data:
    """Queue a task. Raises every error that the page declares, and no other."""
    with coded(context.error), open_agency() as agency:
        return enqueue(agency, given, context.invocation_id)
