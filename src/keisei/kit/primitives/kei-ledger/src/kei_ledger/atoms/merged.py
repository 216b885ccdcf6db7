"""kei-ledger::merged."""

from kei_ledger.context import Context, Data
from keisei.wiring.agency import open_agency
from keisei.wiring.ledger_verb import ended
from keisei.wiring.verb_error import coded


def run(given: Data, context: Context) -> Data:
    """Write how an agent ended. Raises every error that the page declares, and no other."""
    with coded(context.error), open_agency() as agency:
        return ended(agency, "agent_merged", given, context.invocation_id)
