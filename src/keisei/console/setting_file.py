"""keisei.toml as rows: what it says and on which line, and the defaults of what it does not say."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final, Literal, get_args, get_type_hints

import msgspec
from msgspec import Struct

from keisei.library.document import Document
from keisei.library.project import load_project
from keisei.records.project import ProjectFile
from keisei.rules.redact import MARK, Redactor

LONGEST: Final = 500
"""Characters of a value that are told."""
ADDRESS: Final = "url"
"""Where a channel sends to."""
WEB: Final = re.compile(r"(?P<kind>https?://)(?:[^/@?#]*@)?(?P<site>[\w.-]+(?::\d{1,5})?)(?=[/?#]|$)")
KIND: Final = re.compile(r"[a-z][a-z0-9]{0,20}://")
HIDDEN: Final = ("adapters",)
"""Tables that have a page of their own."""


class SettingRow(Struct, frozen=True, kw_only=True):
    """One key of keisei.toml."""

    table: str
    """The table it stands in."""
    key: str
    """Its name there."""
    value: str
    """What holds, as JSON; secrets are taken out. Empty where nothing does."""
    default: str
    """What holds where the file does not say, as JSON; empty where nothing does."""
    origin: Literal["file", "default"]
    """Where the value comes from."""
    line: int | None
    """The line of the file that says it."""


def file_rows(path: Path | None) -> tuple[tuple[SettingRow, ...], ProjectFile]:
    """Every key with its value, and the file as it is now. Raises AuthorError."""
    if path is None:
        return tuple(_rows(ProjectFile(), None)), ProjectFile()
    loaded = load_project(path)
    return tuple(_rows(loaded.record, loaded.document)), loaded.record


def _rows(file: ProjectFile, document: Document | None) -> Iterator[SettingRow]:
    for name, hint in get_type_hints(ProjectFile).items():
        value = getattr(file, name, None)
        if name in HIDDEN or name.isupper():
            continue
        if isinstance(value, dict):
            for key, each in value.items():
                yield from _table(f"{name}.{key}", (name, key), each, type(each), document)
            continue
        kind = next((each for each in get_args(hint) if isinstance(each, type) and issubclass(each, Struct)), None)
        if kind is not None:
            yield from _table(name, (name,), value, kind, document)


def _table(
    title: str, place: tuple[str, ...], value: Struct | None, kind: type[Struct], document: Document | None
) -> Iterator[SettingRow]:
    for field in msgspec.structs.fields(kind):
        usual = None if field.required else _default(field)
        said = document is not None and _says(document, (*place, field.encode_name))
        yield SettingRow(
            table=title,
            key=field.encode_name,
            value=_told(field.encode_name, usual if value is None else getattr(value, field.name)),
            default=_told(field.encode_name, usual),
            origin="file" if said else "default",
            line=document.position((*place, field.encode_name), "key").line if document is not None and said else None,
        )


def _default(field: msgspec.structs.FieldInfo) -> Any:  # noqa: ANN401 - any JSON
    if field.default is not msgspec.NODEFAULT:
        return field.default
    return field.default_factory() if callable(field.default_factory) else None


def _says(document: Document, place: tuple[str, ...]) -> bool:
    data: Any = document.data
    for step in place:
        if not isinstance(data, dict) or step not in data:
            return False
        data = data[step]
    return True


def _told(key: str, value: Any) -> str:  # noqa: ANN401 - any JSON
    data = msgspec.to_builtins(value)
    if data is None or data in ({}, [], ()):
        return ""
    if key == ADDRESS and isinstance(data, str):
        data = _address(data)
    told = Redactor().redact({key: data})
    text = msgspec.json.encode(next(iter(told.values()), MARK)).decode()
    return text if len(text) <= LONGEST else f"{text[:LONGEST]}…"


def _address(url: str) -> str:
    """Where a channel sends to, as far as it is no secret: path and query hold tokens, for apprise the host too."""
    found = WEB.match(url)
    if found is not None:
        return f"{found['kind']}{found['site']}/{MARK}"
    return f"{url.partition('://')[0]}://{MARK}" if KIND.match(url) else MARK
