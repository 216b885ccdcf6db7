"""Descriptions: all of one atom, as an agent reads it before a call."""

from typing import Any, Final

from keisei.library.package_skill import gotchas
from keisei.records.atom_spec import AtomSpec
from keisei.rules.atom_telling import atom_data

HOUSE: Final = ("spec_sha", "page", "function", "package")
"""Where it stands on this machine, which is nothing to a caller."""


def description(spec: AtomSpec, refusal: str | None) -> dict[str, Any]:
    """What every door tells of it, and its gotchas; `refused` where it may not be called."""
    told = {name: value for name, value in atom_data(spec).items() if name not in HOUSE}
    rest = {"gotchas": gotchas(spec) or None, "refused": refusal}
    return told | {name: value for name, value in rest.items() if value is not None}
