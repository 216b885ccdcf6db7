"""Fresh ids."""

import uuid_utils


def new_id() -> str:
    """A fresh id; later ones sort after earlier ones."""
    return str(uuid_utils.uuid7())
