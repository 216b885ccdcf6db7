"""Languages: which one a file is written in, by its name or its first line, and the parser of each."""

import re
from functools import cache
from importlib import import_module
from pathlib import PurePosixPath
from typing import Final

from tree_sitter import Language, Parser

SUFFIXES: Final = {
    "python": "py pyi pyw",
    "rust": "rs",
    "go": "go",
    "javascript": "js jsx mjs cjs",
    "typescript": "ts mts cts",
    "tsx": "tsx",
    "java": "java",
    "c": "c",
    "cpp": "cc cpp cxx c++ h hh hpp hxx h++ ipp inl tpp",
    "ruby": "rb rake gemspec ru",
}
NAMES: Final = {"Rakefile": "ruby", "Gemfile": "ruby", "Guardfile": "ruby", "Vagrantfile": "ruby"}
PROGRAMS: Final = {
    "python": "python",
    "pypy": "python",
    "ruby": "ruby",
    "node": "javascript",
    "nodejs": "javascript",
    "deno": "typescript",
    "bun": "typescript",
    "ts-node": "typescript",
    "tsx": "typescript",
}
FACTORIES: Final = {"typescript": ("typescript", "language_typescript"), "tsx": ("typescript", "language_tsx")}
"""Where the module and its function are not named for the language."""
BY_SUFFIX: Final = {suffix: name for name, suffixes in SUFFIXES.items() for suffix in suffixes.split()}
SHEBANG: Final = re.compile(rb"#!\s*(?:\S*/)?(?:env\s+(?:-\S+\s+|\w+=\S*\s+)*(?:\S*/)?)?([\w.+-]+)")


def language_of(path: str, data: bytes) -> str | None:
    """The language's name; None where nobody here knows it."""
    name = PurePosixPath(path).name
    suffix = name.rpartition(".")[2].lower() if "." in name.lstrip(".") else ""
    return BY_SUFFIX.get(suffix) or NAMES.get(name) or (_by_program(data) if not suffix else None)


def _by_program(data: bytes) -> str | None:
    found = SHEBANG.match(data[:200])
    if found is None:
        return None
    program = found[1].decode("ascii", "replace")
    return PROGRAMS.get(program) or PROGRAMS.get(program.rstrip("0123456789."))


@cache
def parser_of(name: str) -> Parser:
    """The parser of a language that `language_of` names; each grammar is loaded when it is first asked for."""
    module, factory = FACTORIES.get(name, (name, "language"))
    return Parser(Language(getattr(import_module(f"tree_sitter_{module}"), factory)()))


def count_lines(data: bytes) -> int:
    """Lines, the last one too where nothing ends it. A carriage return alone ends a line, as it does for Python."""
    data = data.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
    return data.count(b"\n") + (not data.endswith(b"\n") and bool(data))
