"""`keisei schema`."""

import sys
from pathlib import Path
from typing import Any

import click

from keisei.cli.output import emit_json, json_option, table, write_whole
from keisei.cli.schema_lock import lock, locks, revoke
from keisei.contracts.check import data_of
from keisei.contracts.compare import changes
from keisei.contracts.registry import FORMS, NAMES, known, schema_id
from keisei.contracts.schema import schema
from keisei.contracts.typescript import typescript
from keisei.library.document import Document, parse
from keisei.library.json_schema import canonical_text, read_schema
from keisei.library.load import load
from keisei.library.source import LIMIT, Source, read_source, shown_path
from keisei.records.error import AuthorError, OperatorError, WorldFault

group = click.Group("schema", help="Published schemas: list, show, export, check, diff; locks on your own.")
for _command in (lock, locks, revoke):
    group.add_command(_command)


@group.command("list")
@json_option
def list_(as_json: bool) -> int:
    """Every published record and authored form."""
    rows = [
        (name, "form" if name in FORMS else "record", schema_id(name), schema(name)["description"]) for name in NAMES
    ]
    if as_json:
        emit_json([dict(zip(("name", "kind", "id", "description"), row, strict=True)) for row in rows])
    else:
        table(("name", "kind", "id", "description"), rows)
    return 0


@group.command("show")
@click.argument("name")
@json_option
def show(name: str, as_json: bool) -> int:  # noqa: ARG001 - it is JSON either way
    """The JSON Schema of NAME, with examples."""
    emit_json(schema(name))
    return 0


@group.command("export")
@click.argument("folder", type=click.Path(path_type=Path))
@click.option("--typescript/--no-typescript", default=True, show_default=True, help="Write records.ts too.")
def export(folder: Path, typescript: bool) -> int:
    """Write every schema, and the TypeScript types, into FOLDER."""
    files = {f"{name}.v1.json": canonical_text(schema(name)) for name in NAMES}
    if typescript:
        files["records.ts"] = _types()
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for file, text in files.items():
            write_whole(folder / file, text.encode("utf-8"))
    except OSError as error:
        message = f"cannot write into {folder}: {(error.strerror or str(error)).lower()}"
        raise WorldFault(message, "name a folder that can be written") from error
    click.echo(f"wrote {len(NAMES)} schemas{' and records.ts' if typescript else ''} to {shown_path(folder)}")
    return 0


def _types() -> str:
    return typescript({name: schema(name) for name in NAMES})


@group.command("check")
@click.argument("file", type=click.Path(path_type=Path, allow_dash=True))
@click.option("--as", "name", required=True, help="The record or form, for example task.intent.")
@json_option
def check(file: Path, name: str, as_json: bool) -> int:
    """Validate one FILE (TOML, YAML or JSON; - is JSON on stdin) as a record."""
    short = known(name)
    document = _stdin() if str(file) == "-" else parse(read_source(file))
    try:
        loaded = load(document, short)
    except AuthorError as error:
        if not as_json:
            raise
        emit_json({"ok": False, "name": short, "problems": [data_of(problem) for problem in error.problems]})
        return 1
    for problem in loaded.warnings:
        click.echo(problem.render(), err=True)
    if as_json:
        emit_json({"ok": True, "name": short, "problems": [data_of(problem) for problem in loaded.warnings]})
    else:
        click.echo(f"{document.source.shown} is a valid {short}")
    return 0


def _stdin() -> Document:
    raw = sys.stdin.buffer.read(LIMIT + 1)
    if len(raw) > LIMIT:
        message = f"stdin is larger than {LIMIT // 1024} KiB"
        raise OperatorError(message, "check a smaller document")
    try:
        text = raw.decode("utf-8")
    except UnicodeDecodeError as error:
        message = "stdin is not UTF-8"
        raise OperatorError(message, "pipe JSON in UTF-8") from error
    return Document(Source(Path("-"), "<stdin>", raw, text), "json")


@group.command("diff")
@click.argument("old")
@click.argument("new")
@json_option
def diff(old: str, new: str, as_json: bool) -> int:
    """Tell what changed from OLD to NEW, and whether it breaks anybody.

    OLD and NEW are schema files, names of published schemas, or folders written by `schema export`. Exits 2 where a
    document that was valid is refused now, or where that cannot be decided.
    """
    found = []
    for title, before, after in _pairs(old, new):
        found += [{"schema": title, **each._asdict()} for each in changes(before, after)]
    breaking = any(each["kind"] != "compatible" for each in found)
    if as_json:
        emit_json({"ok": not breaking, "changes": found})
    elif found:
        table(("schema", "kind", "place", "change"), [(e["schema"], e["kind"], e["path"], e["message"]) for e in found])
    else:
        click.echo("no changes")
    return 2 if breaking else 0


def _pairs(old: str, new: str) -> list[tuple[str, dict[str, Any], dict[str, Any]]]:
    if not (Path(old).is_dir() and Path(new).is_dir()):
        return [(Path(new).name, _one(old), _one(new))]
    before = {path.name for path in Path(old).glob("*.json")}
    after = {path.name for path in Path(new).glob("*.json")}
    if before - after:
        message = f"{new} lacks {', '.join(sorted(before - after))}"
        raise OperatorError(message, "a published schema is never removed; add a /v2 beside it")
    return [(name, read_schema(Path(old) / name), read_schema(Path(new) / name)) for name in sorted(before)]


def _one(text: str) -> dict[str, Any]:
    return schema(text) if not Path(text).exists() and text in NAMES else read_schema(Path(text))
