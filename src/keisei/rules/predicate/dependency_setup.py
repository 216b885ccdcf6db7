"""What setup.cfg and setup.py say of dependencies. The second is a program: what it computes cannot be read."""

import ast
import re
import warnings
from collections.abc import Iterator
from configparser import Error, RawConfigParser
from hashlib import sha256
from typing import Any, Final

from keisei.rules.predicate.dependency_requirements import check_coding, required, required_by_name
from keisei.rules.predicate.dependency_text import Fact, Unreadable, lines_of, text_of

NEEDS: Final = frozenset(
    {
        "dependency_links",
        "deps",
        "extras_require",
        "find_links",
        "index_url",
        "install_requires",
        "requires",
        "requires_dist",
        "setup_requires",
        "tests_require",
    }
)
EXTRAS: Final = frozenset({"options.extras_require", "extras"})
OWN: Final = frozenset(
    {
        "author",
        "author_email",
        "classifiers",
        "description",
        "download_url",
        "entry_points",
        "include_package_data",
        "keywords",
        "license",
        "long_description",
        "long_description_content_type",
        "maintainer",
        "maintainer_email",
        "name",
        "package_data",
        "package_dir",
        "packages",
        "platforms",
        "project_urls",
        "py_modules",
        "python_requires",
        "url",
        "version",
        "zip_safe",
    }
)
"""Words of a setup call that say nothing of dependencies when they are plain values."""
SPACES: Final = re.compile(r"(?<=\S)[ \t]++")
"""Spaces inside a line; the parser takes quadratic time for many of them."""
PLAIN: Final = "setuptools", "distutils.core"


def setup_cfg(data: bytes) -> Iterator[Fact]:
    """Requirements, extras and indexes of every section."""
    parser = RawConfigParser(interpolation=None, allow_no_value=True)
    try:
        parser.read_string("\n".join(SPACES.sub(" ", line) for line in lines_of(data)))
    except Error as error:
        raise Unreadable(f"is no configuration: {error.message}") from error
    for section in parser.sections():
        for option, value in parser.items(section):
            name = option.replace("-", "_")
            if name in NEEDS or section.strip().lower() in EXTRAS:
                yield from _listed(section, name, value)


def _listed(section: str, name: str, value: str | None) -> Iterator[Fact]:
    lines = [line.strip() for line in (value or "").splitlines()]
    yield from required_by_name({section: {name: [line for line in lines if line]}}, section)


def setup_py(data: bytes) -> Iterator[Fact]:
    """What its one call of `setup` says in plain values. Any other code of the file counts as one fact."""
    module = _parsed(data)
    calls = [node for node in ast.walk(module) if isinstance(node, ast.Call) and _is_setup(node.func)]
    for call in calls[:1] if len(calls) == 1 else ():
        said = _plain(call)
        yield from (fact for name in said.keys() & NEEDS for fact in _said(name, said[name]))
        call.keywords = [word for word in call.keywords if word.arg not in said]
    if not all(map(_is_nothing, module.body)):
        code = ast.dump(module).encode("utf-8", "surrogatepass")
        yield Fact("its code, which can declare anything", sha256(code).hexdigest())


def _parsed(data: bytes) -> ast.Module:
    check_coding(text_of(data).splitlines())
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of escapes in strings, say: the file is not ours
            return ast.parse(text_of(data))
    except SyntaxError as error:
        raise Unreadable(f"is no Python: {error.msg}") from error


def _is_setup(called: ast.expr) -> bool:
    return getattr(called, "id", getattr(called, "attr", None)) == "setup"


def _plain(call: ast.Call) -> dict[str, Any]:
    """The words of a call that are known and have plain values."""
    said: dict[str, Any] = {}
    for word in call.keywords:
        try:
            value = ast.literal_eval(word.value)
        except (ValueError, TypeError, SyntaxError):
            continue
        if word.arg in NEEDS | OWN:
            said[word.arg] = value
    return said


def _said(name: str, value: object) -> Iterator[Fact]:
    """Requirements as a list, as lines of a text, or by extras."""
    if isinstance(value, dict):
        return required_by_name({name: {str(extra): _items(each) for extra, each in value.items()}}, name)
    return required({name: _items(value)}, name)


def _items(value: object) -> object:
    if isinstance(value, str):
        return [line.strip() for line in value.splitlines() if line.strip()]
    return list(value) if isinstance(value, tuple | set) else value


def _is_nothing(node: ast.stmt) -> bool:
    """Whether a statement is a comment in quotes, an import of setup, or a call of it that says nothing more."""
    if isinstance(node, ast.ImportFrom):
        return (
            node.module in PLAIN
            and node.level == 0
            and all(each.name in ("setup", "find_packages") for each in node.names)
        )
    if isinstance(node, ast.Import):
        return all(each.name in PLAIN and each.asname is None for each in node.names)
    if not isinstance(node, ast.Expr):
        return False
    value = node.value
    is_call = isinstance(value, ast.Call) and _is_setup(value.func) and not (value.args or value.keywords)
    return is_call or (isinstance(value, ast.Constant) and isinstance(value.value, str))
