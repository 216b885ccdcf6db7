"""kei-forge::undo."""

from kei_forge.context import Context, Data
from keisei.wiring.forge_verb import taken_back
from keisei.wiring.verb_error import coded


def run(given: Data, context: Context) -> Data:
    """Everything as it was. Raises UnknownReceipt, ChangedSince, NotAllowed, BrokenFiles, StoreAway."""
    with coded(context.error):
        return taken_back(given)
