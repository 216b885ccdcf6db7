"""Pipes: `dag.toml` in both dialects, strict, and every place of it known."""

from bisect import bisect_right
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from msgspec.structs import replace

from keisei.library.document import Document
from keisei.library.load import load
from keisei.library.locate import LINE_END
from keisei.library.locate.toml import SCALAR
from keisei.library.source import Source, read_source
from keisei.records.pipe import PipeDefinition
from keisei.records.problem import Problem


class LoadedPipe(NamedTuple):
    """A pipe, and whoever can say where its parts stand."""

    definition: PipeDefinition
    """In our own dialect."""
    complain: Callable[..., Problem]
    """As `Document.problem`; `within` also names a piece of a text, or a character of it, to point at."""
    path: Path | None
    """The file; None for a kept definition."""
    warnings: tuple[Problem, ...]
    """One, where it is written in the originals' dialect."""

    @property
    def name(self) -> str:
        """The pipe's own name, or its file's."""
        head = self.definition.pipe
        if head is not None and head.name:
            return head.name
        return self.path.stem if self.path is not None else "pipe"


def load_pipe(path: Path) -> LoadedPipe:
    """The pipe of a file. Raises AuthorError with every problem at once."""
    return _loaded(Document(read_source(path), "toml"), path)


def pipe_of(definition: dict[str, Any], shown: str = "pipe") -> LoadedPipe:
    """The pipe of data that were kept. Raises AuthorError; problems say where by way of the same data, written out."""
    import json  # noqa: PLC0415 - only a resume comes here

    text = json.dumps(definition, indent=2, ensure_ascii=False)
    return _loaded(Document(Source(Path(shown), shown, b"", text), "json"), None)


def pipe_in(text: str, shown: str = "pipe") -> LoadedPipe:
    """The pipe of a text in TOML that stands in no file. Raises AuthorError; problems say where in the text."""
    return _loaded(Document(Source(Path(shown), shown, b"", text), "toml"), None)


def _loaded(document: Document, path: Path | None) -> LoadedPipe:
    loaded = load(document, "pipe.definition")
    return LoadedPipe(loaded.record, complaining(document), path, loaded.warnings)


def complaining(document: Document) -> Callable[..., Problem]:
    """As `Document.problem`, which can also point inside a text: `within` is a piece of it, or a character from 0."""

    @cache
    def starts() -> list[int]:
        return [0, *(end.end() for end in LINE_END.finditer(document.text))]

    def problem(*told: Any, within: str | int | None = None, **more: Any) -> Problem:  # noqa: ANN401 - handed on
        found = document.problem(*told, **more)
        start = starts()[(found.line or 1) - 1] + (found.column or 1) - 1
        at = 0 if within is None else _inside(document.text, start, within)
        if not at:
            return found
        line = bisect_right(starts(), start + at)
        return replace(found, line=line, column=start + at - starts()[line - 1] + 1)

    return problem


def _inside(text: str, start: int, within: str | int) -> int:
    """How far behind its quote a piece of a text stands; 0 where the text is not written as it reads."""
    token = SCALAR.match(text, start)
    if token is None or token[0][0] not in "\"'":
        return 0
    if isinstance(within, str):
        return max(token[0].find(within), 0)
    is_plain = "\\" not in token[0] and not token[0].startswith(('"""', "'''"))
    return within + 1 if is_plain else 0
