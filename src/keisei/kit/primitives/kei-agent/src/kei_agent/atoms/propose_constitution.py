"""kei-agent::propose-constitution."""

from kei_agent.context import Context, Data
from keisei.wiring.agency import open_agency
from keisei.wiring.agent_constitution import propose_constitution
from keisei.wiring.verb_error import coded


def run(given: Data, context: Context) -> Data:
    """Propose another constitution. Raises every error that the page declares, and no other."""
    with coded(context.error), open_agency() as agency:
        return propose_constitution(agency, given)
