"""kei-sage::facets."""

from kei_sage.context import Context, Data
from keisei.wiring.sage_verb import taxonomy
from keisei.wiring.verb_error import coded


def run(given: Data, context: Context) -> Data:
    """Values of facets, and what has them. Raises NotAllowed, UnknownFacet, BrokenFiles, StoreAway."""
    with coded(context.error):
        return taxonomy(given)
