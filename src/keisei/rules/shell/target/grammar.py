"""Grammars: how a program reads its words, as the tables write it down.

Options are written as `names=kind`, separated by blanks. Names are separated by commas, the first one is how the
engine calls the option; a name of one letter is short, any other is long. The kind says what follows:

    nothing  a flag                  `=`  a value               `=?`  a value only where it is attached
    `=#`     digits, attached        `==` two values

and then what the value is: `w` a file written, `W` a folder written with all below it, `r` a file read, `n` a network
address.

Only options that matter are listed: those with a value, those that decide what is written, and long names that would
otherwise be taken for an abbreviation of a listed one.
"""

from typing import NamedTuple


class Grammar(NamedTuple):
    """How one program reads its words."""

    options: str = ""
    """Its options, as the module says."""
    shape: str = "read"
    """What its operands are: a name in `shape.SHAPES`."""
    change: str = ""
    """Options, separated by blanks, with which a reader writes its operands in place."""
    still: str = ""
    """Options with which operands are not written after all."""
    skip: int = 0
    """So many operands at the front are no files (the pattern of grep)."""
    given: str = ""
    """Options that stand for the skipped operands (`grep -e`)."""
    default: str = ""
    """The operand that is meant where there is none."""
    tree: str = ""
    """Options with which everything below an operand is meant; `*` for always."""
    suffix: str = ""
    """What the name of an output ends in (compressors)."""
    single: bool = False
    """Long options have one dash (`openssl -out FILE`)."""
    posix: bool = False
    """Options end at the first operand."""
    plain: bool = False
    """`-` is a file of that name, not a stream."""


def same(names: str, grammar: Grammar) -> dict[str, Grammar]:
    """The grammar under each of the names, which are separated by blanks; `_` stands for a blank inside one."""
    return dict.fromkeys(names.split(), grammar)
