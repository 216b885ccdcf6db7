"""kei-forge::infer-schema."""

from kei_forge.context import Context, Data
from keisei.wiring.forge_example import inferred
from keisei.wiring.verb_error import coded


def run(given: Data, context: Context) -> Data:
    """The schema that an example suggests. Raises BadExample."""
    with coded(context.error):
        return inferred(given)
