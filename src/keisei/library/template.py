"""Templates: files with tokens, and values written so that no language misreads them.

A token is `%%name%%`, or `%%name|way%%` for one of WAYS. Each is replaced once: what a value holds is never looked at
again. A line that holds nothing but one token without a value is left out.
"""

import json
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final, NamedTuple

TEMPLATES: Final = Path(__file__).resolve().parent.parent / "kit" / "templates"
TOKEN: Final = re.compile(r"%%([a-z_]+)(?:\|([a-z]+))?%%")
_ALONE: Final = re.compile(r"^[ \t]*%%([a-z_]+)%%[ \t]*\n", re.MULTILINE)
_OPEN_END: Final = re.compile(r'(?<!\\)((?:\\\\)*)"\Z')
"""A last quote that no backslash escapes: an even number of them escape each other."""
_MARKUP: Final = re.compile(r"[^\w\s]")


class Words(NamedTuple):
    """How a language spells what JSON has."""

    true: str
    false: str
    null: str


JSON_WORDS: Final = Words("true", "false", "null")
"""YAML's as well."""
PYTHON_WORDS: Final = Words("True", "False", "None")


def quoted(text: str) -> str:
    """Text in double quotes, as JSON, YAML, TOML and Python read it alike, on one line of visible characters.

    Two opening brackets are never left beside each other: in a page they would begin a link.
    """
    plain = json.dumps(text, ensure_ascii=False).replace("[[", "[\\u005b")
    return "".join(char if char.isprintable() or ord(char) > 0xFFFF else f"\\u{ord(char):04x}" for char in plain)  # noqa: PLR2004 - where one escape ends


def written(value: object, words: Words = JSON_WORDS, indent: int | None = None, depth: int = 0) -> str:
    """A JSON value as text of a language, on one line or with so many spaces for each level."""
    if value is None or isinstance(value, bool):
        return {True: words.true, False: words.false, None: words.null}[value]
    if isinstance(value, str):
        return quoted(value)
    if isinstance(value, dict):
        parts = [f"{quoted(key)}: {written(each, words, indent, depth + 1)}" for key, each in value.items()]
        return _around("{", parts, "}", indent, depth)
    if isinstance(value, list | tuple):
        return _around("[", [written(each, words, indent, depth + 1) for each in value], "]", indent, depth)
    text = repr(value)
    # YAML takes 1e+22 for text, and 1.0e+22 for a number
    return text.replace("e", ".0e") if "e" in text and "." not in text else text


def _around(opening: str, parts: list[str], closing: str, indent: int | None, depth: int) -> str:
    if indent is None or not parts:
        return f"{opening}{', '.join(parts)}{closing}"
    inner, outer = "\n" + " " * indent * (depth + 1), "\n" + " " * indent * depth
    return f"{opening}{inner}{f',{inner}'.join(parts)}{outer}{closing}"


def one_line(text: str) -> str:
    """Prose on one line of visible characters."""
    return " ".join("".join(char if char.isprintable() else " " for char in text).split())


def prose(text: str) -> str:
    """Text as a paragraph of Markdown: neither a heading nor a list nor a link."""
    plain = text.replace("[[", "[\\[")
    return f"\\{plain}" if _MARKUP.match(plain) else plain


def docstring(text: str) -> str:
    """Text inside three double quotes of Python."""
    plain = text.replace("\\", "\\\\").replace('"""', '\\"\\"\\"')
    return _OPEN_END.sub(r"\1\"", plain)


def raw_rust(text: str) -> str:
    """Text as a raw string of Rust, with as many marks as it takes."""
    marks = "#" * (1 + max((len(each[1:]) for each in re.findall(r'"#*', text)), default=0))
    return f'r{marks}"{text}"{marks}'


WAYS: Final[Mapping[str, Callable[[str], str]]] = {
    "quoted": quoted,
    "prose": prose,
    "docstring": docstring,
    "rust": raw_rust,
}


def filled(template: str, values: Mapping[str, Any]) -> str:
    """The template with its tokens replaced. Raises KeyError for a token that has no value: the template is wrong."""
    kept = _ALONE.sub(lambda match: match[0] if values[match[1]] else "", template)
    return TOKEN.sub(lambda match: WAYS.get(match[2] or "", str)(str(values[match[1]])), kept)


def template(name: str) -> str:
    """A template that ships, by its path below TEMPLATES without its ending."""
    return (TEMPLATES / f"{name}.template").read_text(encoding="utf-8")
