"""Spots: the paths a command touches, as they are written, and everything one command touches."""

from typing import NamedTuple


class Spot(NamedTuple):
    """One path a command touches, as it is written."""

    path: str
    """May hold UNKNOWN, and glob characters as the shell would see them."""
    entry: bool = False
    """The directory entry itself is meant: a symbolic link at its end is not followed."""
    names: tuple[str, ...] = ()
    """Where the path is a folder, these names inside it are meant."""
    tree: bool = False
    """Everything below it is meant too."""
    folder: bool = False
    """Only a folder is made."""


class Touch(NamedTuple):
    """Everything one command touches by its own grammar; redirections are the caller's."""

    writes: tuple[Spot, ...] = ()
    """What it writes or creates."""
    deletes: tuple[Spot, ...] = ()
    """What it removes or moves away."""
    reads: tuple[Spot, ...] = ()
    """What it reads, as far as its operands say so."""
    links: tuple[tuple[str, str, bool], ...] = ()
    """Target text, link name, whether symbolic. Where the name is a folder the link stands in it, as `writes` says."""
    network: tuple[str, ...] = ()
    """Addresses it reaches out to; the program's name where no address is written."""


FILE = Spot("")
"""The flags of a file."""

TREE = Spot("", tree=True)
"""The flags of a path with everything below it."""

FOLDER = Spot("", folder=True)
"""The flags of a folder that is made."""
