"""`keisei atom new`."""

import difflib
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Any, get_args

import click

from keisei.cli.json_input import NotJson, json_of
from keisei.cli.output import emit_json, json_option
from keisei.cli.surroundings import settings
from keisei.records.atom import AtomKind, Backend
from keisei.records.error import MissingAtom, OperatorError

if TYPE_CHECKING:
    from keisei.library.atom_request import AtomRequest
    from keisei.library.placement import NewFile

LARGEST = 16_384
"""Bytes of an example."""


@click.command("new")
@click.argument("atom_id", metavar="ID")
@click.option("--kind", type=click.Choice(get_args(AtomKind)), default="command", help="What it does to the world.")
@click.option("--lang", type=click.Choice(("python", "rust")), help="By default the package's, else python.")
@click.option("--description", default="", help="What it does, in a sentence.")
@click.option("--in", "folder", type=click.Path(path_type=Path), help="A folder of packages; by default the project's.")
@click.option("--input-example", metavar="JSON|@FILE|-", help="An input; its schema follows from it.")
@click.option("--output-example", metavar="JSON|@FILE|-", help="An output, of a stream an item.")
@click.option("--error", "errors", multiple=True, metavar="Code:analog:description", help="A way it fails.")
@click.option("--effect", "effects", multiple=True, metavar="op:domain", help="What it touches.")
@click.option(
    "--backend", type=click.Choice(get_args(Backend)), help="Where a new package keeps its state; else memory."
)
@click.option("--dry-run", is_flag=True, help="Show the files; write nothing.")
@json_option
def command(atom_id: str, folder: Path | None, dry_run: bool, as_json: bool, **asked: Any) -> int:  # noqa: ANN401 - as click hands them over
    """Make the atom ID (package::verb), a new package or a new verb of one, lint-green and test-green at once.

    Everything is written or nothing is, and nothing is ever overwritten.
    """
    from keisei.library.atom_new import plan_atom
    from keisei.wiring.forge_new import write_new

    request = _request(atom_id, folder, asked)
    files = plan_atom(request)
    if not dry_run:
        write_new(settings(), Path.cwd(), request, files)
    if as_json:
        emit_json({"atom": atom_id, "written": not dry_run, "files": [_data(request.folder, each) for each in files]})
    elif dry_run:
        for each in files:
            click.echo(_diff(each), nl=False)
    else:
        _tell(request, files, named=folder is not None)
    return 0


def _request(atom_id: str, folder: Path | None, asked: dict[str, Any]) -> "AtomRequest":
    from keisei.library.atom_request import AtomRequest, checked_effect, checked_error, checked_id

    package, _ = checked_id(atom_id)
    return AtomRequest(
        atom=atom_id,
        folder=(folder if folder is not None else _own_folder(package)).absolute(),
        kind=asked["kind"],
        description=asked["description"],
        language=asked["lang"],
        input_example=_example(asked["input_example"], "input example"),
        output_example=_example(asked["output_example"], "output example"),
        errors=tuple(map(checked_error, asked["errors"])),
        effects=tuple(map(checked_effect, asked["effects"])) if asked["effects"] else None,
        backend=asked["backend"],
    )


def _example(given: str | None, what: str) -> Any:  # noqa: ANN401 - any JSON
    if given is None:
        return None
    from keisei.library.inference import checked_example

    try:
        return checked_example(json_of(given, LARGEST), what)
    except NotJson as error:
        message = f"the {what} cannot be used: {error.message}"
        raise OperatorError(message, """write it like '{"text": "hello"}'""") from error


def _own_folder(package: str) -> Path:
    """The project's packages. Raises OperatorError where there is no project, or the package would hide another one."""
    from keisei.wiring import project_layer
    from keisei.wiring.atoms import open_shelf

    layer = project_layer(Path.cwd())
    if layer is None:
        message = "there is no project here to put an atom into"
        raise OperatorError(message, "run it where keisei.toml stands, or name a folder of packages with --in DIR")
    place = layer.place("package")
    for each in (layer.folder, place):
        if each.is_symlink():
            raise OperatorError(f"`{each}` is a symlink", "name the real folder with --in DIR")
    if not (place / package).exists():
        _check_free(open_shelf(settings()), package)
    return place


def _check_free(shelf: Any, package: str) -> None:  # noqa: ANN401 - a shelf, imported late
    """Raises OperatorError where a package of that name is known: one in the project would hide all of its atoms."""
    try:
        found = shelf.package(package)
    except MissingAtom:
        return
    message = f"package `{package}` is at `{found.folder}`; one in this project would hide all of its atoms"
    raise OperatorError(message, "choose another name, or add to it with --in DIR")


def _data(folder: Path, file: "NewFile") -> dict[str, Any]:
    return {"path": str(folder / file.path), "new": file.was is None, "content": file.content}


def _diff(file: "NewFile") -> str:
    """A unified diff of one file."""
    was = (file.was or "").splitlines(keepends=True)
    now = file.content.splitlines(keepends=True)
    before = f"a/{file.path}" if file.was is not None else "/dev/null"
    return "".join(difflib.unified_diff(was, now, before, f"b/{file.path}"))


def _tell(request: "AtomRequest", files: "list[NewFile]", *, named: bool) -> None:
    from keisei.library.source import shown_path

    for each in files:
        click.echo(f"{'made' if each.was is None else 'changed'} {shown_path(request.folder / each.path)}")
    root = f" --root {quote(shown_path(request.folder))}" if named else ""
    test = f"keisei atom test {request.atom}{root}"
    package = request.folder / files[0].path.partition("/")[0]
    if not any(each.path.endswith(".rs") for each in files):
        click.echo(f"next: edit the page and the function, then `{test}`")
        return
    workspace = request.folder if (request.folder / "Cargo.toml").is_file() else package
    click.echo(f"next: edit the page and the function, then `cargo test` in {shown_path(package)}; it needs serde_json")
    click.echo(f"then: `KEI_RUNTIME_BIN_DIR={quote(shown_path(workspace / 'target' / 'debug'))} {test}`")
