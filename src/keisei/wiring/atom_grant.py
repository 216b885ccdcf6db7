"""Which atoms the agents of a role are offered: what its `[atoms]` table names, found and looked at."""

import json
from collections.abc import Mapping
from typing import NamedTuple

from msgspec.structs import replace

from keisei.contracts.secret_place import MARK
from keisei.records.atom_spec import AtomSpec
from keisei.records.error import OperatorError
from keisei.records.role import RoleAtoms
from keisei.rules.atom_tool import PREFIX, AtomReach, is_granted, named, reach_of, tool_name
from keisei.wiring.atoms import Shelf


class Offered(NamedTuple):
    """One atom."""

    atom: str
    reach: AtomReach


Granted = Mapping[str, Offered]
"""Atoms by the full names of their tools."""


def granted(role: str, table: RoleAtoms, shelf: Shelf) -> Granted:
    """The atoms that the table grants. Raises OperatorError where it names something that no package has.

    An atom that would change something is left out unless the table says `write = true`. Raises AuthorError for a page
    that is broken.
    """
    if not table.allowed:
        return {}
    names = [row.atom for row in shelf.rows()[0]]
    for pattern in table.allowed:
        if not any(named(each, (pattern,)) for each in names):
            message = f"role `{role}` has `{pattern}` in its `[atoms]` table, and no package has such an atom"
            raise OperatorError(message, "`keisei atom list` shows all there are")
    specs = [shelf.atom(each) for each in names if named(each, table.allowed)]
    return {
        PREFIX + tool_name(spec.id): Offered(spec.id, _reach(spec))
        for spec in specs
        if is_granted(spec.manifest, table.allowed, write=table.write)
    }


def _reach(spec: AtomSpec) -> AtomReach:
    """What it touches, held to the page and schemas that say so now."""
    schema = json.dumps(spec.input_schema)
    secret = schema if f'"{MARK}"' in schema else None
    return replace(reach_of(spec.manifest), spec_sha=spec.spec_sha, secret=secret)
