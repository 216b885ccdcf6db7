"""kei-sage::lineage."""

from kei_sage.context import Context, Data
from keisei.wiring.sage_verb import family
from keisei.wiring.verb_error import coded


def run(given: Data, context: Context) -> Data:
    """The family of one thing. Raises NotAllowed, UnknownNode, BrokenFiles, StoreAway."""
    with coded(context.error):
        return family(given)
