"""What lock files of Python's tools say of dependencies."""

from collections.abc import Iterator
from typing import Any, Final

from keisei.rules.predicate.dependency_text import (
    Fact,
    at,
    entries,
    is_inside,
    json_of,
    place_of,
    table_at,
    tables_at,
    toml_of,
    without,
    written,
    yaml_of,
)

OWN: Final = ("virtual", "editable", "directory")
"""Sources of uv for packages of the project."""
TOLD: Final = ("description", "summary", "python-versions", "requires_python", "requires-python")
"""What an entry repeats of a package's description, or follows from the project's own Python."""
FOLLOWS: Final = (
    "content-hash", "content_hash", "lock-version", "lock_version", "python-versions", "requires-python",
    "requires_python", "created-by", "resolution-markers", "supported-markers", "environments", "targets", "strategy",
    "groups", "version", "revision",
)  # fmt: skip
"""What follows from the manifest, from the tool and from the supported Pythons."""


def uv_lock(data: bytes) -> Iterator[Fact]:
    """Packages with their sources and checksums; of the project's own ones only what they need."""
    lock = toml_of(data)
    for package in tables_at(lock, "package"):
        yield from _uv_package(package)
    yield from _rest(without(lock, ("package", "manifest")))
    manifest = table_at(lock, "manifest")
    yield from entries({"manifest": without(manifest, ("members",))}, "manifest")
    yield from entries(manifest, "members", aside=True)


def _uv_package(package: dict[str, Any]) -> Iterator[Fact]:
    name, source = place_of(package.get("name")), package.get("source")
    if not (isinstance(source, dict) and len(source) == 1 and any(is_inside(source.get(kind)) for kind in OWN)):
        yield _package(package)
        return
    for key, value in without(package, ("name", "version", "source", "metadata")).items():
        yield from _needs(name, key, value)
    for key, value in table_at(package, "metadata").items():
        yield from _needs(name, key, value)


def _needs(name: str, key: str, value: object) -> Iterator[Fact]:
    """What one package of the project needs, group by group where there are groups."""
    groups = value if isinstance(value, dict) else {"": value}
    for group, items in groups.items():
        place = f"{name} needs {place_of(key, group) if group else key}"
        if key != "provides-extras":
            yield from (Fact(place, written(item)) for item in (items if isinstance(items, list) else [items]))


def _package(package: dict[str, Any]) -> Fact:
    place = f"{place_of(package.get('name'))} {package.get('version')}"
    return Fact(place, written(without(package, ("name", "version", *TOLD))))


def _rest(lock: dict[str, Any]) -> Iterator[Fact]:
    for name in lock:
        yield from entries(lock, name, aside=name in FOLLOWS)


def python_lock(data: bytes) -> Iterator[Fact]:
    """Packages of Poetry, PDM and pylock.toml. One that is a folder of the project has a version of its own."""
    lock = toml_of(data)
    for name in ("package", "packages"):
        for package in tables_at(lock, name):
            yield _package(without(package, ("version",)) if _is_folder(package) else package)
    yield from _rest(without(lock, ("package", "packages", "metadata")))
    yield from _rest(table_at(lock, "metadata"))


def _is_folder(package: dict[str, Any]) -> bool:
    source = table_at(package, "source")
    path = source.get("url") if source.get("type") == "directory" else None
    return any(is_inside(each) for each in (path, package.get("path"), at(package, "directory", "path")))


def pipfile_lock(data: bytes) -> Iterator[Fact]:
    """Packages of every category with their checksums, and where they come from."""
    lock = json_of(data)
    yield from entries(lock, "_meta", "sources")
    for name in without(table_at(lock, "_meta"), ("sources", "hash")):
        yield from entries(lock, "_meta", name, aside=True)
    for category in without(lock, ("_meta",)):
        yield from entries(lock, category)


def conda_lock(data: bytes) -> Iterator[Fact]:
    """Packages of every platform with their checksums, and channels in order."""
    lock = yaml_of(data)
    for package in tables_at(lock, "package"):
        yield Fact(place_of(package.get("name"), package.get("platform")), written(package))
    yield Fact("metadata.channels", written(at(lock, "metadata", "channels")))
    for name in without(lock, ("package", "metadata", "version")):
        yield from entries(lock, name)
