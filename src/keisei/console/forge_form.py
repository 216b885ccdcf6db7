"""Forms of the forge: what the words of a form say, as a draft. Names are paths: `input.rows.0.name`."""

import json
from collections.abc import Iterable
from contextlib import suppress
from typing import Any, Final

import msgspec

from keisei.console.asking import Fault, Unfit

DEEPEST: Final = 40
"""Parts of a name."""
PLAIN: Final = ("package", "verb", "kind", "language", "backend", "stability", "timeout_ms", "edits")
LONG: Final = ("description", "code", "body")
NUMBERS: Final = ("minimum", "maximum", "min_length", "max_length")
FLAGS: Final = {"yes": True, "no": False}
Words = list[tuple[str, str]]


def draft_form(words: Words) -> dict[str, Any]:
    """A draft, to be looked at."""
    return {"draft": _draft(_tree(words)), "remember": True}


def try_form(words: Words) -> dict[str, Any]:
    """A draft with an input of one's own. Raises Unfit for one that is no JSON."""
    tree = _tree(words)
    given = _text(tree, "value").strip()
    return {"draft": _draft(tree), "remember": True, **({"value": _json(given, "value")} if given else {})}


def write_form(words: Words) -> dict[str, Any]:
    """A draft with what was seen of it."""
    tree = _tree(words)
    told = {"seen": _text(tree, "seen"), "breaks": "breaks" in tree, "keep": "keep" in tree}
    return {"draft": _draft(tree), "remember": True, **told}


def undo_form(words: Words) -> dict[str, Any]:
    """A receipt."""
    return {"remember": True, **{name: word for name, word in words if name == "receipt_id"}}


def _draft(tree: dict[str, Any]) -> dict[str, Any]:
    told: dict[str, Any] = {name: word for name in PLAIN if (word := _text(tree, name).strip())}
    told |= {name: word for name in LONG if (word := _text(tree, name)).strip()}
    told["keywords"] = [word for each in _text(tree, "keywords").split(",") if (word := each.strip())]
    told |= {"input": _side(tree, "input"), "output": _side(tree, "output")}
    told["errors"] = [each for each in _items(tree, "errors") if any(each.values())]
    effects = _branch(tree, "effects")
    if _text(effects, "mode") == "own":
        told["effects"] = [each for each in _items(effects, "rows") if each.get("domain")]
    if (word := _text(tree, "idempotent")) in FLAGS:
        told["idempotent"] = FLAGS[word]
    return told


def _side(tree: dict[str, Any], name: str) -> dict[str, Any]:
    """One schema, in the way that was chosen; nothing where nothing is said."""
    side = _branch(tree, name)
    mode = _text(side, "mode")
    if mode in ("raw", "example"):
        word = _text(side, mode)
        return {mode: word} if word.strip() else {}
    if not (rows := _rows(side, "rows")):
        return {}
    told: dict[str, Any] = {each: word for each in ("title", "description") if (word := _text(side, each))}
    if (word := _text(side, "closed")) in FLAGS:
        told["closed"] = FLAGS[word]
    if (word := _text(side, "examples")).strip():
        found = _json(word, f"{name}.examples")
        told["examples"] = found if isinstance(found, list) else [found]
    return {"rows": rows, **told}


def _rows(branch: dict[str, Any], name: str) -> list[dict[str, Any]]:
    found = (_row(each) for each in _items(branch, name))
    return [row for row in found if any(row.get(key) for key in ("name", "description", "example", "fields"))]


def _row(words: dict[str, Any]) -> dict[str, Any]:
    row: dict[str, Any] = {"required": "required" in words, "nullable": "nullable" in words}
    row |= {key: word for key in ("name", "description", "example", "type") if (word := _text(words, key))}
    kind, items = row.get("type"), _text(words, "items")
    row |= {key: _number(word) for key in NUMBERS if (word := _text(words, key).strip())}
    if lines := [line for line in _text(words, "choices").split("\n") if line]:
        row["choices"] = lines
    if kind == "array" and items:
        row["items"] = items
    fields = _rows(words, "fields")
    if "object" in (kind, row.get("items")) and (fields or "bare" in words):
        row["fields"] = fields
    return row


def _number(word: str) -> Any:  # noqa: ANN401 - what is none is told with its field
    with suppress(msgspec.DecodeError):
        return msgspec.json.decode(word)
    return word


def _json(text: str, field: str) -> Any:  # noqa: ANN401 - any JSON
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise Unfit([Fault(field, f"is not JSON: {error}")]) from None


# --- words by their paths ---------------------------------------------------------------------------------------------


def _tree(words: Iterable[tuple[str, str]]) -> dict[str, Any]:
    """The words by the parts of their names; a name that is said twice has its last word."""
    tree: dict[str, Any] = {}
    for name, word in words:
        *parts, last = name.split(".", DEEPEST)
        here = tree
        for part in parts:
            inner = here.setdefault(part, {})
            if not isinstance(inner, dict):  # the same name for a word and for a branch: nobody of ours
                break
            here = inner
        else:
            here[last] = word.replace("\r\n", "\n")
    return tree


def _branch(tree: dict[str, Any], name: str) -> dict[str, Any]:
    found = tree.get(name)
    return found if isinstance(found, dict) else {}


def _text(tree: dict[str, Any], name: str) -> str:
    found = tree.get(name, "")
    return found if isinstance(found, str) else ""


def _items(tree: dict[str, Any], name: str) -> list[dict[str, Any]]:
    """Branches that are numbered, in their order."""
    numbered = [(key, each) for key, each in _branch(tree, name).items() if key.isdecimal() and key.isascii()]
    return [each for _, each in sorted(numbered, key=lambda pair: int(pair[0][:6])) if isinstance(each, dict)]
