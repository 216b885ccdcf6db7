"""What Cargo.toml and Cargo.lock say of dependencies."""

from collections.abc import Iterator
from typing import Any, Final

from keisei.rules.predicate.dependency_text import (
    Fact,
    at,
    entries,
    place_of,
    table_at,
    tables_at,
    toml_of,
    without,
    written,
)

TABLES: Final = ("dependencies", "dev-dependencies", "dev_dependencies", "build-dependencies", "build_dependencies")
ASIDES: Final = (
    ("features",),
    ("package", "build"),
    ("package", "links"),
    ("workspace", "members"),
    ("workspace", "resolver"),
)


def cargo_manifest(data: bytes) -> Iterator[Fact]:
    """Dependencies of every kind and of every target, patches and replacements."""
    tables = toml_of(data)
    yield from _dependencies(tables, ())
    for target in table_at(tables, "target"):
        yield from _dependencies(tables, ("target", target))
    yield from _specified(tables, ("workspace", "dependencies"))
    for source in table_at(tables, "patch"):
        yield from _specified(tables, ("patch", source))
    yield from _specified(tables, ("replace",))
    for aside in ASIDES:
        yield from entries(tables, *aside, aside=True)


def _dependencies(tables: dict[str, Any], keys: tuple[str, ...]) -> Iterator[Fact]:
    for table in TABLES:
        yield from _specified(tables, (*keys, table))


def _specified(tables: dict[str, Any], keys: tuple[str, ...]) -> Iterator[Fact]:
    """Each dependency; `x = "1"` and `x = { version = "1" }` say the same."""
    found = at(tables, *keys)
    if not isinstance(found, dict):
        yield from entries(tables, *keys)
        return
    for name, how in found.items():
        yield Fact(place_of(*keys, name), written({"version": how} if isinstance(how, str) else how))


def cargo_lock(data: bytes) -> Iterator[Fact]:
    """Packages with their sources and checksums. One without a source is the project's own: only its needs count."""
    tables = toml_of(data)
    for package in tables_at(tables, "package"):
        yield from _locked(package)
    for unused in tables_at(tables, "patch", "unused"):
        yield Fact("patch.unused", written(unused))
    yield from entries(tables, "metadata")
    yield from entries(tables, "root", "dependencies")
    yield from entries(tables, "version", aside=True)


def _locked(package: dict[str, Any]) -> Iterator[Fact]:
    name, needs = package.get("name"), package.get("dependencies", [])
    needs = sorted(map(written, needs)) if isinstance(needs, list) else [written(needs)]
    rest = without(package, ("name", "version", "dependencies", "source"))
    if "source" not in package:
        yield from (Fact(f"{place_of(name)} needs", each) for each in needs)
        if rest:
            yield Fact(place_of(name), written(rest))
        return
    place = f"{place_of(name)} {package.get('version')} of {package['source']}"
    yield Fact(place, written({**rest, "dependencies": needs}))
