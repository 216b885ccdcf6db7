"""kei-sage::rank."""

from kei_sage.context import Context, Data
from keisei.wiring.sage_verb import ranked
from keisei.wiring.verb_error import coded


def run(given: Data, context: Context) -> Data:
    """Things by how much leads to them. Raises NotAllowed, BrokenFiles, StoreAway."""
    with coded(context.error):
        return ranked(given)
