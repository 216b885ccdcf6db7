"""What pyproject.toml, Pipfile and environments of conda say of dependencies."""

from collections.abc import Iterator
from typing import Any, Final

from keisei.rules.predicate.dependency_requirements import required, required_by_name, requirement, specified
from keisei.rules.predicate.dependency_text import (
    Fact,
    at,
    entries,
    place_of,
    table_at,
    toml_of,
    whole,
    without,
    written,
    yaml_of,
)

DECLARED: Final = ("dependencies", "optional-dependencies")
POETRY: Final = ("dependencies", "dev-dependencies")
UV_OWN: Final = frozenset({"build-backend", "cache-dir", "cache-keys", "link-mode", "managed", "package", "preview"})
"""Settings of uv that say nothing of what is installed, or from where."""
ELSEWHERE: Final = frozenset(
    {
        "build-dependencies",
        "constraints",
        "dependencies",
        "dependency-groups",
        "deps",
        "dev-dependencies",
        "dev-requires",
        "extra-dependencies",
        "extra-requires",
        "host-dependencies",
        "index-url",
        "optional-dependencies",
        "overrides",
        "plugins",
        "pypi-dependencies",
        "requires",
        "requires-extra",
        "requires-plugins",
        "resolution",
        "run-dependencies",
        "sources",
        "test-requires",
    }
)
"""Keys by which settings of any other tool name packages, or where they come from."""
PLACES: Final = frozenset({"extra-index-url", "find-links", "index", "source"})
"""Lists of places that are asked for a package one after the other."""
NOT_INSTALLING: Final = frozenset({"bandit", "black", "coverage", "isort", "mypy", "pyright", "pytest", "ruff"})
"""Tools that install nothing, whatever their settings are called."""


def pyproject(data: bytes) -> Iterator[Fact]:
    """Dependencies, extras, groups, what a build needs, and whatever settings of tools name packages or indexes."""
    tables = toml_of(data)
    yield from required(tables, "project", "dependencies")
    yield from required_by_name(tables, "project", "optional-dependencies")
    yield from required_by_name(tables, "dependency-groups")
    yield from required(tables, "build-system", "requires")
    yield from entries(tables, "build-system", "build-backend")
    yield from entries(tables, "build-system", "backend-path")
    yield from entries(tables, "project", "requires-python", aside=True)
    dynamic = at(tables, "project", "dynamic")
    for name in DECLARED if isinstance(dynamic, list) else ():
        if name in dynamic:
            yield Fact("project.dynamic", name)
    for name in table_at(tables, "tool"):
        yield from _tool(tables, name)


def _tool(tables: dict[str, Any], name: str) -> Iterator[Fact]:
    if name == "poetry":
        yield from _poetry(tables)
    elif name == "uv":
        for setting in without(table_at(tables, "tool", "uv"), UV_OWN):
            yield from (whole if setting in PLACES else entries)(tables, "tool", "uv", setting)
    elif name not in NOT_INSTALLING:
        yield from _elsewhere(tables, ("tool", name))


def _poetry(tables: dict[str, Any]) -> Iterator[Fact]:
    poetry = ("tool", "poetry")
    for name in POETRY:
        yield from specified(tables, *poetry, name)
    for group in table_at(tables, *poetry, "group"):
        yield from specified(tables, *poetry, "group", group, "dependencies")
    yield from whole(tables, *poetry, "source")
    for name in ("extras", "requires-plugins"):
        yield from entries(tables, *poetry, name)
    yield from entries(tables, *poetry, "build", aside=True)


def _elsewhere(tables: dict[str, Any], keys: tuple[str, ...]) -> Iterator[Fact]:
    """Lists of packages, wherever a tool keeps them."""
    waiting = [keys]
    while waiting:
        place = waiting.pop()
        for name, value in table_at(tables, *place).items():
            if name in PLACES:
                yield from whole(tables, *place, name)
            elif name.replace("_", "-").lower() in ELSEWHERE:
                yield from required_by_name(tables, *place, name)
            elif isinstance(value, dict):
                waiting.append((*place, name))


def pipfile(data: bytes) -> Iterator[Fact]:
    """Packages of every category, and where they come from."""
    tables = toml_of(data)
    yield from entries(tables, "requires", aside=True)
    yield from whole(tables, "source")
    for name in without(tables, ("requires", "source", "scripts", "pipenv")):
        yield from specified(tables, name)


def conda_environment(data: bytes) -> Iterator[Fact]:
    """Packages, the order of channels, and variables, which may name an index."""
    settings = yaml_of(data)
    dependencies = settings.get("dependencies")
    for each in dependencies if isinstance(dependencies, list) else ():
        if isinstance(each, dict):
            yield from required_by_name({"dependencies": each}, "dependencies")
        else:
            yield requirement("dependencies", each) if isinstance(each, str) else Fact("dependencies", written(each))
    if not isinstance(dependencies, list):
        yield from entries(settings, "dependencies")
    for name in without(settings, ("name", "prefix", "dependencies")):
        yield Fact(place_of(name), written(settings[name]))
