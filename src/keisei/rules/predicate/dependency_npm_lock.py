"""What lock files of npm, Yarn, pnpm and Bun say of dependencies."""

import re
from collections.abc import Iterator
from typing import Any, Final

from keisei.rules.predicate.dependency_npm import needs_of
from keisei.rules.predicate.dependency_text import (
    Fact,
    Unreadable,
    entries,
    is_inside,
    json_of,
    json_with_commas,
    lines_of,
    place_of,
    table_at,
    without,
    written,
    yaml_of,
)

TOLD: Final = ("license", "funding", "engines", "deprecated")
"""What an entry repeats of a package's description."""
MODULES: Final = "node_modules/"
OWN: Final = re.compile(r'  resolution: "?(?P<name>[^"]+)@workspace:(?P<path>[^"]*)"?')
HEADING: Final = re.compile(r"  (?P<heading>\w+):")
OF_OWN: Final = re.compile(r"  (?:version|resolution|languageName|linkType): \S+")
"""What a block says of a package of the project itself."""


def npm_lock(data: bytes) -> Iterator[Fact]:
    """Packages with where they come from and their checksums; of the project's own ones only what they need."""
    lock = json_of(data)
    for path, package in table_at(lock, "packages").items():
        yield from _package(path, package)
    yield from _tree(table_at(lock, "dependencies"), ())
    yield from entries(lock, "lockfileVersion", aside=True)
    known = ("name", "version", "lockfileVersion", "requires", "packages", "dependencies")
    for name in without(lock, known):
        yield from entries(lock, name)


def _package(path: str, package: object) -> Iterator[Fact]:
    if not isinstance(package, dict):
        yield Fact(place_of(path), written(package))
    elif MODULES not in f"{path}/" and is_inside(path):
        yield from _renamed(f"{path or 'the project'} needs", needs_of(package))
    elif not (package.get("link") is True and is_inside(package.get("resolved"))):
        yield Fact(path, written(without(package, TOLD)))


def _renamed(owner: str, facts: Iterator[Fact]) -> Iterator[Fact]:
    return (Fact(f"{owner} {fact.place}", fact.value) for fact in facts)


def _tree(packages: dict[str, Any], above: tuple[str, ...]) -> Iterator[Fact]:
    """The packages of older lock files, which are inside of each other."""
    waiting = [(above, packages)]
    while waiting:
        path, level = waiting.pop()
        for name, package in level.items():
            place = (*path, name)
            if isinstance(package, dict):
                waiting.append((place, table_at(package, "dependencies")))
            yield from _leaf(" > ".join(place), package)


def _leaf(place: str, package: object) -> Iterator[Fact]:
    if not isinstance(package, dict):
        yield Fact(place, written(package))
        return
    version = package.get("version")
    if isinstance(version, str) and version.startswith("file:") and is_inside(version.removeprefix("file:")):
        yield from (Fact(f"{place} needs {key}", value) for key, value in _requires(package))
        return
    yield Fact(place, written(without(package, (*TOLD, "dependencies"))))


def _requires(package: dict[str, Any]) -> Iterator[tuple[str, str]]:
    return ((fact.place, fact.value) for fact in entries(package, "requires"))


def yarn_lock(data: bytes) -> Iterator[Fact]:
    """The blocks of the file, old and new form: each is one package; of the project's own ones what they need."""
    for header, body in _blocks(lines_of(data)):
        own = _own_name(header, body)
        if own is not None:
            yield from _own_block(own, body)
        elif header == "__metadata:":
            yield Fact(header, " ".join(body), aside=True)
        else:
            yield Fact(header.rstrip(":"), "\n".join(body))


def _own_name(header: str, body: list[str]) -> str | None:
    """The name of a package of the project: whoever asks for it and what it is resolved to are inside."""
    found = [OWN.fullmatch(line) for line in body if line.lstrip().startswith(("resol", '"resol', "'resol"))]
    own = found[0] if len(found) == 1 else None
    asked = all("@workspace:" in each for each in header.split(","))
    return own["name"] if own is not None and asked and is_inside(own["path"]) else None


def _blocks(lines: list[str]) -> Iterator[tuple[str, list[str]]]:
    header, body = "", list[str]()
    for line in (each.rstrip() for each in lines):
        if not line or line.lstrip().startswith("#"):
            continue
        if line[0] in " \t:":  # a long key stands on a line of its own, and what it means after a colon
            body.append(line)
            continue
        if header:
            yield header, body
        header, body = line, []
    if header:
        yield header, body
    elif body:
        raise Unreadable("begins with a line that belongs to nothing")


def _own_block(name: str, body: list[str]) -> Iterator[Fact]:
    """What a package of the project needs; its own version and place are no dependency."""
    heading = ""
    for line in body:
        if (found := HEADING.fullmatch(line)) is not None:
            heading = found["heading"]
        elif not OF_OWN.fullmatch(line) and not (heading == "bin" and line.startswith("    ")):
            yield Fact(f"{name} needs {heading}", line.strip())


def pnpm_lock(data: bytes) -> Iterator[Fact]:
    """Packages, snapshots, settings and overrides; of the project's own packages only what they need."""
    lock = yaml_of(data)
    for path, importer in table_at(lock, "importers").items():
        for name in importer if isinstance(importer, dict) else ():
            yield from _renamed(f"{path} needs", entries(importer, name))
    yield from entries(lock, "lockfileVersion", aside=True)
    for name in without(lock, ("importers", "lockfileVersion")):
        yield from entries(lock, name)


def bun_lock(data: bytes) -> Iterator[Fact]:
    """Packages with their checksums, and overrides; of the project's own packages only what they need."""
    lock = json_with_commas(data)
    for path, package in table_at(lock, "workspaces").items():
        yield from _renamed(f"{path or 'the project'} needs", needs_of(package))
    for name, package in table_at(lock, "packages").items():
        if not _is_own(package):
            yield Fact(name, written(package))
    for version in ("lockfileVersion", "configVersion"):
        yield from entries(lock, version, aside=True)
    for name in without(lock, ("workspaces", "packages", "lockfileVersion", "configVersion")):
        yield from entries(lock, name)


def _is_own(package: object) -> bool:
    first = package[0] if isinstance(package, list) and package else None
    _, workspace, path = first.partition("@workspace:") if isinstance(first, str) else ("", "", "")
    return bool(workspace) and is_inside(path)
