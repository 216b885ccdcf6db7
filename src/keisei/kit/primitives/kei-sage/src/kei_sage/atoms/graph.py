"""kei-sage::graph."""

from kei_sage.context import Context, Data
from keisei.wiring.sage_verb import drawing
from keisei.wiring.verb_error import coded


def run(given: Data, context: Context) -> Data:
    """A drawing around one thing. Raises NotAllowed, UnknownNode, TooLarge, BrokenFiles, StoreAway."""
    with coded(context.error):
        return drawing(given)
