"""kei-runtime::plan."""

from kei_runtime.context import Context, Data
from keisei.wiring.runtime_verb import planned_data
from keisei.wiring.verb_error import coded


def run(given: Data, context: Context) -> Data:
    """The plan of a pipe. Raises NotAllowed, BadPipe, BrokenFiles, StoreAway."""
    with coded(context.error):
        return planned_data(given)
