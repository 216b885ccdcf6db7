"""kei-ledger::prove."""

from kei_ledger.context import Context, Data
from keisei.wiring.agency import open_agency
from keisei.wiring.ledger_verb import proved
from keisei.wiring.verb_error import coded


def run(given: Data, context: Context) -> Data:
    """A proof of one row. Raises every error that the page declares, and no other."""
    with coded(context.error), open_agency() as agency:
        return proved(agency, given)
