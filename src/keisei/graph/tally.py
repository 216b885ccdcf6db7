"""How much the index holds."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import apsw

NODES = "SELECT node, count(*) FROM nodes GROUP BY node ORDER BY node"
LINKS = "SELECT kind, count(*) FROM links WHERE goal IS NOT NULL GROUP BY kind ORDER BY kind"


def tally(db: "apsw.Connection") -> tuple[dict[str, int], dict[str, int]]:
    """Things by what they are, and links that lead somewhere by their kind."""
    nodes, links = (db.execute(sql).fetchall() for sql in (NODES, LINKS))
    return {str(node): int(str(count)) for node, count in nodes}, {str(kind): int(str(count)) for kind, count in links}
