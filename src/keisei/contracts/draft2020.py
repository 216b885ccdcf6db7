"""Draft-07 schemas in the words of 2020-12, for readers that know only those.

Everything a reference leads to is put into `$defs` of the whole, by a plain name: many readers follow references
nowhere else. What neither draft knows, and what draft-07 does not know and 2020-12 would obey, is left out.
"""

import re
from collections import Counter
from collections.abc import Callable, Collection, Iterator
from typing import Any, Final
from urllib.parse import urljoin

from keisei.contracts.pointer import at, steps

DIALECT: Final = "https://json-schema.org/draft/2020-12/schema"
Place = tuple[str, ...]
"""The steps from the schema's root."""
NOTES: Final = ("title", "description", "default", "examples", "readOnly", "writeOnly")
"""Keywords that tell and demand nothing, so that they may stand beside a reference."""
PLAIN: Final = frozenset(
    (
        *NOTES,
        *("type", "enum", "const", "multipleOf", "maximum", "exclusiveMaximum", "minimum", "exclusiveMinimum"),
        *("maxLength", "minLength", "pattern", "contentMediaType", "contentEncoding"),
        *("maxItems", "minItems", "uniqueItems", "maxProperties", "minProperties", "required"),
    )
)
"""Keywords that both drafts spell alike and that hold no schema."""
ONE: Final = frozenset(("additionalProperties", "contains", "else", "if", "not", "propertyNames", "then"))
LISTS: Final = frozenset(("allOf", "anyOf", "oneOf"))
TABLES: Final = frozenset(("patternProperties", "properties"))
FORMATS: Final = frozenset(
    (
        *("date-time", "date", "time", "email", "idn-email", "hostname", "idn-hostname", "ipv4", "ipv6"),
        *("uri", "uri-reference", "iri", "iri-reference", "uri-template", "json-pointer", "relative-json-pointer"),
        "regex",
    )
)
"""What draft-07 checks; of another format it says nothing, and 2020-12 might."""
_NAME: Final = re.compile(r"[A-Za-z0-9_.-]{1,64}")


def modern(
    schema: dict[str, Any],
    outer: Callable[[Any], dict[str, Any]] | None = None,
    *,
    without: Collection[str] = (),
) -> dict[str, Any]:
    """The schema in 2020-12: what fits the one fits the other, and nothing else does. The schema itself is untouched.

    `outer` puts it into a larger schema of 2020-12 that holds it once; `without` are notes to leave out. An `$id` is
    resolved and left out. A reference that leads nowhere, or out of the schema, becomes one that demands nothing; no
    schema that compiles has one. Looser in one thing: 2020-12 does not look into texts that `contentEncoding` or
    `contentMediaType` describe.
    """
    made = _Modern(schema, frozenset(without) & frozenset(NOTES))
    body = made.part(schema, ())
    body = outer(body) if outer is not None else body
    definitions = made.definitions()
    return {"$schema": DIALECT, **body, **({"$defs": definitions} if definitions else {})}


