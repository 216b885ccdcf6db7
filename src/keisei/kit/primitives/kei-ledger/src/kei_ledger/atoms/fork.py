"""kei-ledger::fork."""

from kei_ledger.context import Context, Data
from keisei.wiring.agency import open_agency
from keisei.wiring.ledger_verb import forked
from keisei.wiring.verb_error import coded


def run(given: Data, context: Context) -> Data:
    """Write that an agent was forked. Raises every error that the page declares, and no other."""
    with coded(context.error), open_agency() as agency:
        return forked(agency, given, context.invocation_id)
