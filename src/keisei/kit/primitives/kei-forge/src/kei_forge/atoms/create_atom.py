"""kei-forge::create-atom."""

from kei_forge.context import Context, Data
from keisei.wiring.forge_verb import created
from keisei.wiring.verb_error import coded


def run(given: Data, context: Context) -> Data:
    """The draft, written and looked at. Raises BadDraft, NotAllowed, BrokenFiles, StoreAway."""
    with coded(context.error):
        return created(given)
