"""kei-ledger::record-cost."""

from kei_ledger.context import Context, Data
from keisei.wiring.agency import open_agency
from keisei.wiring.ledger_verb import cost
from keisei.wiring.verb_error import coded


def run(given: Data, context: Context) -> Data:
    """Write what an agent has cost. Raises every error that the page declares, and no other."""
    with coded(context.error), open_agency() as agency:
        return cost(agency, given, context.invocation_id)
