"""Names of migrations: `NNNN_name.sql`. Who lints them and who runs them asks here."""

import re
from typing import Final

MIGRATION: Final = re.compile(r"([0-9]{4})_([a-z0-9][a-z0-9_]{0,99})\.sql")
"""The number, and the name, in small letters, digits and `_`."""
