"""kei-runtime::describe."""

from kei_runtime.context import Context, Data
from keisei.wiring.runtime_verb import described
from keisei.wiring.verb_error import coded


def run(given: Data, context: Context) -> Data:
    """One atom. Raises NotAllowed, UnknownAtom, BrokenFiles, StoreAway."""
    with coded(context.error):
        return described(given)
