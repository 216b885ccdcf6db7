"""Pipes: `dag.toml` in both dialects, strict, and every place of it known."""

from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

from keisei.library.document import Document
from keisei.library.load import load
from keisei.library.source import Source, read_source
from keisei.records.pipe import PipeDefinition
from keisei.records.problem import Problem


class LoadedPipe(NamedTuple):
    """A pipe, and whoever can say where its parts stand."""

    definition: PipeDefinition
    """In our own dialect."""
    complain: Callable[..., Problem]
    """As `Document.problem`: a problem with file, line and column."""
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


def _loaded(document: Document, path: Path | None) -> LoadedPipe:
    loaded = load(document, "pipe.definition")
    return LoadedPipe(loaded.record, document.problem, path, loaded.warnings)
