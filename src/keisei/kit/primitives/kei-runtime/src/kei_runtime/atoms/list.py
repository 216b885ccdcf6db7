"""kei-runtime::list."""

from kei_runtime.context import Context, Data
from keisei.wiring.runtime_verb import listed
from keisei.wiring.verb_error import coded


def run(given: Data, context: Context) -> Data:
    """A page of atoms. Raises NotAllowed, BrokenFiles, StoreAway."""
    with coded(context.error):
        return listed(given)
