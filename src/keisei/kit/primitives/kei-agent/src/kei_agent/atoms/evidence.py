"""kei-agent::evidence."""

from kei_agent.context import Context, Data
from keisei.wiring.agency import open_agency
from keisei.wiring.agent_evidence import evidence
from keisei.wiring.verb_error import coded


def run(given: Data, context: Context) -> Data:
    """The files of an attempt, or one of them. Raises UnknownTask, NotAllowed, NoEvidence."""
    with coded(context.error), open_agency() as agency:
        return evidence(agency, given)
