"""A runtime.json, opened: its configuration, its store, and what a verb is handed over."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import click

from keisei.cli.desk import refusing
from keisei.cli.intent import parsed_intents, read_text
from keisei.cli.surroundings import settings, warn
from keisei.records.error import OperatorError

if TYPE_CHECKING:
    from keisei.engine.intake import Defaults
    from keisei.engine.office import Office
    from keisei.engine.ports import Store
    from keisei.wiring.compat import Runtime
    from keisei.wiring.compat_registry import RuntimeRegistry

F = TypeVar("F", bound=Callable[..., Any])
T = TypeVar("T")


def config_option(command: F) -> F:
    """`--config`, on every verb."""
    return click.option(
        "--config",
        type=click.Path(path_type=Path),
        default="config/runtime.json",
        show_default=True,
        help="The runtime.json.",
    )(command)


def data_options(command: F) -> F:
    """`--json` or `--file`, on every verb that takes a record."""
    command = click.option("--file", help="The same, in a file; `-` is standard input.")(command)
    return click.option("--json", "text", help="What is asked for, as JSON.")(command)


class Opened(NamedTuple):
    """A configuration and its store."""

    runtime: "Runtime"
    store: "Store"

    def registry(self) -> "RuntimeRegistry":
        """What the configuration and the files around it define, as they are now."""
        from keisei.wiring.compat_registry import runtime_registry

        return runtime_registry(settings(), self.runtime, self.store)

    def office(self) -> "Office":
        """What makes tasks of this configuration."""
        from keisei.engine.office import Office
        from keisei.wiring.fresh import new_id

        return Office(self.store, self.registry, self.defaults(), new_id)

    def defaults(self) -> "Defaults":
        """What tasks get that say nothing."""
        from keisei.wiring.registry import defaults_of

        return defaults_of(self.runtime.home)


@contextmanager
def opened_runtime(config: Path) -> Iterator[Opened]:
    """The configuration with its store, closed afterwards. What is refused meanwhile exits 2."""
    from keisei.wiring.compat import open_runtime_store

    runtime = read_config(config)
    store = open_runtime_store(settings(), runtime)
    with refusing():
        try:
            yield Opened(runtime, store)
        finally:
            store.close()


def read_config(config: Path) -> "Runtime":
    """The configuration. That it is written in the original's dialect is no news here; `keisei lint` tells it."""
    from keisei.wiring.compat import read_runtime

    try:
        runtime = read_runtime(config)
    except FileNotFoundError as error:  # a relative path, in a folder that is gone
        raise OperatorError("the working directory does not exist any more", "name the file absolutely") from error
    for problem in runtime.config.warnings:
        if problem.code != "dialect":
            warn(problem)
    return runtime


def given(text: str | None, file: str | None, what: str) -> Any:  # noqa: ANN401 - JSON
    """The one record of `--json` or `--file`. Raises OperatorError for neither, both, or another number of records."""
    if (text is None) == (file is None):
        raise OperatorError("give one of --json and --file", f"--json '{{...}}', or --file {what}.json")
    found = parsed_intents(text if text is not None else read_text(file or ""))
    if len(found) != 1:
        raise OperatorError(f"this takes one {what}, not {len(found)}", "call it once for each")
    return _whole_text(found[0])


def given_object(text: str, option: str) -> dict[str, Any]:
    """An object that is given as an option. Raises OperatorError."""
    found = parsed_intents(text)
    if len(found) != 1 or not isinstance(found[0], dict):
        raise OperatorError(f"{option} must be one object", f'{option} \'{{"objective": "..."}}\'')
    return _whole_text(found[0])


def _whole_text(data: T) -> T:
    """The same data. Raises OperatorError for text that nobody can print: half a surrogate pair."""
    import json

    try:
        json.dumps(data, ensure_ascii=False).encode("utf-8")
    except UnicodeEncodeError as error:
        raise OperatorError("this is not text: it has half a surrogate pair", "write it as UTF-8") from error
    return data
