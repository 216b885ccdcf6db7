"""What one simple command starts, as a record: plain data, every part of it may be empty."""

from collections.abc import Callable
from typing import NamedTuple

Words = tuple[str, ...]


class Launch(NamedTuple):
    """What one simple command starts. Every part may be empty."""

    argvs: tuple[Words, ...] = ()
    """Command lines it starts, the program first, as it is written there."""
    scripts: tuple[str, ...] = ()
    """Shell text it hands to a shell."""
    files: tuple[str, ...] = ()
    """Files it runs as shell scripts."""
    reads_script: bool = False
    """It reads a shell program from its standard input."""
    appends_stdin: bool = False
    """It appends words from its standard input to the command lines."""
    code: tuple[tuple[str, str], ...] = ()
    """Programs in other languages: the language and the text."""
    code_files: tuple[tuple[str, str], ...] = ()
    """The same in files: the language and the path; for `npm` the name of the script."""
    reads_code: str | None = None
    """The language of a program it reads from its standard input."""
    chdir: str | None = None
    """Where it goes first."""
    assigns: tuple[tuple[str, str], ...] = ()
    """Variables it sets."""
    transparent: bool = True
    """It only passes on; an allow-list need not name it."""
    remote: bool = False
    """What it starts does not run on this machine's files."""
    opaque: str | None = None
    """A sentence where it starts something that cannot be told."""
    targets: Words = ()
    """Goals of make and just; for npm the script's name and its words, which pnpm also tries as a command line."""


Hand = Callable[[Words], Launch | None]
"""Reads the words of one program."""
