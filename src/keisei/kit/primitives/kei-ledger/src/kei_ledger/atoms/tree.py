"""kei-ledger::tree."""

from kei_ledger.context import Context, Data
from keisei.wiring.agency import open_agency
from keisei.wiring.ledger_verb import drawn
from keisei.wiring.verb_error import coded


def run(given: Data, context: Context) -> Data:
    """Who was forked from whom. Raises every error that the page declares, and no other."""
    with coded(context.error), open_agency() as agency:
        return drawn(agency, given)
