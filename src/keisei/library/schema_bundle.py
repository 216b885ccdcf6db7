"""Schemas made whole: every file a schema refers to is put into its own `definitions`, so that it needs no other file.

References stay inside the schema's folder or an ancestor's `_schemas/fragments/`; nothing is ever fetched, and nothing
is left in it that a validator would fetch. An `$id` is overridden: files are found where they stand. Circles of
references stay circles.
"""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple, NoReturn
from urllib.parse import unquote

from keisei.contracts.pointer import Pointer, at, fragment, steps
from keisei.library.document import Document, parse
from keisei.library.json_schema import DRAFTS
from keisei.library.schema_branch import refuse_many_branches, subschemas
from keisei.library.source import Source, read_source
from keisei.records.error import AuthorError

MOST_FILES = 64


class _File(NamedTuple):
    """One file of the bundle."""

    document: Document
    schema: Any
    """Its data, whose references are rewritten one by one."""
    prefix: Pointer
    """Where it stands in the bundle."""
    anchors: dict[str, Pointer]


def bundled(path: Path, read: Callable[[Path], Source] = read_source) -> dict[str, Any]:
    """The schema with everything it refers to. Raises AuthorError that names the reference which does not work.

    `path` is the file itself, every symlink followed.
    """
    return _Bundle(path, read).whole()


class _Bundle:
    def __init__(self, path: Path, read: Callable[[Path], Source]) -> None:
        self.read = read
        self.path = path
        self.roots = (path.parent, *(each / "_schemas" / "fragments" for each in path.parent.parents))
        self.files: dict[Path, _File] = {}
        self.done: set[int] = set()
        self.waiting: list[tuple[_File, Pointer, Any]] = []
        """What references lead to; followed one after the other, because a chain of them may be long."""
        self.names: set[str] = set()
        self.refers = False

    def whole(self) -> dict[str, Any]:
        root = self._file(self.path, ())
        schema = root.schema
        if not isinstance(schema, dict):
            raise AuthorError([root.document.problem("bad-schema", (), "a schema is an object")])
        own = schema.get("definitions", {})
        self.names = set(own) if isinstance(own, dict) else set()
        while self.waiting:
            self._rewrite(*self.waiting.pop())
        others = [file for file in self.files.values() if file is not root]
        if others:
            if not isinstance(own, dict):
                raise AuthorError([root.document.problem("bad-schema", ("definitions",), "must be a table")])
            schema["definitions"] = own | {str(file.prefix[-1]): file.schema for file in others}
        if self.refers:
            refuse_many_branches(root.document, schema)
        return schema

    def _file(self, path: Path, prefix: Pointer) -> _File:
        document = parse(self.read(path))
        schema = document.data
        if isinstance(schema, dict):
            _check_draft(document)
            schema.pop("$id", None)
        anchors = dict(_anchors(schema, ())) if "$" in document.text.replace("$ref", "").replace("$schema", "") else {}
        file = _File(document, schema, prefix, anchors)
        self.files[path] = file
        self.waiting.append((file, (), schema))
        return file

    def _rewrite(self, file: _File, place: Pointer, node: object) -> None:
        """Lead every reference at or below a node to its place in the bundle."""
        if not isinstance(node, dict) or id(node) in self.done:
            return
        self.done.add(id(node))
        node.pop("$id", None)
        if place or file.prefix:
            node.pop("$schema", None)
        if "$ref" in node:
            node["$ref"] = self._led(file, (*place, "$ref"), node["$ref"])
        for step, child in subschemas(node):
            self._rewrite(file, (*place, *step), child)

    def _led(self, file: _File, place: Pointer, reference: object) -> str:
        """Where a reference leads in the bundle; what it leads to is rewritten too."""
        if not isinstance(reference, str):
            _refuse(file, place, "`$ref` must be text")
        self.refers = True
        name, _, anchor = reference.partition("#")
        target = self._named(file, place, unquote(name)) if name else file
        pointer: Pointer | None = steps(anchor)
        if pointer is None:
            pointer = target.anchors.get(unquote(anchor))
        node: Any = target.schema
        if pointer is not None:
            node = at(node, pointer)
        if pointer is None or not isinstance(node, dict | bool):
            _refuse(file, place, f"`{reference}` leads to no schema")
        self.waiting.append((target, pointer, node))
        return "#" + fragment((*target.prefix, *pointer))

    def _named(self, file: _File, place: Pointer, name: str) -> _File:
        """The file of a reference. Raises AuthorError for one outside, one that cannot be read, one too many."""
        if ":" in name.partition("/")[0] or name.startswith("//") or "?" in name or "\0" in name:
            _refuse(file, place, f"`{name}` is not a file beside the schema; nothing is fetched")
        try:
            path = (file.document.source.path.parent / name).resolve()
        except (OSError, RuntimeError) as error:
            _refuse(file, place, f"`{name}` cannot be found: {error}")
        if not any(path.is_relative_to(root) for root in self.roots):
            _refuse(file, place, f"`{name}` is outside the schema's folder")
        if path in self.files:
            return self.files[path]
        if len(self.files) >= MOST_FILES:
            _refuse(file, place, f"it refers to more than {MOST_FILES} files")
        try:
            return self._file(path, ("definitions", self._fresh(path.stem)))
        except AuthorError as error:
            if error.problems and error.problems[0].code == "unreadable":
                _refuse(file, place, f"`{name}` {error.problems[0].message}")
            raise

    def _fresh(self, stem: str) -> str:
        name, number = stem, 1
        while name in self.names:
            number += 1
            name = f"{stem}-{number}"
        self.names.add(name)
        return name


def _check_draft(document: Document) -> None:
    """Refuse a dialect that is not ours: a validator would fetch it, whoever's address it is."""
    written = document.data.get("$schema", DRAFTS[0])
    if written not in DRAFTS:
        message = f"`$schema` must be `{DRAFTS[0]}`, not `{written}`"
        raise AuthorError([document.problem("schema-draft", ("$schema",), message)])


def _refuse(file: _File, place: Pointer, message: str) -> NoReturn:
    raise AuthorError([file.document.problem("bad-schema", place, message)])


def _anchors(node: object, place: Pointer) -> Iterator[tuple[str, Pointer]]:
    """Names that subschemas give themselves: `"$id": "#address"`."""
    if not isinstance(node, dict):
        return
    name = node.get("$id")
    if isinstance(name, str) and name.startswith("#") and not name.startswith("#/"):
        yield name[1:], place
    for step, child in subschemas(node):
        yield from _anchors(child, (*place, *step))
