"""kei-time::now."""

from datetime import UTC, datetime

from kei_time.context import Context, Data
from kei_time.moment import told
from kei_time.zone import zone_of


def run(given: Data, context: Context) -> Data:
    """This moment in a zone. Raises UnknownZone."""
    return told(context, datetime.now(UTC), zone_of(context, given.get("zone", "UTC")))
