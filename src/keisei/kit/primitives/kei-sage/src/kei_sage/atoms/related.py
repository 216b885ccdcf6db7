"""kei-sage::related."""

from kei_sage.context import Context, Data
from keisei.wiring.sage_verb import kin
from keisei.wiring.verb_error import coded


def run(given: Data, context: Context) -> Data:
    """What is tied to one thing. Raises NotAllowed, UnknownNode, BrokenFiles, StoreAway."""
    with coded(context.error):
        return kin(given)
