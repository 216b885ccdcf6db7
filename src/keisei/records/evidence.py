"""Evidence: what is known of a stored file. Internal: no published schema."""

from msgspec import Struct


class Stored(Struct, frozen=True, kw_only=True):
    """One file that is on the disk for good and never changes."""

    key: str
    """Its name, relative, `/` between parts."""
    sha256: str
    """The digest of its bytes, in hexadecimal."""
    size: int
    """How many bytes."""
