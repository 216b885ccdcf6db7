"""The desk: the project's store and files, and how they are told to the people who work there."""

import json
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import click

from keisei.cli.surroundings import settings
from keisei.records.error import OperatorError, Refused
from keisei.records.problem import printable

if TYPE_CHECKING:
    from datetime import datetime

    from keisei.engine.office import Office
    from keisei.engine.ports import Store
    from keisei.records.attempt import TaskAttempt
    from keisei.records.task import TaskRecord
    from keisei.wiring.store import Home

F = TypeVar("F", bound=Callable[..., Any])
LONGEST = 2000
"""Characters of one value that are shown; all of it is in the JSON."""
REFUSED = 2
"""The exit code of an order that cannot be carried out as things are."""


class Desk(NamedTuple):
    """A project, opened."""

    store: "Store"
    home: "Home"

    def office(self, kit_root: Path | None = None) -> "Office":
        """What makes tasks of this project; its files are read when they are first asked for."""
        from functools import cache

        from keisei.cli.surroundings import open_catalog
        from keisei.engine.office import Office
        from keisei.wiring.fresh import new_id
        from keisei.wiring.registry import CatalogRegistry, defaults_of

        registry = cache(lambda: CatalogRegistry(open_catalog(kit_root)))
        return Office(self.store, registry, defaults_of(self.home), new_id)


@contextmanager
def desk() -> Iterator[Desk]:
    """The store of the project around the working directory, closed afterwards. What is refused meanwhile exits 2."""
    from keisei.wiring.store import open_home_store, project_home

    own = settings()
    home = project_home(own, _here())
    store = open_home_store(own, home)
    with refusing():
        try:
            yield Desk(store, home)
        finally:
            store.close()


@contextmanager
def refusing() -> Iterator[None]:
    """What is refused is told, and exits 2: nobody has made a mistake, it just cannot be done."""
    from keisei.cli.door import say_error

    try:
        yield
    except Refused as error:
        say_error(error)
        raise click.exceptions.Exit(REFUSED) from error


def _here() -> Path:
    try:
        return Path.cwd()
    except FileNotFoundError as error:
        message = "the working directory does not exist any more"
        raise OperatorError(message, "change to a folder that exists") from error


def known_task(store: "Store", given: str) -> "TaskRecord":
    """The task. Raises OperatorError for an id that no task has, and says what else has it."""
    from keisei.records.id import TaskId

    task = store.task(TaskId(given))
    if task is None:
        raise OperatorError(f"no task has the id `{given}`", _owner(store, given) or "`keisei task list` shows all")
    return task


def known_attempt(store: "Store", given: str) -> "TaskAttempt":
    """The attempt. Raises OperatorError for an id that no attempt has, and says what else has it."""
    from keisei.records.id import AttemptId

    attempt = store.attempt(AttemptId(given))
    if attempt is None:
        hint = _owner(store, given) or "`keisei attempt list` shows all"
        raise OperatorError(f"no attempt has the id `{given}`", hint)
    return attempt


def _owner(store: "Store", given: str) -> str | None:
    """What has this id: all of them look alike."""
    from keisei.records.id import AttemptId, TaskId

    attempt = store.attempt(AttemptId(given))
    if attempt is not None:
        return f"that is an attempt of task {attempt.task_id}"
    if store.task(TaskId(given)) is not None:
        return f"that is a task: `keisei attempt list {given}` shows its attempts"
    if any(each.runner_id == given for each in store.runners(gone=True)):
        return "that is a runner: `keisei runner list --all` shows all"
    return None


def actor() -> str:
    """Who gives orders at this terminal, for the ledger: the account, or the attempt that the terminal is inside of."""
    from keisei.wiring.account import actor as account

    return account(settings())


def operator(hint: str = "an operator gives it, outside of every attempt") -> str:
    """The actor of an order that only operators give. Inside an attempt it is refused, told, and exits 2."""
    from keisei.wiring.account import operator as account

    with refusing():
        return account(settings(), hint)


def speaker(given: str | None) -> str:
    """The actor of a row that is written by hand: whoever is named, but an attempt only speaks for itself."""
    from keisei.wiring.account import actor as account

    own = settings()
    return account(own) if given is None or own.attempt_id is not None else given


class Words(click.ParamType[str]):
    """Text that a database can hold: no zero byte, and no byte that was no UTF-8 on the command line."""

    name = "text"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:  # noqa: ANN401 - click's
        """The same text. Fails for anything else."""
        text = str(value)
        if "\0" in text or text.encode("utf-8", "replace").decode("utf-8") != text:
            self.fail("this is not text: a byte of it is zero, or not UTF-8.", param, ctx)
        return text


WORDS = Words()


def reason_option(command: F) -> F:
    """`--reason`, on every order."""
    return click.option("--reason", type=WORDS, default="", help="Why; stands in the events and in the ledger.")(
        command
    )


def limit_option(command: F) -> F:
    """`--limit`, on every list."""
    return click.option(
        "--limit", type=click.IntRange(1, 1000), default=50, show_default=True, help="At most so many."
    )(command)


def stamp(moment: "datetime | None") -> str:
    """A moment for people, in UTC; `-` where there is none."""
    return "-" if moment is None else moment.strftime("%Y-%m-%d %H:%M:%SZ")


def first_line(text: str | None) -> str:
    """The beginning of a text that may be long and is not ours; `-` where there is none."""
    lines = (text or "").strip().splitlines()
    return printable(lines[0]) if lines else "-"


def grid(headers: Sequence[str], rows: Sequence[Sequence[object]]) -> None:
    """Rows for people: ids are never cut, and on a terminal a line ends where the terminal does."""
    cells = [list(headers), *([printable(str(cell)) for cell in row] for row in rows)]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    most = _width()
    for row in cells:
        line = "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        click.echo(line if most is None or len(line) <= most else f"{line[: most - 1]}…")


def _width() -> int | None:
    """Columns of the terminal; None where the output goes elsewhere."""
    if not sys.stdout.isatty():
        return None
    import shutil

    return shutil.get_terminal_size().columns


def fields(data: Mapping[str, object]) -> None:
    """A record for people: one field a line; what is not set is left out, what is long is cut."""
    for name, value in data.items():
        if value is not None:
            click.echo(f"{name}: {_value(value)}")


def _value(value: object) -> str:
    text = printable(value if isinstance(value, str) else json.dumps(value, ensure_ascii=False))
    return text if len(text) <= LONGEST else f"{text[:LONGEST]}… ({len(text)} characters; --json shows all)"
