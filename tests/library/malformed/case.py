"""Cases: a good project, one edit that breaks it, and what the author must be told.

The character ‸ stands in a text right before the place a problem must point at; it is taken out before the file is
written. So the expected line and column can be read where they are, and a kit file may grow above them.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from signal import ITIMER_PROF, ITIMER_REAL, SIGALRM, SIGPROF, setitimer, signal
from typing import NamedTuple

import pytest

from keisei.library.catalog import Catalog
from keisei.library.lint import Report, lint, lint_runtime, lint_task
from keisei.library.shelf import Layer
from keisei.records.problem import Problem
from keisei.wiring import KIT

MARK = "‸"
PATIENCE = 8
"""How many times longer than on an idle desk a slow machine may take before it counts as hanging."""
Content = str | bytes | None
"""What a file holds; None takes it away."""


class Kind(NamedTuple):
    """One kind of authored file: a project that is in order, and how it is checked."""

    name: str
    main: str
    """The file that most cases edit."""
    good: Mapping[str, str]
    """Every file of the project."""
    by: str
    """What lint calls the kind; `task` and `runtime` are checked by naming the file."""


class Case(NamedTuple):
    """One way to break a good project."""

    name: str
    code: str
    edits: tuple[tuple[str, ...], ...]
    """(old, new) in the main file, or (file, old, new). The old text occurs exactly once."""
    write: Mapping[str, Content]
    """Whole files instead."""
    says: str | None
    """The exact message. Place and hint are exact then too, and there is no other error but `also`."""
    hint: str | None
    also: tuple[str, ...]
    """Codes of the other errors that must come with it."""
    placed: bool
    """Whether the problem has a line and a column; a file that is not there has none."""


def case(
    name: str,
    code: str,
    *edits: tuple[str, ...],
    write: Mapping[str, Content] | None = None,
    says: str | None = None,
    hint: str | None = None,
    also: tuple[str, ...] = (),
    placed: bool = True,
) -> Case:
    return Case(name, code, edits, write or {}, says, hint, also, placed)


class Told(NamedTuple):
    """A problem as a test compares it."""

    code: str
    file: str
    line: int | None
    column: int | None
    message: str
    hint: str | None


def kit(file: str) -> str:
    return (KIT / file).read_text(encoding="utf-8")


def broken(kind: Kind, each: Case) -> dict[str, Content]:
    """The project's files after the edit, marks included."""
    files: dict[str, Content] = {**kind.good, **each.write}
    for edit in each.edits:
        file, old, new = edit if len(edit) == 3 else (kind.main, *edit)
        text = files[file]
        assert isinstance(text, str)
        assert text.count(old) == 1, f"`{old}` must stand once in {file}, not {text.count(old)} times"
        files[file] = text.replace(old, new)
    return files


def marked(files: Mapping[str, Content]) -> tuple[str, int, int] | None:
    """File, line and column of the mark, or None."""
    for file, text in files.items():
        if isinstance(text, str) and MARK in text:
            before = text[: text.index(MARK)]
            return file, before.count("\n") + 1, len(before) - before.rfind("\n")
    return None


def write(folder: Path, files: Mapping[str, Content]) -> None:
    for file, content in files.items():
        if content is not None:
            path = folder / file
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(
                content if isinstance(content, bytes) else content.replace(MARK, "").encode("utf-8", "surrogateescape")
            )


def catalog_of(folder: Path) -> Catalog:
    """The project in the folder, over the shipped kit."""
    return Catalog([Layer("kit", KIT), Layer("project", folder)])


def checked(kind: Kind, folder: Path) -> list[Problem]:
    """Every problem of the project in the folder."""
    catalog = catalog_of(folder)
    report = Report()
    if kind.by == "task":
        lint_task(catalog, folder / kind.main, report)
    elif kind.by == "runtime":
        lint_runtime(folder / kind.main, report)
    else:
        report = lint(catalog, [kind.by], catalog.layers[1:])
    return report.ordered


def errors(problems: list[Problem], folder: Path) -> list[Told]:
    """The errors, with paths as they stand in the project."""
    return [
        Told(
            each.code,
            each.path.removeprefix(f"{folder}/"),
            each.line,
            each.column,
            each.message.replace(f"{folder}/", ""),
            each.hint,
        )
        for each in problems
        if each.severity == "error"
    ]


class Stuck(BaseException):
    """Not an Exception, so that nothing on the way swallows it."""


@contextmanager
def at_once(seconds: float = 1.0) -> Iterator[None]:
    """Break off and fail where the block computes longer than that, or waits for something that never comes."""

    def stop(*_: object) -> None:
        raise Stuck

    before = {each: signal(each, stop) for each in (SIGPROF, SIGALRM)}
    setitimer(ITIMER_PROF, PATIENCE * seconds)  # a guard against hanging, not a measurement
    setitimer(ITIMER_REAL, 30 + 5 * PATIENCE * seconds)
    try:
        yield
    except Stuck:
        pytest.fail(f"no answer after {seconds} seconds of work", pytrace=False)
    finally:
        setitimer(ITIMER_PROF, 0)
        setitimer(ITIMER_REAL, 0)
        for each, handler in before.items():
            signal(each, handler)
