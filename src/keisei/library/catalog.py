"""The catalog: every authored thing by name, each loaded once, from the highest layer that has it."""

import os
from collections.abc import Callable, Iterable
from functools import cached_property
from itertools import pairwise
from typing import Any

from keisei.contracts.words import nearest
from keisei.library.document import parse
from keisei.library.load import Loaded, load
from keisei.library.shelf import Found, Layer, candidates, listed
from keisei.library.source import inside, is_file, read_source
from keisei.records.capability import CapabilityManifest
from keisei.records.error import AuthorError, OperatorError
from keisei.records.role import RoleManifest
from keisei.rules.role import ResolvedRole, resolve_role

RECORD_OF = {
    "capability": "capability.manifest",
    "role": "role.manifest",
    "profile": "agent.profile",
    "workflow": "workflow.definition",
    "task-type": "task.type",
    "agent": "agent.file",
}
_warned: set[str] = set()


class Catalog:
    """Authored files of all layers. Loading raises AuthorError; asking for what is not there raises OperatorError."""

    def __init__(self, layers: Iterable[Layer], warn: Callable[[str], None] | None = None) -> None:
        """Layers from the lowest to the highest. `warn` hears of old names, once each in a process."""
        self.layers = tuple(layers)
        self._warn = warn or (lambda _sentence: None)
        self._loaded: dict[tuple[str, str], Loaded] = {}
        self._names: dict[str, dict[str, list[Found]]] = {}

    def found(self, kind: str, name: str) -> Found | None:
        """The file that wins, or None."""
        for layer in reversed(self.layers):
            for path in candidates(kind, name, layer):
                if os.path.lexists(path):  # a folder or a pipe in its place is a broken file, not a missing one
                    return Found(name, path, layer)
        return None

    def names(self, kind: str) -> dict[str, list[Found]]:
        """Every name of that kind with its files, the winning one last."""
        if kind not in self._names:
            names: dict[str, list[Found]] = {}
            for layer in self.layers:
                for each in listed(kind, layer):
                    names.setdefault(each.name, []).append(each)
            self._names[kind] = dict(sorted(names.items()))
        return self._names[kind]

    def loaded(self, kind: str, name: str) -> Loaded:
        """The record of that name with its document."""
        if (kind, name) not in self._loaded:
            found = self.found(kind, name)
            if found is None:
                raise self.missing(kind, name)
            self._loaded[kind, name] = load_found(kind, found)
        return self._loaded[kind, name]

    def loaded_from(self, kind: str, found: Found) -> Loaded:
        """The record of this very file, whichever layer wins. A file that wins is kept for who asks by name."""
        kept = self._loaded.get((kind, found.name))
        if kept is not None and kept.document.source.path == found.path:
            return kept
        loaded = load_found(kind, found)
        winner = self.found(kind, found.name)
        if winner is not None and winner.path == found.path:
            self._loaded[kind, found.name] = loaded
        return loaded

    def shipped(self, kind: str, name: str) -> Any:  # noqa: ANN401 - the record of that kind
        """The kit's own record of a name, whoever overrides it; None where the kit has none."""
        found = next((each for each in self.names(kind).get(name, ()) if each.layer.name == "kit"), None)
        return None if found is None else load_found(kind, found).record

    def missing(self, kind: str, name: str) -> OperatorError:
        """What to say of a name nobody defines."""
        near = nearest(name, list(self.names(kind)))
        return OperatorError(f"no {kind} is called `{name}`", near or f"`keisei {kind} list` shows all")

    def canonical(self, name: str) -> str:
        """The capability's current name: aliases first, everywhere. Warns once per old name and process."""
        names = self.aliases(name)
        for old, new in pairwise(names):
            self._deprecate(old, new)
        return names[-1]

    def aliases(self, name: str) -> list[str]:
        """The name and what it stands for, step by step; the last one is no alias. Raises AuthorError for a circle."""
        seen = [name]
        while (target := self.capability(seen[-1]).capability.alias) is not None:
            if target in seen:
                document = self.loaded("capability", seen[-1]).document
                message = f"alias `{name}` goes round in a circle: {' -> '.join([*seen, target])}"
                raise AuthorError([document.problem("cycle", ("capability", "alias"), message)])
            seen.append(target)
        return seen

    def _deprecate(self, name: str, target: str) -> None:
        if name not in _warned:
            _warned.add(name)
            self._warn(f"capability `{name}` is an old name; write `{target}`")

    def capability(self, name: str) -> CapabilityManifest:
        """The manifest of that very name, alias stubs included."""
        manifest: CapabilityManifest = self.loaded("capability", name).record
        return manifest

    def role(self, name: str) -> RoleManifest:
        """The manifest of a role."""
        manifest: RoleManifest = self.loaded("role", name).record
        return manifest

    def resolved_role(self, name: str) -> ResolvedRole:
        """A role with everything it inherits. Raises for a dangling capability: a missing rule is no rule."""
        return resolve_role(name, self.role, self.canonical)

    def fragment(self, name: str) -> bytes:
        """The text of a capability, byte for byte. Raises AuthorError where it is missing: no text, no rule."""
        loaded = self.loaded("capability", name)
        manifest: CapabilityManifest = loaded.record
        relative = manifest.text.path if manifest.text else "text.md"
        folder = loaded.document.source.path.parent
        path = inside(folder, relative)
        if path is None or not is_file(path):
            place = ("text", "path") if manifest.text else ("capability", "name")
            where = "outside its folder" if path is None else "missing"
            message = f"capability `{name}` has no text: `{relative}` is {where}"
            raise AuthorError([loaded.document.problem("missing-file", place, message)])
        return read_source(path).raw

    @cached_property
    def adapters(self) -> dict[str, Loaded]:
        """Every adapter by id, from the kit's, the user's and the project's keisei.toml."""
        from keisei.library.project import load_adapters  # noqa: PLC0415 - project.py knows the catalog

        return load_adapters(self.layers)

    @cached_property
    def rules(self) -> set[str]:
        """Names a link may use for a rule file: its stem, and `RULE n.m` where it is one."""
        from keisei.library.rule import rule_names  # noqa: PLC0415 - only links need it

        return {name for found in self.names("rule").values() for each in found for name in rule_names(each.path)}


def load_found(kind: str, found: Found) -> Loaded:
    """The record of one file. Raises AuthorError."""
    if kind == "skill":
        from keisei.library.skill import load_skill  # noqa: PLC0415 - skill.py reads two files

        return load_skill(found.path)
    if kind == "agent":
        from keisei.library.agent_wallet import load_agent  # noqa: PLC0415 - only agents' files are searched for secrets

        return load_agent(found.path)
    return load(parse(read_source(found.path)), RECORD_OF[kind])
