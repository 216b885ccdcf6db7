"""Kinds of files, for their length: what is source, and what nobody reads line by line."""

import re
from pathlib import PurePosixPath
from typing import Final

SOURCE: Final = re.compile(
    r".*\.(astro|bash|bat|clj|cljs|cmake|coffee|cr|cs|css|cu|dart|elm|erl|exs?|f90|fish|fsx?|gd|glsl|gradle|groovy|hcl|hs|jl"
    r"|kts?|less|lisp|lua|mli?|mm?|nim|nix|pas|php|p[lm]|proto|ps1|r|rkt|sass|scala|scm|scss|sh|sol|sql|sv|svelte|swift|tcl"
    r"|tf|v|vb|vhd|vue|wgsl|zig|zsh)",
    re.IGNORECASE,
)
"""Names of source files whose functions no parser here understands."""
LOCKS: Final = re.compile(r".*\.lock|.*[-.]lock\.(json|yaml|yml)|go\.sum|npm-shrinkwrap\.json|.*\.lockb", re.IGNORECASE)
PACKED: Final = re.compile(r".*[.-]min\.(js|mjs|cjs|css)|.*\.bundle\.js|.*\.map", re.IGNORECASE)
GENERATED: Final = re.compile(
    r".*_pb2(_grpc)?\.pyi?|.*\.pb(\.gw)?\.(go|cc|h)|.*_grpc\.pb\.go|.*\.g\.dart|.*\.designer\.cs|.*\.d\.ts",
    re.IGNORECASE,
)
VENDORED: Final = frozenset({"vendor", "node_modules", "third_party", "third-party", "bower_components"})


def uncounted(path: str) -> str | None:
    """Why the lines of a file say nothing of how it is built: `a lock file`; None where they do."""
    parts = PurePosixPath(path).parts
    name = parts[-1] if parts else ""
    if LOCKS.fullmatch(name):
        return "a lock file"
    if PACKED.fullmatch(name):
        return "minified"
    if GENERATED.fullmatch(name):
        return "generated"
    return "vendored" if not VENDORED.isdisjoint(parts[:-1]) else None


def is_source(path: str, language: str | None) -> bool:
    """Whether it is source: of a language with a parser here, or by its name."""
    return language is not None or SOURCE.fullmatch(PurePosixPath(path).name) is not None
