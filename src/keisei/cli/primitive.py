"""The verbs of a package as a program of its own: `kei-task`, `kei-milestone`, and any other.

Options come from each verb's input schema, help from its page. A call goes the way every call goes: validated, with its
ledger row. stdout is the bare result as JSON. The program also answers `run-atom VERB`, as programs of packages do.
"""

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from keisei import __version__
from keisei.cli.desk import refusing
from keisei.cli.invoke import input_of
from keisei.cli.primitive_call import WIDE, called, runtime_of
from keisei.cli.primitive_field import Field, fields_of, given_of, parameters
from keisei.cli.primitive_page import write_page
from keisei.cli.surroundings import kit_root_option, root_option, warn
from keisei.cli.task_graph import graph
from keisei.contracts.words import nearest
from keisei.records.error import MissingAtom

if TYPE_CHECKING:
    from keisei.records.atom_spec import AtomSpec

ALIASES = {
    "kei-task": {
        "dependency-chain": "kei-task::chain",
        "link-milestone": "kei-milestone::link",
        "milestone": "kei-milestone::create",
    },
}
"""The originals' names of verbs."""
EXTRAS: dict[str, dict[str, click.Command]] = {"kei-task": {"graph": graph}}
"""What a program does besides its verbs."""


class Program(click.Group):
    """The verbs of one package; each is made when it is asked for."""

    def __init__(self, package: str) -> None:
        super().__init__(
            package,
            help=f"The verbs of {package}. Each prints its result as JSON; `{package} VERB --help` tells the rest.",
            context_settings={"help_option_names": ["-h", "--help"], "max_content_width": WIDE},
            callback=self._begun,
        )
        self.package = package
        self.aliases = ALIASES.get(package, {})
        for decorate in (_version_option, _database_option, kit_root_option, root_option):
            decorate(self)
        for command in (_run_atom(package), *EXTRAS.get(package, {}).values()):
            self.add_command(command)

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Every verb there is; one whose page is broken is told, and left out."""
        rows, problems = runtime_of(ctx).shelf.rows(package=self.package)
        for problem in problems:
            warn(problem)
        return sorted({*super().list_commands(ctx), *(row.atom.partition("::")[2] for row in rows)})

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The verb, from its page and its schema as they are now. Raises AuthorError where they are broken."""
        own = super().get_command(ctx, cmd_name)
        if own is not None:
            return own
        try:
            spec = runtime_of(ctx).shelf.atom(self.aliases.get(cmd_name, f"{self.package}::{cmd_name}"))
        except MissingAtom:
            return None
        return Verb(cmd_name, spec)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """The verb that was named. Raises UsageError with the nearest one, or where the package is that has none."""
        try:
            return super().resolve_command(ctx, args)
        except click.UsageError as error:
            near = nearest(args[0], [*self.list_commands(ctx), *self.aliases])
            folder = runtime_of(ctx).shelf.package(self.package).folder
            told = near.capitalize() if near else f"The package is at `{folder}`."
            raise click.UsageError(f"{error.message} {told}", ctx) from error

    def _begun(self, db: Path | None, **_: Any) -> None:  # noqa: ANN401 - click's
        if db is not None:
            _choose_database(click.get_current_context(), self.package, db)

    def invoke(self, ctx: click.Context) -> Any:  # noqa: ANN401 - click's
        """Run the verb that was named. What is refused exits 2."""
        with refusing():
            return super().invoke(ctx)


class Verb(click.Command):
    """One verb."""

    def __init__(self, name: str, spec: "AtomSpec") -> None:
        self.spec, self.fields = spec, fields_of(spec.input_schema)
        whole = click.Option(
            ["--input", "whole"], metavar="JSON|@FILE|-", help="The whole input; options beside it win."
        )
        super().__init__(
            name,
            params=[*parameters(self.fields), whole],
            callback=self._called,
            help=spec.summary,
            deprecated=spec.manifest.deprecated or False,
        )

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002 - click's
        """Example, gotchas and errors of the page."""
        write_page(self.spec, formatter)

    def _called(self, whole: str | None, words: tuple[str, ...] = (), **options: Any) -> int:  # noqa: ANN401 - click's
        from keisei.cli.door import complain

        value = value_of(self.fields, whole, given_of(self.fields, words, options))
        ended = called(runtime_of(click.get_current_context()), self.spec.id, value)
        if ended.complaint is not None:
            complain(ended.complaint)
        return ended.exit_code


def value_of(fields: list[Field], whole: str | None, given: dict[str, Any]) -> Any:  # noqa: ANN401 - any JSON
    """The input: what `--input` says, with the options over it. Raises UsageError, OperatorError."""
    if whole is None:
        for field in fields:
            if field.required and field.name not in given:
                place = "give it as an argument, or by" if field.fits_a_place else "give it by"
                raise click.UsageError(f"Missing {field.name.upper()}: {place} {field.option}.")
        return given
    value = input_of(whole)
    if given and not isinstance(value, dict):
        raise click.UsageError("Options go with an --input that is an object.")
    return value | given if given else value


def _run_atom(package: str) -> click.Command:
    """The protocol of programs: JSON on stdin, JSON on stdout, `Code: message` on stderr."""

    @click.command("run-atom")
    @click.argument("verb")
    @click.option("--input", "whole", default="-", metavar="JSON|@FILE|-", help="The input; by default stdin.")
    @click.pass_context
    def run_atom(ctx: click.Context, verb: str, whole: str) -> int:
        """Answer as programs of packages do: JSON in, JSON out; exit 2 for an atom error, 1 for IO."""
        from keisei.records.problem import tidy

        ended = called(runtime_of(ctx), f"{package}::{verb}", input_of(whole))
        if ended.complaint is not None:
            click.echo(tidy(ended.complaint), err=True)
        return ended.exit_code

    return run_atom


def _version_option(command: click.Command) -> click.Command:
    return click.version_option(__version__, "-V", "--version", message="%(prog)s %(version)s")(command)


def _database_option(command: click.Command) -> click.Command:
    path = click.Path(path_type=Path, dir_okay=False)
    return click.option("--db", type=path, help="Another database than the usual one.")(command)


def _choose_database(ctx: click.Context, package: str, path: Path) -> None:
    """Name the database the way everybody names it, by the package's variable, as long as this command runs."""
    name = runtime_of(ctx).shelf.package(package).metadata.db_env
    if name is None:
        raise click.UsageError("This package has no database.")
    before = os.environ.get(name)
    os.environ[name] = str(path.absolute())
    ctx.call_on_close(lambda: os.environ.pop(name, None) if before is None else os.environ.update({name: before}))


def program(package: str) -> click.Group:
    """The program of a package. Nothing of the package is looked at before it runs."""
    return Program(package)


kei_task = program("kei-task")
kei_milestone = program("kei-milestone")