class _Modern:
    """One schema on its way."""

    def __init__(self, root: dict[str, Any], without: frozenset[str]) -> None:
        self._root = root
        self._without = without
        self._bases: dict[Place, str] = {}
        """The address that references in a schema are relative to, by where the schema stands."""
        self._named: dict[str, Place] = {"": ()}
        """Where the schemas stand that have an address, or `address#name`."""
        self._names: dict[Place, str] = {}
        """What references lead to, and its name among the definitions."""
        self._waiting: list[Place] = []
        """Those of them that are not in the new schema yet."""
        self._taken: Counter[str] = Counter()
        self._survey(root, (), "")

    def part(self, node: object, place: Place) -> Any:  # noqa: ANN401 - an object, true or false
        """A schema and all below it; true for what is none."""
        if not isinstance(node, dict):
            return node if isinstance(node, bool) else True
        if "$ref" in node:  # draft-07 looks at nothing beside it, 2020-12 does
            notes = {key: node[key] for key in NOTES if key in node and key not in self._without}
            target = self._target(node["$ref"], self._bases.get(place, ""))
            return notes if target is None else {"$ref": target, **notes}
        made: dict[str, Any] = {}
        for key, value in node.items():
            made |= self._keyword(node, key, value, place)
        return made

    def definitions(self) -> dict[str, Any]:
        """What references lead to, by name, in the order of the first reference. Call it when the rest is done."""
        made: dict[str, Any] = {}
        for place in self._waiting:  # grows on the way: a definition may refer to more of them
            made[self._names[place]] = self.part(at(self._root, place), place)
        return made

    def _keyword(self, node: dict[str, Any], key: str, value: Any, place: Place) -> dict[str, Any]:  # noqa: ANN401 - any JSON
        here = (*place, key)
        if key in self._without:
            return {}
        if key in PLAIN or (key == "format" and isinstance(value, str) and value in FORMATS):
            return {key: value}
        if key in ONE:
            return {key: self.part(value, here)}
        if key in LISTS and isinstance(value, list):
            return {key: self._list(value, here)}
        if key in TABLES and isinstance(value, dict):
            return {key: self._table(value, here)}
        if key == "items":
            return self._items(node, place)
        if key == "dependencies" and isinstance(value, dict):
            return self._dependencies(value, here)
        return {}

    def _list(self, nodes: list[Any], place: Place) -> list[Any]:
        return [self.part(each, (*place, str(index))) for index, each in enumerate(nodes)]

    def _table(self, nodes: dict[str, Any], place: Place) -> dict[str, Any]:
        return {name: self.part(each, (*place, name)) for name, each in nodes.items()}

    def _items(self, node: dict[str, Any], place: Place) -> dict[str, Any]:
        """One schema for all items stays; a list of them is for the first ones, with another one for the rest."""
        value = node["items"]
        if not isinstance(value, list):
            return {"items": self.part(value, (*place, "items"))}
        made: dict[str, Any] = {"prefixItems": self._list(value, (*place, "items"))} if value else {}
        if "additionalItems" in node:
            made["items"] = self.part(node["additionalItems"], (*place, "additionalItems"))
        return made

    def _dependencies(self, value: dict[str, Any], place: Place) -> dict[str, Any]:
        required = {name: each for name, each in value.items() if isinstance(each, list)}
        schemas = {name: each for name, each in value.items() if not isinstance(each, list)}
        made = {"dependentRequired": required, "dependentSchemas": self._table(schemas, place)}
        return {key: each for key, each in made.items() if each}

    # --- references

    def _survey(self, node: object, place: Place, base: str) -> None:
        """Note every address in a schema and below."""
        if not isinstance(node, dict):
            return
        own = node.get("$id")
        if isinstance(own, str) and "$ref" not in node:
            base = self._name(own, place, base)
        self._bases[place] = base
        for step, child in _below(node):
            self._survey(child, (*place, *step), base)

    def _name(self, own: str, place: Place, base: str) -> str:
        """Note a schema's own address or name. The base of what stands in it: a mere name does not change it."""
        address, _, name = _joined(base, own).partition("#")
        if name:
            self._named.setdefault(f"{address}#{name}", place)
        self._named.setdefault(address, place)
        return address

    def _target(self, reference: object, base: str) -> str | None:
        """Where a reference leads in the new schema; None for nowhere."""
        if not isinstance(reference, str):
            return None
        address, _, fragment = _joined(base, reference).partition("#")
        root, below = self._named.get(address), steps(fragment)
        place = self._named.get(f"{address}#{fragment}") if below is None else None if root is None else (*root, *below)
        node = None if place is None else at(self._root, place)
        if place is None or not isinstance(node, dict | bool):
            return None
        if place not in self._bases:  # it stands where nobody looks for schemas
            self._survey(node, place, address)
        return f"#/$defs/{self._definition(place)}"

    def _definition(self, place: Place) -> str:
        """The name of a place among the definitions: its own where that is plain and free."""
        if place not in self._names:
            stem = place[-1] if place and _NAME.fullmatch(place[-1]) else "part"
            name = stem
            while name in self._taken:
                self._taken[stem] += 1
                name = f"{stem}-{self._taken[stem]}"
            self._taken[name] += 1
            self._names[place] = name
            self._waiting.append(place)
        return self._names[place]


def _below(node: dict[str, Any]) -> Iterator[tuple[Place, Any]]:
    """The schemas right below a schema, those beside a `$ref` and the unused too: a reference may lead there."""
    for key, value in node.items():
        if isinstance(value, list) and key in {*LISTS, "items"}:
            yield from (((key, str(index)), child) for index, child in enumerate(value))
        elif isinstance(value, dict) and key in {*TABLES, "definitions", "dependencies"}:
            yield from (((key, name), child) for name, child in value.items())
        elif key in {*ONE, "items", "additionalItems"}:
            yield (key,), value


def _joined(base: str, reference: str) -> str:
    """An address as seen from another; as it is where it makes no sense."""
    if reference.startswith("#"):  # also below `urn:`, which urljoin does not know
        return base + reference
    try:
        return urljoin(base, reference)
    except ValueError:
        return reference
