"""Atoms as tools of an agent: what they are called, which of them a role has, and what one call would touch.

All of it follows from the frontmatter alone. What a declaration leaves open is said as such, so that a gate can refuse.
"""

import re
from collections.abc import Iterable, Sequence
from hashlib import sha256
from typing import Final

from msgspec import Struct

from keisei.records.atom import AtomManifest, SideEffect
from keisei.rules.atom_effect import domain_root, only_reads

SERVER: Final = "keisei"
"""What keisei's own server is called in an agent's settings."""
PREFIX: Final = f"mcp__{SERVER}__"
"""What harnesses put before the names of its tools."""
SEARCH: Final = "atoms_search"
"""Finds atoms by words."""
DESCRIBE: Final = "atoms_describe"
"""Tells all of one atom."""
READ: Final = "atoms_read"
"""Calls an atom that only reads."""
RUN: Final = "atoms_run"
"""Calls any atom."""
PLAN: Final = "pipe_plan"
"""Tells what a pipe would do."""
PIPE: Final = "pipe_run"
"""Runs a pipe."""
LEAN: Final = (SEARCH, DESCRIBE, READ, RUN, PLAN, PIPE)
"""The tools of the lean list, in its order."""
LONGEST: Final = 64 - len(PREFIX)
"""The longest name that still fits with the prefix: clients take 64 characters."""
PATHS: Final = frozenset({"fs", "git"})
"""Domains that are files: a change in one of them is a change to some path."""
QUEUE: Final = "keisei-queue"
"""The domain of keisei's own tasks: who writes to it sets agents to work."""
_FIELD: Final = re.compile(r"[a-z][a-z0-9-]*:\{([A-Za-z_][A-Za-z0-9_-]*)\}(/\*\*)?")
_MARK: Final = 8


class AtomReach(Struct, frozen=True, kw_only=True):
    """What one call may touch, by the names of the input fields that say it."""

    reads: tuple[str, ...] = ()
    """Fields with paths it reads."""
    writes: tuple[str, ...] = ()
    """Fields with paths it changes."""
    deletes: tuple[str, ...] = ()
    """Those of them where what was there is lost."""
    network: tuple[str, ...] = ()
    """Fields with addresses it talks to."""
    read_trees: tuple[str, ...] = ()
    """Those of `reads` where everything below is meant too."""
    write_trees: tuple[str, ...] = ()
    """Those of `writes` where everything below is meant too."""
    talks: bool = False
    """Whether it uses the network at an address that no field names."""
    agents: bool = False
    """Whether it sets agents to work."""
    unresolved: str | None = None
    """Why nobody can tell what a call touches, in one sentence; None where everything is told."""
    spec_sha: str = ""
    """The page and schemas that all of this was read from; empty where nobody holds a call to them."""
    secret: str | None = None
    """The schema of its input, where a place in it is marked `writeOnly`: what stands there is never written down.

    As JSON text, for a schema may hold numbers that a policy may not."""


def tool_name(atom_id: str) -> str:
    """The tool's name of an atom: `kei-fs__read`, shortened to head and digest where clients would not take it.

    Two ids never share a name, and none is called like a tool of the lean list: an id has no `_`, so a name with `__`
    and no other `_` is a whole id, and every shortened name ends in a single `_` and its digest.
    """
    name = atom_id.replace("::", "__")
    if len(name) <= LONGEST:
        return name
    head = name[: LONGEST - _MARK - 1].rstrip("_")
    return f"{head}_{sha256(atom_id.encode()).hexdigest()[:_MARK]}"


def named(atom_id: str, patterns: Sequence[str]) -> bool:
    """Whether one of the patterns names the atom: its id, `package::*` or `*`. Falls closed on any other."""
    package = atom_id.partition("::")[0]
    return any(pattern in {"*", f"{package}::*", atom_id} for pattern in patterns)


def is_granted(manifest: AtomManifest, patterns: Sequence[str], *, write: bool) -> bool:
    """Whether a role with these patterns may call it: without `write` only where it changes nothing, as declared."""
    return named(manifest.atom, patterns) and (write or only_reads(manifest))


def reach_of(manifest: AtomManifest) -> AtomReach:
    """What a call of it would touch. Of a change that names no path, and of `other`, nobody can tell.

    Reading somewhere in the file system, starting a fixed program and changing a database of its own need no field:
    the sandbox and the role's list of atoms answer for these.
    """
    effects = manifest.side_effects
    writes = _fields(effects, "write")
    return AtomReach(
        reads=_fields(effects, "read"),
        writes=writes,
        deletes=writes if manifest.destructive else (),
        network=_fields(effects, "network"),
        read_trees=_fields(effects, "read", trees=True),
        write_trees=_fields(effects, "write", trees=True),
        talks=any(effect.op == "network" and "{" not in effect.domain for effect in effects),
        agents=any(effect.op == "write" and domain_root(effect) == QUEUE for effect in effects),
        unresolved=next(filter(None, (_unresolved(manifest.atom, effect) for effect in effects)), None),
    )


def _fields(effects: Iterable[SideEffect], op: str, *, trees: bool = False) -> tuple[str, ...]:
    """The fields that effects of this kind name, each once, in the order of the page."""
    found = [_FIELD.fullmatch(effect.domain) for effect in effects if effect.op == op]
    return tuple(dict.fromkeys(each[1] for each in found if each and (each[2] or not trees)))


def _unresolved(atom: str, effect: SideEffect) -> str | None:
    """Why the effect does not say what is touched; None where it does, or where nobody needs to know."""
    effect_words = f"`{effect.op} {effect.domain}`"
    if effect.op == "other":
        return f"`{atom}` declares {effect_words}, which says nothing of what it does"
    field = _FIELD.fullmatch(effect.domain)
    if field is None and _is_template(effect.domain):
        return f"`{atom}` declares {effect_words}, which names no input field: write `fs:{{path}}` or `fs:{{path}}/**`"
    if field is None:
        lost = effect.op == "write" and domain_root(effect) in PATHS
        return f"`{atom}` declares {effect_words} and no input field that says where" if lost else None
    if effect.op == "subprocess":
        return f"`{atom}` declares {effect_words}: which program it starts is said by its caller"
    if effect.op == "network" and field[2]:
        return f"`{atom}` declares {effect_words}: an address has nothing below it"
    return None


def _is_template(domain: str) -> bool:
    """Whether it means to name a field, or a part of the files, and so must do it properly."""
    root, colon, _ = domain.partition(":")
    return any(mark in domain for mark in "{}*") or (bool(colon) and root in PATHS)
