"""kei-migrate::status."""

from kei_migrate.context import Context, Data
from keisei.wiring.migrate_verb import told
from keisei.wiring.verb_error import coded


def run(given: Data, context: Context) -> Data:
    """How the databases stand. Raises NotAllowed, UnknownPackage, BrokenFiles, StoreAway."""
    with coded(context.error):
        return told(given.get("packages", ()))
