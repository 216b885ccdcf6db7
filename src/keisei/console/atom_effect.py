"""Effects of one call, in words: what the page declares, with the given input filled in."""

import re
from collections.abc import Iterator
from typing import Any, Final

from keisei.contracts.secret_place import secret_values
from keisei.records.atom import AtomManifest, SideEffect
from keisei.records.atom_spec import AtomSpec
from keisei.records.problem import printable

PLACE: Final = re.compile(r"\{([^{}]+)\}")
"""A part of a domain that the input names."""
NAMED: Final = re.compile(r":\{([^{}]+)\}(/\*\*)?")
"""The same, as a domain usually ends."""
LONGEST: Final = 200
SHOWN: Final = 8
"""Characters of a value, and values of a list, that are told."""
MASK: Final = "(a secret)"
VERBS: Final = {
    "read": "reads",
    "write": "changes",
    "network": "talks to",
    "subprocess": "starts a program:",
    "other": "does something that it does not name to",
}


def effect_words(manifest: AtomManifest) -> tuple[str, ...]:
    """What an atom declares, a phrase each; nothing for one that is pure."""
    return tuple(f"{VERBS[each.op]} {NAMED.sub(_named, each.domain)}" for each in manifest.side_effects)


def _named(match: re.Match[str]) -> str:
    return f", what `{match[1]}` names{' and all below it' if match[2] else ''}"


def touched(spec: AtomSpec, given: Any) -> tuple[str, ...]:  # noqa: ANN401 - any JSON
    """What a call would touch, by the atom's own word, a phrase each. Never raises, and quotes no secret."""
    secrets = set(secret_values(spec.input_schema, given))
    found = [_filled(each, given if isinstance(given, dict) else {}, secrets) for each in spec.manifest.side_effects]
    if spec.manifest.destructive:
        found.append("removes or overwrites what cannot be made again")
    return tuple(found or ["declares nothing, and is still not one that only reads"])


def _filled(effect: SideEffect, given: dict[str, Any], secrets: set[str]) -> str:
    def value(match: re.Match[str]) -> str:
        return ", ".join(_values(given.get(match[1]), match[1], secrets))

    return f"{VERBS[effect.op]} {PLACE.sub(value, effect.domain)}"


def _values(value: Any, field: str, secrets: set[str]) -> Iterator[str]:  # noqa: ANN401 - any JSON
    if value is None or value == []:
        yield f"({field} is not given)"
        return
    every = value if isinstance(value, list) else [value]
    for each in every[:SHOWN]:
        text = str(each)
        cut = text if len(text) <= LONGEST else f"{text[:LONGEST]}…"
        yield MASK if text in secrets else printable(cut)
    if len(every) > SHOWN:
        yield f"and {len(every) - SHOWN} more"
