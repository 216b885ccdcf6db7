"""kei-sage::search."""

from kei_sage.context import Context, Data
from keisei.wiring.sage_verb import searched
from keisei.wiring.verb_error import coded


def run(given: Data, context: Context) -> Data:
    """What the words find. Raises NotAllowed, BrokenFiles, StoreAway."""
    with coded(context.error):
        return searched(given)
