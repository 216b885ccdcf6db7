"""Pages: what a call touches is noted on one, each thing once."""

from collections.abc import Callable, Iterable

from keisei.records.effect import UNKNOWN
from keisei.rules.shell.target.call import Call
from keisei.rules.shell.target.path import is_stream, joined, told
from keisei.rules.shell.target.spot import FILE, TREE, Spot, Touch


class Page:
    """Collects what is touched."""

    def __init__(self, folder: str) -> None:
        self.folder = folder
        self.writes: list[Spot] = []
        self.deletes: list[Spot] = []
        self.reads: list[Spot] = []
        self.links: list[tuple[str, str, bool]] = []
        self.network: list[str] = []

    def write(self, path: str | None, spot: Spot = FILE) -> None:
        """Note a write of the path, with the flags of the spot."""
        if path and (spot.entry or not is_stream(path)):
            self.writes.append(spot._replace(path=told(joined(self.folder, path))))

    def write_anything(self) -> None:
        """Note that the place of a write is not known."""
        if all(spot.path != UNKNOWN for spot in self.writes):
            self.writes.append(Spot(UNKNOWN))

    def delete(self, path: str, *, tree: bool = False) -> None:
        """Note that the entry goes away."""
        if path:
            self.deletes.append(Spot(told(joined(self.folder, path)), entry=True, tree=tree))

    def read(self, path: str | None, *, tree: bool = False) -> None:
        """Note a read."""
        if path and not is_stream(path):
            self.reads.append(Spot(told(joined(self.folder, path)), tree=tree))

    def touch(self) -> Touch:
        """Everything noted, each thing once."""
        kept = (self.writes, self.deletes, self.reads, self.links, self.network)
        return Touch(*(tuple(dict.fromkeys(each)) for each in kept))  # type: ignore[arg-type]


def note(paths: Iterable[str], page: Page, *, writes: bool, tree: bool = False) -> None:
    """Note the paths as written or as read."""
    for path in paths:
        if writes:
            page.write(path, TREE if tree else FILE)
        else:
            page.read(path, tree=tree)


Shape = Callable[[Call, Page], None]
"""A way to read the operands of a call: it notes what they mean on the page."""
