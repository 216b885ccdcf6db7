"""What package.json and pnpm-workspace.yaml say of dependencies."""

from collections.abc import Iterator
from typing import Any, Final

from keisei.rules.predicate.dependency_text import Fact, at, entries, json_of, table_at, yaml_of

NEEDS: Final = (
    "dependencies",
    "devDependencies",
    "peerDependencies",
    "peerDependenciesMeta",
    "optionalDependencies",
    "bundledDependencies",
    "bundleDependencies",
    "dependenciesMeta",
)
"""What one package needs; in lock files, too."""
TABLES: Final = (
    *NEEDS,
    "overrides",
    "resolutions",
    "pnpm",
    "catalog",
    "catalogs",
    "patchedDependencies",
    "trustedDependencies",
    "packageManager",
)
AT_INSTALLATION: Final = (
    "preinstall",
    "install",
    "postinstall",
    "prepublish",
    "preprepare",
    "prepare",
    "postprepare",
    "dependencies",
)
"""Scripts that run when somebody installs."""


def needs_of(package: object) -> Iterator[Fact]:
    """What one package needs."""
    for name in NEEDS:
        yield from entries(package, name)


def npm_manifest(data: bytes) -> Iterator[Fact]:
    """Dependencies of every kind, what overrides them, and workspaces, whose packages come before a registry's."""
    package = json_of(data)
    for name in TABLES:
        yield from entries(package, name)
    yield from _workspaces(package)
    scripts = table_at(package, "scripts")
    for name in AT_INSTALLATION:
        if name in scripts:
            yield from entries({"scripts": {name: scripts[name]}}, "scripts", aside=True)


def _workspaces(package: dict[str, Any]) -> Iterator[Fact]:
    if not isinstance(at(package, "workspaces"), dict):
        yield from entries(package, "workspaces")
        return
    for name in table_at(package, "workspaces"):
        yield from entries(package, "workspaces", name)


def pnpm_workspace(data: bytes) -> Iterator[Fact]:
    """Every setting: all of them say what is installed, or from where."""
    settings = yaml_of(data)
    for name in settings:
        yield from entries(settings, name)
