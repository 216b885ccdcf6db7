"""The catalog of a desk: the tools and atoms that one client may call, and how they are found."""

from typing import TYPE_CHECKING, Any

from keisei.contracts.words import nearest
from keisei.mcp.arguments import Misfit, Query
from keisei.mcp.grant import Grant
from keisei.mcp.rows import shown
from keisei.records.error import KeiseiError, MissingAtom, Refused
from keisei.rules.atom_tool import LEAN, PIPE, PLAN, RUN, tool_name

if TYPE_CHECKING:
    from collections.abc import Callable

    from keisei.mcp.tool import Offer
    from keisei.records.atom_spec import AtomRow, AtomSpec
    from keisei.wiring.atoms import Shelf
    from keisei.wiring.sage import Sage


class Catalog:
    """What one client may call. Any thread may look."""

    def __init__(self, shelf: "Shelf", grant: Grant, find_sage: "Callable[[], Sage]") -> None:
        """Nothing is looked at yet."""
        self._shelf, self._grant, self._find_sage = shelf, grant, find_sage
        lean = tuple(name for name in LEAN if name != RUN or grant.write)
        self.tools = lean if grant.profile == "lean" else (PLAN, PIPE)
        """The tools that are no atoms."""

    def offers(self) -> "list[Offer]":
        """The tools there are, in a fixed order. Never raises."""
        from keisei.mcp.tool import full_offers, lean_offers  # noqa: PLC0415 - only who lists tools converts schemas

        few = [offer for offer in lean_offers(write=bool(self._grant.write)) if offer.name in self.tools]
        return few if self._grant.profile == "lean" else [*full_offers(self.specs(), {}), *few]

    def specs(self, package: str | None = None) -> "list[AtomSpec]":
        """The atoms that may be called, by id; those whose files are broken are left out."""
        found = []
        for row in self._rows(package):
            try:
                spec = self._shelf.atom(row.atom)
            except KeiseiError:
                continue
            if self._grant.refusal(spec.manifest) is None:
                found.append(spec)
        return found

    def packages(self) -> list[str]:
        """The packages of which an atom may be called, by name."""
        return sorted({spec.package.name for spec in self.specs()})

    def found(self, query: Query) -> list[dict[str, Any]]:
        """Atoms that may be called, the nearest first. Raises WorldFault where the index is held by somebody else."""
        from keisei.wiring.sage import ATOMS  # noqa: PLC0415 - only who searches needs it

        may = {spec.id: spec for spec in self.specs()}
        found = self._find_sage().search(query.query, nodes=ATOMS, limit=query.limit, among=may)
        return [_found_data(may[hit.node.id]) for hit in found.hits]

    def description(self, atom_id: str) -> dict[str, Any]:
        """All of one atom. Raises Misfit and AuthorError as `spec` does, Refused for one that nobody named here."""
        from keisei.mcp.description import description  # noqa: PLC0415 - only who describes needs it

        spec = self.spec(atom_id)
        if not self._grant.names(spec.id):
            raise Refused(f"`{spec.id}` is not granted here")
        return description(spec, self._grant.refusal(spec.manifest))

    def spec(self, atom_id: str) -> "AtomSpec":
        """An atom, granted or not. Raises Misfit for one that is not there, AuthorError for a broken one."""
        try:
            return self._shelf.atom(atom_id)
        except MissingAtom as error:
            raise Misfit(_hinted(error.message, error.hint), "usage") from None

    def atom_of(self, tool: str) -> str:
        """The atom that a tool is called by. Raises Misfit for a tool that is not there, Refused for a withheld one."""
        if self._grant.profile == "lean":
            raise self._missing(tool, self.tools)
        plain = tool.replace("__", "::")
        if plain.count("::") == 1 and "_" not in plain:
            return plain
        names = {tool_name(row.atom): row.atom for row in self._rows()}
        if tool not in names:
            raise self._missing(tool, (*self.tools, *names))
        return names[tool]

    def _missing(self, tool: str, names: tuple[str, ...]) -> Exception:
        if tool == RUN and self._grant.profile == "lean":
            return Refused(f"there is no tool `{RUN}`: only atoms that read are granted here")
        return Misfit(_hinted(f"there is no tool `{shown(tool)}`", nearest(tool, names)), "usage")

    def _rows(self, package: str | None = None) -> "list[AtomRow]":
        return [row for row in self._shelf.rows(package=package)[0] if self._grant.names(row.atom)]


def _hinted(message: str, hint: str | None) -> str:
    return f"{message} (hint: {hint})" if hint else message


def _found_data(spec: "AtomSpec") -> dict[str, Any]:
    old = spec.manifest.deprecated
    instead = {} if old is None else {"deprecated": old}
    return {"atom": spec.id, "kind": spec.manifest.kind, "summary": spec.summary, **instead}
