"""YAML 1.2, by ryaml, which refuses keys written twice; two looks before it, because it can be kept busy for long."""

import re
from typing import Any

import ryaml

from keisei.library.locate import Position
from keisei.library.parser import DEPTH, Fault, Unparsed, lower_first

BRACKETS = re.compile(r"\"(?:[^\"\\]|\\.)*\"|'[^']*'|#[^\n]*|[\[\]{}]", re.DOTALL)
ALIAS = re.compile(r"(?:^|[\s\[{,:-])\*[^\s,\[\]{}]", re.MULTILINE)
DEEPEST = 128
MOST_ALIASES = 100
START = Position(1, 1)


def parse(text: str) -> Any:  # noqa: ANN401 - any data
    """The data. Raises Unparsed."""
    if _is_too_deep(text) or _is_bomb(text):
        message = f"nested more than {DEPTH} levels, or repeated too often by aliases"
        raise Unparsed(Fault("too-deep", START, message))
    try:
        return ryaml.loads(text)
    except (ryaml.InvalidYamlError, ValueError) as error:
        raise Unparsed(_fault(str(error), text)) from error


def _fault(told: str, text: str) -> Fault:
    from keisei.library.locate.yaml import first_compound_key, first_duplicate  # noqa: PLC0415 - only a broken page pays

    if "duplicate entry" in told:
        return Fault("duplicate-key", first_duplicate(text) or START, "this key is already there")
    if "unhashable type" in told:
        return Fault("wrong-type", first_compound_key(text) or START, "a key must be a string")
    numbers = re.search(r"at line (\d+) column (\d+)", told)
    place = Position(int(numbers[1]), int(numbers[2])) if numbers else START
    message = lower_first(told.partition(" at line")[0].partition(", while")[0])
    return Fault("too-deep" if "limit exceeded" in told else "syntax", place, message)


def _is_too_deep(text: str) -> bool:
    """Whether brackets nest deeper than ryaml reads; its scanner takes quadratic time to find that out."""
    if text.count("[") + text.count("{") <= DEEPEST:
        return False
    depth = 0
    for found in BRACKETS.finditer(text):
        depth += (found[0] in ("[", "{")) - (found[0] in ("]", "}"))
        if depth > DEEPEST:
            return True
    return False


def _is_bomb(text: str) -> bool:
    """Whether aliases repeat more than a person writes. ryaml counts repeated nodes, not how long their texts are."""
    if "*" not in text or ALIAS.search(text) is None:
        return False
    import yaml  # noqa: PLC0415 - slow to import, and almost no page has an alias

    aliases = 0
    try:
        for event in yaml.parse(text, getattr(yaml, "CSafeLoader", yaml.SafeLoader)):
            aliases += isinstance(event, yaml.AliasEvent)
            if aliases > MOST_ALIASES:
                return True
    except (yaml.YAMLError, UnicodeError):
        return False  # ryaml will say what is wrong
    return False
