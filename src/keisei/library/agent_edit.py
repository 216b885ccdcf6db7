"""Edits of an agent: other papers and another mark in agent.toml, all of it or nothing, comments kept."""

import re
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path, PurePosixPath
from typing import Any, Final, NamedTuple

from keisei.library.agent import paper_path
from keisei.library.document import parse
from keisei.library.load import Loaded, load
from keisei.library.placement import NewFile, inner_path, recover, remove_below
from keisei.library.placing import held, place_files
from keisei.library.shelf import Found, Layer
from keisei.library.source import inside, read_source, shown_path
from keisei.records.error import OperatorError, Refused, WorldFault

NUMBERS: Final = re.compile(r"([0-9]{1,9})(?:\.([0-9]{1,9})(\.[0-9]{1,9})?)?")


class Mark(NamedTuple):
    """What agent.toml says of a revision."""

    version: str
    revised_at: datetime


def next_mark(version: str | None, now: datetime) -> Mark:
    """The mark of the next revision: a higher minor number, or the moment where versions are no numbers."""
    numbers = NUMBERS.fullmatch("0.0.0" if version is None else version)
    if numbers is None:
        return Mark(now.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"), now)
    major, minor, patch = numbers.groups()
    if minor is None:
        return Mark(str(int(major) + 1), now)
    return Mark(f"{major}.{int(minor) + 1}{'.0' if patch else ''}", now)


def revised(text: str, mark: Mark) -> str:
    """agent.toml with another mark; everything else stays as it is."""
    import tomlkit  # noqa: PLC0415 - only writers need it

    document: Any = tomlkit.parse(text)
    if "constitution" not in document:
        document["constitution"] = tomlkit.table()
    document["constitution"]["version"] = mark.version
    document["constitution"]["revised_at"] = mark.revised_at.astimezone(UTC).replace(microsecond=0)
    return tomlkit.dumps(document)


def edits(loaded: Loaded, papers: Mapping[str, str], mark: Mark) -> tuple[NewFile, ...]:
    """The files of a revision, agent.toml last. `papers` are by `soul` and `purpose`, only those that change."""
    folder, text = loaded.document.source.path.parent, loaded.document.source.text
    files = [
        NewFile(path=f"{folder.name}/{path}", content=said, was=_text(folder / path))
        for path, said in ((PurePosixPath(paper_path(loaded.record, key)), said) for key, said in papers.items())
    ]
    changed = [each for each in files if each.content != each.was]
    return (*changed, NewFile(path=f"{folder.name}/agent.toml", content=revised(text, mark), was=text))


def _text(path: Path) -> str | None:
    return read_source(path).text if path.is_symlink() or path.exists() else None


def place(loaded: Loaded, files: Sequence[NewFile]) -> None:
    """Write the files. Raises OperatorError where one has changed meanwhile or leads elsewhere, WorldFault."""
    folder = loaded.document.source.path.parent
    place_files(folder.parent, files, _check)


def take_back(loaded: Loaded, files: Sequence[NewFile]) -> None:
    """Put everything back as it was, and take away what was new. Raises OperatorError, WorldFault."""
    back = [NewFile(path=each.path, content=each.was, was=each.content) for each in files if each.was is not None]
    place(loaded, back)  # agent.toml is always among them, so that what is new counts no longer
    folder = loaded.document.source.path.parent
    try:
        with held(folder) as root:
            for each in files:
                if each.was is None:
                    remove_below(root, inner_path(each.path), each.content.encode("utf-8"))
    except OSError as error:
        message = f"cannot take back what was written into `{folder}`: {(error.strerror or str(error)).lower()}"
        raise WorldFault(message, "check the folder") from error


def check_own(found: Found) -> None:
    """Raises Refused for an agent that this project does not write: of another layer, or led out of the project."""
    if found.layer.name != "project":
        message = f"agent `{found.name}` stands in the layer `{found.layer.name}`, which this project does not write"
        raise Refused(message, f"copy it to `.keisei/agents/{found.name}` of the project first")
    check_place(found.layer)


def check_place(layer: Layer) -> None:
    """Raises Refused where the project's folder of agents is elsewhere: nothing is written through a symlink."""
    root, place = layer.folder.parent, layer.place("agent")
    if inside(root, str(place.relative_to(root))) != root.resolve() / place.relative_to(root):
        raise Refused(f"`{shown_path(place)}` is reached through a symlink", "make it a folder of the project")


def settle(found: Found) -> None:
    """Take back what somebody began to write there who was killed. Raises OperatorError, WorldFault."""
    package = found.path.parent
    try:
        with held(package) as root:
            recover(package, root)
    except OSError as error:
        message = f"cannot write `{package}`: {(error.strerror or str(error)).lower()}"
        raise WorldFault(message, "check the folder") from error


def _check(made: Path) -> None:
    try:
        load(parse(read_source(made / "agent.toml")), "agent.file")
    except ValueError as error:  # a document that our parser takes and the editor turned into something else
        raise OperatorError("agent.toml cannot be edited", "write `[constitution]` by hand") from error
