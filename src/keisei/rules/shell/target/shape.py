"""Shapes: how operands are read, by the name the tables use, and what a word that may be anything does to them."""

from keisei.rules.shell.target import (
    archive,
    compiler,
    copy,
    find,
    git,
    gpg,
    inplace,
    network,
    plain,
    sed,
    sqlite,
    squeeze,
    transfer,
)
from keisei.rules.shell.target.page import Shape

WRITERS = frozenset(
    ("copy", "move", "link", "install", "rsync", "scp", "write", "make", "first", "last", "dd", "restore", "editor")
)
"""Shapes whose every call writes, so that a word that may be anything may be a place."""

EXACT = frozenset(
    (
        "curl",
        "wget",
        "aria2",
        "http",
        "host",
        "sqlite",
        "cc",
        "ld",
        "as",
        "git_clone",
        "git_apply",
        "split",
        "csplit",
        "crontab",
        "script",
        "objcopy",
    )
)
"""Shapes whose operands are no places, or are told one by one."""

SHAPES: dict[str, Shape] = {
    **plain.SHAPES,
    **copy.SHAPES,
    **transfer.SHAPES,
    **inplace.SHAPES,
    **sed.SHAPES,
    **sqlite.SHAPES,
    **squeeze.SHAPES,
    **archive.SHAPES,
    **compiler.SHAPES,
    **gpg.SHAPES,
    **network.SHAPES,
    **git.SHAPES,
    **find.SHAPES,
}
"""Every shape, by the name the tables use."""
