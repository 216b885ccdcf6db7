"""kei-runtime::invoke."""

from kei_runtime.context import Context, Data
from keisei.wiring.runtime_verb import invoke
from keisei.wiring.verb_error import coded


def run(given: Data, context: Context) -> Data:
    """Call an atom. Raises NotAllowed, UnknownAtom, TooDeep, CallFailed, BrokenFiles, StoreAway."""
    with coded(context.error):
        return invoke(given, int(context.remaining_s() * 1000))
