"""Surroundings: the catalog a command works with, and the options that choose it."""

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from keisei.settings import Settings, read_settings

if TYPE_CHECKING:
    from keisei.library.catalog import Catalog
    from keisei.records.problem import Problem

F = TypeVar("F", bound=Callable[..., Any])


def kit_root_option(command: F) -> F:
    """`--kit-root`, on every command that reads authored files."""
    return click.option(
        "--kit-root",
        type=click.Path(path_type=Path),
        help="A kit root that overlays the shipped kit (KEI_KIT_ROOT).",
    )(command)


def root_option(command: F) -> F:
    """`--root`, on every command that calls atoms."""
    return click.option(
        "--root",
        "roots",
        multiple=True,
        type=click.Path(path_type=Path),
        help="A folder of packages to look in, and nowhere else; may be given again.",
    )(command)


def settings() -> Settings:
    """The settings of this process."""
    return read_settings()


def open_catalog(kit_root: Path | None, *, quiet: bool = False) -> "Catalog":
    """The catalog of the working directory. Old names are told on stderr, unless `quiet`: lint tells them in place."""
    from keisei.wiring import catalog

    return catalog(settings(), kit_root=kit_root, warn=None if quiet else say)


def say(sentence: str) -> None:
    """A warning, on stderr."""
    click.echo(f"warning: {sentence}", err=True)


def warn(problem: "Problem") -> None:
    """A warning about a file, on stderr."""
    click.echo(problem.render(), err=True)
