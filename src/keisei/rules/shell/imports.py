"""Imports: the files of the tree that code brings in, by the names it writes out."""

import posixpath
import re
from collections.abc import Iterator, Sequence
from typing import Final

PYTHON: Final = re.compile(r"(?:^|[;\n:])[ \t]*(?:from[ \t]+([\w.]+)[ \t]+import|import[ \t]+([\w., \t]+))")
NODE: Final = re.compile(r"""(?:require|import)\s*\(\s*['"]([./][^'"]*)['"]|(?:from|import)\s+['"]([./][^'"]*)['"]""")
MOST: Final = 32


def imports(language: str, text: str, folders: Sequence[str]) -> Iterator[str]:
    """Absolute paths that may be what the code imports, at most a few; the folders are where it would look."""
    names = _python(text) if language == "python" else _node(text) if language in ("node", "javascript") else ()
    for name in list(dict.fromkeys(names))[:MOST]:
        for folder in dict.fromkeys(folders):
            yield posixpath.normpath(posixpath.join(folder, name))


def _python(text: str) -> Iterator[str]:
    for match in PYTHON.finditer(text):
        for name in (match[1] or match[2]).split(","):
            words = name.split()
            if words:
                path = words[0].strip(".").replace(".", "/")
                yield from (f"{path}.py", f"{path}/__init__.py")


def _node(text: str) -> Iterator[str]:
    for match in NODE.finditer(text):
        path = match[1] or match[2]
        yield from (path, f"{path}.js", f"{path}.mjs", f"{path}.cjs", f"{path}/index.js")


def module_writes(name: str, words: tuple[str, ...]) -> tuple[str, ...]:
    """Paths that a module of Python's own library writes where it is run with `-m`."""
    operands = tuple(word for word in words if not word.startswith("-"))
    if name == "venv":
        return operands
    if name == "json.tool":
        return operands[1:2]
    if name in ("zipfile", "tarfile"):
        makes = any(word in ("-c", "--create") for word in words)
        return operands[:1] if makes else operands[1:2] if any(word in ("-e", "--extract") for word in words) else ()
    if name in ("cProfile", "profile", "trace") and "-o" in words[:-1]:
        return (words[words.index("-o") + 1],)
    return ()
