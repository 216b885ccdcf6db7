"""kei-forge::look."""

from kei_forge.context import Context, Data
from keisei.wiring.forge_verb import looked
from keisei.wiring.verb_error import coded


def run(given: Data, context: Context) -> Data:
    """What the draft would become. Raises BadDraft, NotAllowed, BrokenFiles, StoreAway."""
    with coded(context.error):
        return looked(given)
